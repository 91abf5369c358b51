"""Has the engine compare the files of every part with their checksums: an index that is damaged hides rows from some
questions and not from others, and none of the comparisons of rows goes by it.
"""

from __future__ import annotations

from collections.abc import Callable

from retrospan.ingest.load.damaged_parts import checked_parts
from retrospan.ingest.verify.report import VerifiedPart
from retrospan.schemas.store import Store


def check_files(store: Store, part: VerifiedPart, go_on: Callable[[], None]) -> None:
    """Report every part of a table with a file that is not what was written."""
    for table, name, damage in checked_parts(store, go_on):
        part.count(parts=1)
        if damage:
            part.report_wrong(f"{table}, part {name}", f"is damaged: {damage}", table=table)
