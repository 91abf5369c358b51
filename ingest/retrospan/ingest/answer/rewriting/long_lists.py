"""Reads a list of whole spans, which may be as long as the table, in small pieces and with one thread.

`SELECT * FROM spans` over a gigabyte took 280 MB of memory: because the view has a condition, the engine's condition cache
made it read whole granules of 1,024 rows, 5 MB each and several at once, where 1 MB would do; and two threads read, only
to wait for the one that writes. In small pieces with one thread it takes 50 MB, and no longer.

Only plain columns of one view are understood, one of them large; any other statement stays as it is. Pure.
"""

from __future__ import annotations

from retrospan.ingest.answer.guard.allowlist import word_set
from retrospan.ingest.answer.rewriting.first_rows import PAYLOAD, are_columns, keys_first, parts
from retrospan.schemas.store import Settings

#: Of a piece, so many bytes are of its largest column. Each has to pass through the view: in pieces of 512 KiB the
#: gigabyte took 5.3 s of processor and up to 43 MB of memory, of 768 4.2 and 61, of 1,024 3.9 and 64; by granules 3.6.
#: Small parts, as they were inserted, are of one file for all columns and can be read by granules only: one at a time.
_IN_PIECES: Settings = {
    "preferred_max_column_in_block_size_bytes": 640 << 10,
    "max_block_size": 1_024,
    "use_query_condition_cache": 0,
}
#: For engines that know them.
LONG_LIST: Settings = {**_IN_PIECES, "max_threads": 1}
#: Columns of conditions that the cache or an index answers.
_NARROW = PAYLOAD | word_set("run_id span_id")


def reading(sql: str) -> Settings:
    """Return the settings that the statement is read with. `sql` is one that the guard let through, as it was asked.

    Where there is a condition, several threads look for the rows. One on a large column profits by the cache, one on a
    key finds few, and what is found by keys first is short.
    """
    found = parts(sql)
    if found is None or keys_first(sql) is not None:
        return {}
    columns, where, order, _ = found
    if order or not are_columns(columns) or any(token.value in _NARROW for token in where):
        return {}
    return _IN_PIECES if where else LONG_LIST
