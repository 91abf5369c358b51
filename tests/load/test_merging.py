"""Parts are merged into one at rest, and only there; what is in them stays the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from retrospan.ingest.load import merging as merging_module
from retrospan.ingest.load.merging import Merging
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse

ROWS = 4_000


class Clock:
    """Seconds that pass when a test says so."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(merging_module, "time", clock)
    return clock


@pytest.fixture
def scattered(store: EmbeddedStore) -> Iterator[EmbeddedStore]:
    """A table of two partitions whose rows lie in three parts each, of some 250 KB."""
    store.command("DROP TABLE IF EXISTS scattered SYNC")
    store.command(
        "CREATE TABLE scattered (day UInt8, number UInt64, text String) ENGINE = MergeTree "
        "PARTITION BY day ORDER BY number"
    )
    # The engine is not to merge them by itself meanwhile.
    store.command("SYSTEM STOP MERGES scattered")
    for part in range(6):
        add_part(store, part)
    store.command("SYSTEM START MERGES scattered")
    yield store
    store.command("DROP TABLE scattered SYNC")


def add_part(store: EmbeddedStore, part: int) -> None:
    store.command(
        f"INSERT INTO scattered SELECT {part % 2}, number + {part * ROWS}, randomString(60) FROM numbers({ROWS})"
    )


def parts(store: EmbeddedStore) -> list[object]:
    """How many parts each partition has."""
    rows = store.rows(
        "SELECT count() FROM system.parts WHERE active AND database = currentDatabase() AND table = 'scattered' "
        "GROUP BY partition_id ORDER BY partition_id"
    )
    return [count for (count,) in rows]


def content(store: EmbeddedStore) -> object:
    return store.rows(
        "SELECT day, count(), groupBitXor(cityHash64(number, text)) FROM scattered GROUP BY day ORDER BY day"
    )


def test_parts_become_one_for_each_partition_once_nothing_has_happened_for_a_while(
    warehouse: EmbeddedWarehouse, scattered: EmbeddedStore, clock: Clock
) -> None:
    before = content(scattered)
    merging = Merging(warehouse.connect, lambda: (1, 1))
    merging.run_once()
    clock.now += merging_module._QUIET_SECONDS - 1
    merging.run_once()
    assert parts(scattered) == [3, 3]
    clock.now += 1
    merging.run_once()
    assert parts(scattered) == [1, 1]
    assert merging.merges == 2
    assert content(scattered) == before


def test_whatever_happens_puts_it_off(
    warehouse: EmbeddedWarehouse, scattered: EmbeddedStore, clock: Clock
) -> None:
    done = 0
    merging = Merging(warehouse.connect, lambda: done)
    merging.run_once()
    for _ in range(3):
        clock.now += merging_module._QUIET_SECONDS
        done += 1
        merging.run_once()
    assert parts(scattered) == [3, 3]
    busy = Merging(warehouse.connect, lambda: None)
    for _ in range(3):
        clock.now += merging_module._QUIET_SECONDS
        busy.run_once()
    assert parts(scattered) == [3, 3]


def test_it_ends_with_the_merge_at_hand_when_something_happens(
    warehouse: EmbeddedWarehouse, scattered: EmbeddedStore, clock: Clock
) -> None:
    looks = iter([1, 1, 1, 2])
    merging = Merging(warehouse.connect, lambda: next(looks, 2))
    merging.run_once()
    clock.now += merging_module._QUIET_SECONDS
    merging.run_once()
    assert sorted(map(str, parts(scattered))) == ["1", "3"]


def test_a_small_part_beside_a_large_one_stays_until_there_is_more(
    warehouse: EmbeddedWarehouse,
    scattered: EmbeddedStore,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = 0
    merging = Merging(warehouse.connect, lambda: done)
    merging.run_once()
    clock.now += merging_module._QUIET_SECONDS
    merging.run_once()
    monkeypatch.setattr(merging_module, "_LEAST_BYTES", 400_000)
    scattered.command("SYSTEM STOP MERGES scattered")
    for part, expected in ((6, [2, 1]), (8, [1, 1])):
        add_part(scattered, part)
        scattered.command("SYSTEM START MERGES scattered")
        done += 1
        merging.run_once()
        clock.now += merging_module._QUIET_SECONDS
        merging.run_once()
        assert parts(scattered) == expected


@pytest.mark.parametrize(("limit", "most"), [("_MOST_BYTES", 500_000), ("_MOST_PARTS", 2)])
def test_what_is_too_much_at_once_is_left_to_the_engine(
    warehouse: EmbeddedWarehouse,
    scattered: EmbeddedStore,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    most: int,
) -> None:
    monkeypatch.setattr(merging_module, limit, most)
    merging = Merging(warehouse.connect, lambda: 1)
    merging.run_once()
    clock.now += merging_module._QUIET_SECONDS
    merging.run_once()
    assert parts(scattered) == [3, 3]


def test_what_the_engine_does_not_merge_is_not_tried_for_ever(
    warehouse: EmbeddedWarehouse, scattered: EmbeddedStore, clock: Clock
) -> None:
    asked: list[str] = []
    merging = Merging(lambda: Unmoved(warehouse, asked), lambda: 1)
    merging.run_once()
    for _ in range(3):
        clock.now += merging_module._QUIET_SECONDS
        merging.run_once()
    assert parts(scattered) == [3, 3]
    assert len(asked) == 2, "each partition once"


class Unmoved(EmbeddedStore):
    """A connection whose commands do nothing."""

    def __init__(self, warehouse: EmbeddedWarehouse, asked: list[str]) -> None:
        self._store = warehouse.connect()
        self._asked = asked

    def command(self, statement: str, *arguments: Any, **named: Any) -> None:
        self._asked.append(statement)

    def rows(self, *arguments: Any, **named: Any) -> list[list[object]]:
        return self._store.rows(*arguments, **named)

    def close(self) -> None:
        self._store.close()
