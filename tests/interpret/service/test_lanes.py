"""Many batches in a row: the next is with the other process before the last is looked at, whatever becomes of either."""

from __future__ import annotations

import pytest
from bench.long_run import LongRun, requests_of
from interpreting import canonical, load, settled
from pytest import MonkeyPatch
from told_turns import whole_of

from retrospan.ingest.config import InterpreterSettings
from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.interpret.service import dispatch as dispatch_module
from retrospan.ingest.interpret.service import worker as worker_module
from retrospan.ingest.interpret.service.dispatch import TraceBatch
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.service.job import BatchResult
from retrospan.ingest.interpret.service.lanes import Lanes
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.store import Store


def rows_of(
    store: EmbeddedStore, warehouse: EmbeddedWarehouse, own_process: bool
) -> dict[str, list[list[object]]]:
    """Read eight traces, each in a batch of its own; one of them tells a turn of which another tells the parts."""
    for table in (*TABLES.values(), "raw_spans", "raw_logs", "arrivals"):
        store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})
    spans = [*LongRun(13, 5).spans()]
    bodies = [body for seed in (11, 12, 13) for body in requests_of(LongRun(7, seed).spans(), 500)]
    bodies += requests_of(spans, 500)
    bodies += [body for seed in (14, 15) for body in requests_of(LongRun(7, seed).spans(), 500)]
    bodies += requests_of([whole_of(spans)], 500)
    bodies += requests_of(LongRun(7, 16).spans(), 500)
    load(store, bodies)
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0), own_process)
    interpreter.start()
    try:
        settled(interpreter)
        assert interpreter.counters.failures == interpreter.counters.broken == 0
    finally:
        interpreter.stop()
    rows = canonical(store)
    gone = store.rows("SELECT run_id FROM canon_runs FINAL WHERE deleted")
    rows["canon_runs"] = [row for row in rows["canon_runs"] if [row[1]] not in gone]
    assert len(rows["canon_runs"]) == 7
    return rows


@pytest.mark.long
@pytest.mark.parametrize("held", ["all rows", "no rows"])
def test_what_is_done_again_or_lost_changes_no_row(
    store: EmbeddedStore, warehouse: EmbeddedWarehouse, monkeypatch: MonkeyPatch, held: str
) -> None:
    monkeypatch.setattr(dispatch_module, "BATCH_TRACES", 1)
    if held == "no rows":
        monkeypatch.setattr(worker_module, "HELD_BYTES", 0)
    expected = rows_of(store, warehouse, own_process=False)
    ahead: list[bool] = []
    settle_alone = Lanes._settle_alone

    def noted(lanes: Lanes, store: Store, batch: TraceBatch, done: BatchResult | None) -> None:
        ahead.append(lanes._under_way is not None)
        settle_alone(lanes, store, batch, done)

    monkeypatch.setattr(Lanes, "_settle_alone", noted)
    assert rows_of(store, warehouse, own_process=True) == expected
    # Rows that are not held are told before the process has anything else to do.
    assert any(ahead) == (held == "all rows") and ahead
    checked = Lanes._checked
    count = 0

    def interrupted(
        lanes: Lanes, store: Store, batch: TraceBatch, done: BatchResult | None
    ) -> BatchResult | None:
        nonlocal count
        count += 1
        worker = lanes._runner._worker
        if count in (2, 5) and worker is not None and worker._process is not None:
            worker._process.kill()
        return checked(lanes, store, batch, done)

    monkeypatch.setattr(Lanes, "_checked", interrupted)
    assert rows_of(store, warehouse, own_process=True) == expected
    assert count >= 5
