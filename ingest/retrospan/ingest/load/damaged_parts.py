"""Parts of tables whose files are not what was written. What the engine does with a part that it cannot open when it
begins, it does not do with one whose index or rows turn out to be damaged when they are read: every question fails then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from retrospan.ingest.load.sql import load
from retrospan.schemas.errors import SqlError
from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_column, typed_rows

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")
#: ClickHouse's codes for files that end early, do not have their checksum, or are gone.
DAMAGED = frozenset({32, 33, 40, 107, 117, 226, 246, 271})


class CheckedPart(NamedTuple):
    """A part of a table. `damage` says what is wrong with it, '' where it is whole."""

    table: str
    part: str
    damage: str


def checked_parts(store: Store, go_on: Callable[[], None] = lambda: None) -> Iterator[CheckedPart]:
    """Have the engine compare the files of every part with their checksums; it reads all of them."""
    for table in typed_column(store, str, load("tables_of_parts"), {"database": DATABASE}):
        go_on()
        asked = {"database": DATABASE, "table": table}
        for part, is_whole, said in typed_rows(store, tuple[str, int, str], load("check_parts"), asked):
            reason = said.partition("DB::Exception: ")[2].partition(". ")[0] or said
            yield CheckedPart(table, part, "" if is_whole else reason[:120] or "not what was written")


def without_damaged(store: Store, ask: Callable[[], _T]) -> _T:
    """Return what `ask` does; if that fails for damage, put the damaged parts aside, and ask once more.

    They stay on the disk, and count as parts that cannot be read. Raises what `ask` raises.
    """
    try:
        return ask()
    except SqlError as error:
        if error.code not in DAMAGED:
            raise
        found = [part for part in checked_parts(store) if part.damage]
        for table, part, damage in found:
            _LOG.error("the part %s of %s is damaged, and put aside: %s", part, table, damage)
            store.command(load("put_aside_part"), {"table": table, "part": part})
        if not found:
            raise
    return ask()
