"""Whether the tables still hold what was loaded. ClickHouse drops a part it cannot read without an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.store import Store


@dataclass(frozen=True, slots=True)
class Check:
    """What was found. `deleted` counts the rows by table that receipts account for, `missing` those that nothing
    accounts for, `detached` broken parts by table."""

    rows: Mapping[str, int] = field(default_factory=dict)
    deleted: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    detached: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """No table has any row, and none was deleted."""
        return not any(self.rows.values()) and not any(self.deleted.values())

    @property
    def loaded(self) -> dict[str, int]:
        """The rows by table that are there or were deleted."""
        return {table: rows + self.deleted.get(table, 0) for table, rows in self.rows.items()}

    @property
    def complaint(self) -> str:
        """One sentence for a person; '' when nothing is wrong."""
        parts = [
            f"{count:,} rows of {table} that were loaded are missing" for table, count in self.missing.items()
        ]
        parts += [f"{count} parts of {table} cannot be read" for table, count in self.detached.items()]
        return f"{'; '.join(parts)}: run `retrospan rebuild`" if parts else ""


def count_rows(store: Store) -> dict[str, int]:
    """The rows of each raw table, duplicates counted once."""
    return {str(table): int(str(rows)) for table, rows in store.rows(_statement("count_rows.sql"))}


def count_deleted(store: Store) -> dict[str, int]:
    """The rows of each raw table that retention deleted, as the receipts say."""
    (row,) = store.rows(_statement("count_deleted.sql"))
    return dict(zip(("raw_spans", "raw_logs", "arrivals"), (int(str(rows)) for rows in row), strict=True))


def stored_items(rows: Mapping[str, int]) -> int:
    """The spans and log records among the rows by table."""
    return rows.get("raw_spans", 0) + rows.get("raw_logs", 0)


def check_tables(store: Store, counted: Mapping[str, int]) -> Check:
    """Compare the tables with the rows they held when they were last counted."""
    # The receipts first: rows that are deleted meanwhile must not seem to be missing.
    deleted = count_deleted(store)
    rows = count_rows(store)
    found = Check(rows, deleted).loaded
    missing = {
        table: before - found.get(table, 0)
        for table, before in counted.items()
        if found.get(table, 0) < before
    }
    detached: dict[str, int] = {}
    for table, _, parts in store.rows(_statement("count_detached_parts.sql"), {"database": DATABASE}):
        detached[str(table)] = detached.get(str(table), 0) + int(str(parts))
    return Check(rows, deleted, missing, detached)


def detached_parts(store: Store) -> list[tuple[str, str]]:
    """Each part that was put aside, as (table, part)."""
    found = store.rows(_statement("list_detached_parts.sql"), {"database": DATABASE})
    return [(str(table), str(part)) for table, part in found]


def drop_detached(store: Store, parts: Sequence[tuple[str, str]]) -> None:
    """Remove parts that were put aside. Only after a rebuild: until then they are all there is of their rows."""
    for table, part in parts:
        store.command(
            _statement("drop_detached_part.sql"),
            {"table": table, "part": part},
            {"allow_drop_detached": 1},
        )


@cache
def _statement(file: str) -> str:
    return resources.files("retrospan.ingest.load").joinpath(file).read_text("utf-8")
