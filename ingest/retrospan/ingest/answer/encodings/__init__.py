"""How a query arrives and its answer leaves, in the forms that ClickHouse's clients send and expect.

`opened` undoes what a client did to its request, `packing_of` says what it wants done to the answer and
`packed` does it. The rest is private.
"""

from retrospan.ingest.answer.encodings.packing import LAST_WORDS, Packing, packed, packing_of
from retrospan.ingest.answer.encodings.unpacking import most_body_bytes, opened

__all__ = ["LAST_WORDS", "Packing", "most_body_bytes", "opened", "packed", "packing_of"]
