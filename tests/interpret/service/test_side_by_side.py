"""Rows of several tables go in over two connections at once; what tells readers of them comes when all are there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pytest
from bench.long_run import LongRun, requests_of
from interpreting import read_anew
from pytest import MonkeyPatch
from watched_store import WatchedStore

from retrospan.ingest.interpret.rows.lists import POINTERS, TABLES
from retrospan.ingest.interpret.service import side_by_side as module
from retrospan.ingest.interpret.service.side_by_side import SideBySide
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.ingest.warehouse.rows import Encoded, encode_rows, insert_encoded
from retrospan.schemas.errors import SqlError, WarehouseUnavailable
from retrospan.schemas.store import Settings, Store


@dataclass(frozen=True, slots=True)
class Row:
    number: int
    other: int


TABLE_COUNT = 12
ROWS = 500


@pytest.fixture
def tables(store: EmbeddedStore) -> Iterator[list[str]]:
    """Tables that are all alike, dropped again after the test."""
    names = [f"beside_{number}" for number in range(TABLE_COUNT)]
    for name in names:
        store.command(f"CREATE TABLE {name} (number UInt64, other UInt64) ENGINE = MergeTree ORDER BY number")
    yield names
    for name in names:
        store.command(f"DROP TABLE {name} SYNC")


@pytest.fixture
def side_by_side(warehouse: EmbeddedWarehouse) -> Iterator[SideBySide]:
    both = SideBySide(warehouse.connect)
    yield both
    both.close()


def piece(table: str, rows: int = ROWS) -> Encoded:
    return encode_rows(
        table, [Row(number, 0) for number in range(rows)], dict.fromkeys(("number", "other"), "UInt64")
    )


def counted(store: Store, tables: Iterable[str]) -> list[int]:
    return [int(str(store.rows(f"SELECT count() FROM {table}")[0][0])) for table in tables]


def allowed() -> None:
    """Say that rows may be written."""


def test_all_rows_of_all_tables_are_there(
    store: EmbeddedStore, side_by_side: SideBySide, tables: list[str]
) -> None:
    # Some tables more than once, as one piece follows the other; and nothing at all.
    side_by_side.insert(store, map(piece, [*tables, *tables[:3]]), allowed)
    assert counted(store, tables) == [2 * ROWS] * 3 + [ROWS] * (TABLE_COUNT - 3)
    side_by_side.insert(store, [], allowed)
    side_by_side.insert(store, [piece(tables[5])], allowed)
    assert counted(store, tables[5:6]) == [2 * ROWS]


def met(monkeypatch: MonkeyPatch) -> Callable[[], None]:
    """Have each of the first two inserts wait for the other; return what tells that they met."""
    gate = threading.Barrier(2)
    names: set[str] = set()

    def meeting(store: Store, rows: Encoded, settings: Settings | None = None) -> None:
        if len(names) < 2:
            names.add(threading.current_thread().name)
            gate.wait(60.0)
        insert_encoded(store, rows, settings)

    monkeypatch.setattr(module, "insert_encoded", meeting)

    def have_met() -> None:
        assert len(names) == 2
        assert not gate.broken

    return have_met


@pytest.mark.parametrize("place", [0, 1, 7, TABLE_COUNT - 1])
def test_a_refused_insert_is_raised_and_nothing_goes_on(
    store: EmbeddedStore,
    side_by_side: SideBySide,
    tables: list[str],
    place: int,
    monkeypatch: MonkeyPatch,
) -> None:
    have_met = met(monkeypatch)
    pieces = [piece(table) for table in tables]
    pieces[place] = piece("nowhere", 1)
    with pytest.raises(SqlError, match="nowhere"):
        side_by_side.insert(store, pieces, allowed)
    have_met()
    then = counted(store, tables)
    assert {*then} <= {0, ROWS}
    # Nothing of this one comes after it was raised, and nothing of it is in the way of the next.
    side_by_side.insert(store, map(piece, tables), allowed)
    assert [after - before for before, after in zip(then, counted(store, tables), strict=True)] == [
        ROWS
    ] * TABLE_COUNT


def test_both_ask_before_each_insert_and_end_when_one_is_denied(
    store: EmbeddedStore, side_by_side: SideBySide, tables: list[str], monkeypatch: MonkeyPatch
) -> None:
    have_met = met(monkeypatch)
    asked: list[str] = []

    def only_five() -> None:
        asked.append(threading.current_thread().name)
        if len(asked) > 5:
            raise WarehouseUnavailable("the lease ran out")

    with pytest.raises(WarehouseUnavailable, match="the lease ran out"):
        side_by_side.insert(store, map(piece, tables), only_five)
    have_met()
    assert len({*asked}) == 2
    assert len(asked) == 6, "who is told no has the other end as well"
    assert sum(counted(store, tables)) == 5 * ROWS


class NotedStore(WatchedStore):
    """A connection that notes which tables rows go to, in the order in which inserts begin and end."""

    noted: list[tuple[str, str]]
    failing = ""

    def begins(self, table: str) -> None:
        if table == NotedStore.failing:
            NotedStore.failing = ""
            raise WarehouseUnavailable("the connection is gone")
        NotedStore.noted.append(("begin", table))

    def ended(self, table: str) -> None:
        NotedStore.noted.append(("end", table))


@pytest.mark.parametrize(
    "failing",
    [
        "",
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in ("canon_values", "canon_traces", "canon_runs")
        ),
    ],
)
def test_pointers_are_written_when_all_other_rows_are_there(
    store: EmbeddedStore, warehouse: EmbeddedWarehouse, monkeypatch: MonkeyPatch, failing: str
) -> None:
    bodies = [body for seed in range(6) for body in requests_of(LongRun(7, seed).spans(), 500)]
    expected = read_anew(store, warehouse, bodies)
    assert len(expected["canon_runs"]) == 6
    monkeypatch.setattr("retrospan.ingest.warehouse.embedded.EmbeddedStore", NotedStore)
    NotedStore.noted, NotedStore.failing = [], failing
    assert read_anew(store, warehouse, bodies, failures=int(bool(failing))) == expected
    inserts = [(what, table) for what, table in NotedStore.noted if table in TABLES.values()]
    assert len({table for _, table in inserts}) > 8
    under_way: set[str] = set()
    pointer_before = ""
    for what, table in inserts:
        if what == "end":
            under_way.remove(table)
            continue
        if table in POINTERS:
            assert not under_way, f"{under_way} are not there yet when {table} is written"
            assert table == POINTERS[0] or pointer_before == POINTERS[0]
            pointer_before = table
        under_way.add(table)
    assert inserts[-1] == ("end", POINTERS[1])
