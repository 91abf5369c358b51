"""Has the engine compare the files of every part with their checksums: an index that is damaged hides rows from some
questions and not from others, and none of those that compare rows goes by it.
"""

from __future__ import annotations

from collections.abc import Callable

from retrospan.ingest.verify.report import VerifiedPart
from retrospan.ingest.verify.sql import load
from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_column, typed_rows

_LONGEST = 120


def check_files(store: Store, part: VerifiedPart, go_on: Callable[[], None]) -> None:
    """Report every part of a table with a file that is not what was written."""
    for table in typed_column(store, str, load("tables_of_parts"), {"database": DATABASE}):
        go_on()
        asked = {"database": DATABASE, "table": table}
        for name, is_whole, said in typed_rows(store, tuple[str, int, str], load("check_parts"), asked):
            part.count(parts=1)
            if not is_whole:
                reason = said.partition("DB::Exception: ")[2].partition(". ")[0] or said
                part.report_wrong(f"{table}, part {name}", f"is damaged: {reason[:_LONGEST]}", table=table)
