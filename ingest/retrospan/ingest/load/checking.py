"""Checks that the tables still hold what was loaded: ClickHouse silently drops a part that it cannot read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from retrospan.ingest.load.damaged_parts import without_damaged
from retrospan.ingest.load.ledger import Ledger
from retrospan.ingest.load.sql import load
from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.sequences import base_of
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_column, typed_rows


@dataclass(frozen=True, slots=True)
class Check:
    """What was found. `missing` counts the rows by table that nothing accounts for, `detached` broken parts by table.

    `deleted` counts the rows by table that receipts account for, and `buried` those of them that are surely gone by
    now: a receipt comes before its deletion.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    deleted: Mapping[str, int] = field(default_factory=dict)
    buried: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    detached: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """No table has any row, and none was deleted."""
        return not any(self.rows.values()) and not any(self.deleted.values())

    @property
    def loaded(self) -> dict[str, int]:
        """The rows by table that are there or were deleted: never more than were loaded."""
        return {table: rows + self.buried.get(table, 0) for table, rows in self.rows.items()}

    @property
    def complaint(self) -> str:
        """One sentence for a person; '' when nothing is wrong."""
        parts = [
            f"{count:,} rows of {table} that were loaded are missing" for table, count in self.missing.items()
        ]
        parts += [f"{count} parts of {table} cannot be read" for table, count in self.detached.items()]
        return f"{'; '.join(parts)}: run `retrospan rebuild`" if parts else ""


def count_rows(store: Store) -> dict[str, int]:
    """Return the rows of each raw table, duplicates counted once."""
    return dict(typed_rows(store, tuple[str, int], load("count_rows")))


def count_deleted(store: Store, log: int, buried: int) -> tuple[dict[str, int], dict[str, int]]:
    """Return the rows of each raw table that receipts name, and those of them that are surely gone.

    `buried` is the number of the last receipt of this log that was carried out.
    """
    asked = {"log": log, "buried": buried}
    (numbers,) = typed_rows(store, tuple[int, int, int, int, int, int], load("count_deleted"), asked)
    tables = ("raw_spans", "raw_logs", "arrivals")
    return dict(zip(tables, numbers[:3], strict=True)), dict(zip(tables, numbers[3:], strict=True))


def stored_items(rows: Mapping[str, int]) -> int:
    """Return the spans and log records among the rows by table."""
    return rows.get("raw_spans", 0) + rows.get("raw_logs", 0)


def check_tables(store: Store, counted: Mapping[str, int], log: int = 0, buried: int = 0) -> Check:
    """Compare the tables with the rows they held when they were last counted.

    `buried` is the number of the last receipt of this log that was carried out.
    """
    # The receipts first: rows that are deleted meanwhile must not seem to be missing.
    deleted, gone = without_damaged(store, lambda: count_deleted(store, log, buried))
    rows = without_damaged(store, lambda: count_rows(store))
    found = {table: count + deleted.get(table, 0) for table, count in rows.items()}
    missing = {
        table: before - found.get(table, 0)
        for table, before in counted.items()
        if found.get(table, 0) < before
    }
    detached: dict[str, int] = {}
    asked = {"database": DATABASE}
    for table, _, parts in typed_rows(store, tuple[str, str, int], load("count_detached_parts"), asked):
        detached[table] = detached.get(table, 0) + parts
    return Check(rows, deleted, gone, missing, detached)


def newest_epoch(store: Store, log: int) -> int:
    """Return the newest epoch in which batches of a log were loaded; 0 when there is none."""
    (epoch,) = typed_column(store, int, load("newest_epoch"), {"log": log})
    return epoch


def older_copy(store: Store, ledger: Ledger, log: int) -> str:
    """Return, in one sentence, that the warehouse holds batches of which the ledger knows nothing; '' when it does not.

    Then the log and its ledger are an older copy than the warehouse. A batch under way may be there already.
    """
    asked = {"log": log, "epoch": ledger.epoch}
    ((epoch, last),) = typed_rows(store, tuple[int, int], load("newest_loaded"), asked)
    known = ledger.open_batch.last if ledger.open_batch else ledger.loaded_sequence
    if epoch <= ledger.epoch and last <= base_of(log) + known:
        return ""
    return (
        f"the warehouse holds records up to {last - base_of(log)} of epoch {epoch}, but log/batches.jsonl knows of "
        f"{known} in epoch {ledger.epoch}: the log is an older copy than the warehouse"
    )


def detached_parts(store: Store) -> list[tuple[str, str]]:
    """Each part that was put aside, as (table, part)."""
    return typed_rows(store, tuple[str, str], load("list_detached_parts"), {"database": DATABASE})


def drop_detached(store: Store, parts: Sequence[tuple[str, str]]) -> None:
    """Remove parts that were put aside. Only after a rebuild: until then they are all there is of their rows."""
    for table, part in parts:
        store.command(
            load("drop_detached_part"),
            {"table": table, "part": part},
            {"allow_drop_detached": 1},
        )
