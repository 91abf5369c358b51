"""Rows that a newer reading has replaced are deleted after a while, of many runs together."""

from __future__ import annotations

from typing import cast

import pytest

from retrospan.ingest.interpret.service.stale_generations import (
    COLLECT_SECONDS,
    GENERATIONAL,
    KEEP_SECONDS,
    StaleGenerations,
)
from retrospan.schemas.engines import Form
from retrospan.schemas.store import Parameters, Store


class _Store:
    def __init__(self) -> None:
        self.deleted: list[Parameters] = []

    def command(self, statement: str, parameters: Parameters) -> None:
        self.deleted.append(parameters)


def test_rows_of_many_runs_are_deleted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    now, store, stale = 1000.0, _Store(), StaleGenerations()
    monkeypatch.setattr("time.monotonic", lambda: now)

    def deleted() -> list[Parameters]:
        before = len(store.deleted)
        stale.collect(cast(Store, store), Form())
        return store.deleted[before:]

    stale.note("default", "first", 1)
    now += KEEP_SECONDS - 1
    assert deleted() == []
    now += 1
    assert [each["run_ids"] for each in deleted()] == [["first"]] * len(GENERATIONAL)
    for number in range(10):
        stale.note("default", f"run {number}", number)
        stale.note("default", f"run {number}", number + 100)
    now += COLLECT_SECONDS
    assert deleted() == []
    now += KEEP_SECONDS
    last = deleted()
    assert len(last) == len(GENERATIONAL)
    assert last[0]["run_ids"] == [f"run {number}" for number in range(10)]
    assert last[0]["generations"] == [number + 100 for number in range(10)]
    stale.note("default", "late", 7)
    now += COLLECT_SECONDS - 1
    assert deleted() == []
