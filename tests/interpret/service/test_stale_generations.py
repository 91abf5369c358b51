"""Rows that a newer reading has replaced are deleted after a while, of many runs together, and nobody waits for it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import cast

import pytest

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.interpret.service import stale_generations
from retrospan.ingest.interpret.service.stale_generations import (
    COLLECT_SECONDS,
    GENERATIONAL,
    KEEP_SECONDS,
    StaleGenerations,
)
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas.engines import Form
from retrospan.schemas.errors import WarehouseUnavailable
from retrospan.schemas.store import Parameters, Settings, Store


class _Store:
    def __init__(self) -> None:
        self.deleted: list[Parameters] = []
        self.is_away = False

    def command(self, statement: str, parameters: Parameters, settings: Settings) -> None:
        if self.is_away and len(self.deleted) % 3 == 2:
            raise WarehouseUnavailable("away")
        self.deleted.append(parameters)


class _Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    clock = _Clock()
    monkeypatch.setattr("time.monotonic", clock)
    return clock


@pytest.fixture
def stale() -> StaleGenerations:
    return StaleGenerations()


@pytest.fixture
def made() -> _Store:
    return _Store()


@pytest.fixture
def deleted(made: _Store, stale: StaleGenerations) -> Callable[[], list[Parameters]]:
    def collect() -> list[Parameters]:
        before = len(made.deleted)
        stale.collect(cast(Store, made), Form())
        return made.deleted[before:]

    return collect


def test_rows_of_many_runs_are_deleted_together(
    clock: _Clock, stale: StaleGenerations, deleted: Callable[[], list[Parameters]]
) -> None:
    stale.note("default", "first", 1)
    clock.now += KEEP_SECONDS - 1
    assert deleted() == []
    clock.now += 1
    assert [each["run_ids"] for each in deleted()] == [["first"]] * len(GENERATIONAL)
    for number in range(10):
        stale.note("default", f"run {number}", number)
        stale.note("other", f"run {number}", number + 50)
        stale.note("default", f"run {number}", number + 100)
    clock.now += COLLECT_SECONDS
    assert deleted() == []
    clock.now += KEEP_SECONDS
    last = deleted()
    assert len(last) == len(GENERATIONAL), "of all tenants in one statement"
    assert last[0]["tenants"] == ["default", "other"] * 10
    assert last[0]["run_ids"] == [f"run {number // 2}" for number in range(20)]
    assert last[0]["generations"] == [number // 2 + (50 if number % 2 else 100) for number in range(20)]
    stale.note("default", "late", 7)
    clock.now += COLLECT_SECONDS - 1
    assert deleted() == []


def test_after_a_rebuild_they_go_a_part_at_a_time(
    clock: _Clock,
    stale: StaleGenerations,
    deleted: Callable[[], list[Parameters]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stale_generations, "MOST_RUNS", 4)
    for number in range(10):
        stale.note("default", f"run {number}", number)
    clock.now += KEEP_SECONDS
    parts = list[object]()
    for _ in range(4):
        asked = deleted()
        parts.append(asked[0]["generations"] if asked else None)
        clock.now += COLLECT_SECONDS
    assert parts == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9], None]


def test_what_could_not_be_deleted_is_asked_for_again(
    clock: _Clock, stale: StaleGenerations, made: _Store, deleted: Callable[[], list[Parameters]]
) -> None:
    stale.note("default", "run", 1)
    clock.now += KEEP_SECONDS
    made.is_away = True
    with pytest.raises(WarehouseUnavailable):
        deleted()
    made.is_away = False
    clock.now += COLLECT_SECONDS
    assert len(deleted()) == len(GENERATIONAL)
    clock.now += COLLECT_SECONDS
    assert deleted() == []


def test_only_older_generations_of_that_tenants_run_go_and_nobody_waits(
    store: EmbeddedStore, stale: StaleGenerations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stale_generations, "KEEP_SECONDS", 0.0)
    rows = [
        {"tenant": tenant, "run_id": run_id, "generation": generation}
        for tenant in ("a", "b", "a.b", "c")
        for run_id in ("r", "b.r", "s")
        for generation in (1, 2, 3)
    ]
    data = "\n".join(map(json.dumps, rows)).encode()
    for name in GENERATIONAL:
        table = TABLES[name]
        store.insert(f"INSERT INTO {table} (tenant, run_id, generation)", data, "JSONEachRow")
        store.command("SYSTEM STOP MERGES {table:Identifier}", {"table": table})
    stale.note("a", "r", 2)
    stale.note("a", "r", 3)
    stale.note("b", "r", 2)
    stale.note("a.b", "s", 1)
    try:
        # While the engine can do nothing of it: whoever waited would wait for ever.
        stale.collect(store, Form())
    finally:
        for name in GENERATIONAL:
            store.command("SYSTEM START MERGES {table:Identifier}", {"table": TABLES[name]})
    gone = {("a", "r", 1), ("a", "r", 2), ("b", "r", 1)}
    expected = sorted({(*row.values(),) for row in rows} - gone)
    deadline = time.monotonic() + 60
    for name in GENERATIONAL:
        asked = f"SELECT tenant, run_id, generation FROM {TABLES[name]} ORDER BY ALL"
        while (left := [tuple(row) for row in store.rows(asked)]) != expected and time.monotonic() < deadline:
            time.sleep(0.05)
        assert left == expected, name
