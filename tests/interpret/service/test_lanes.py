"""Many batches in a row: the next is with the other process before the last is looked at, whatever becomes of either."""

from __future__ import annotations

import pytest
from bench.long_run import LongRun, requests_of
from interpreting import load, read_anew, settled
from pytest import MonkeyPatch
from told_turns import whole_of

from retrospan.ingest.interpret.service import dispatch as dispatch_module
from retrospan.ingest.interpret.service import worker as worker_module
from retrospan.ingest.interpret.service.dispatch import TraceBatch
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.service.job import BatchResult, Job
from retrospan.ingest.interpret.service.lanes import Lanes, _Sent
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.store import Store


def rows_of(
    store: EmbeddedStore, warehouse: EmbeddedWarehouse, processes: int
) -> dict[str, list[list[object]]]:
    """Read eight traces, each in a batch of its own; one of them tells a turn of which another tells the parts."""
    spans = [*LongRun(13, 5).spans()]
    bodies = [body for seed in (11, 12, 13) for body in requests_of(LongRun(7, seed).spans(), 500)]
    bodies += requests_of(spans, 500)
    bodies += [body for seed in (14, 15) for body in requests_of(LongRun(7, seed).spans(), 500)]
    bodies += requests_of([whole_of(spans)], 500)
    bodies += requests_of(LongRun(7, 16).spans(), 500)
    rows = read_anew(store, warehouse, bodies, processes)
    assert len(rows["canon_runs"]) == 7
    return rows


@pytest.mark.long
@pytest.mark.parametrize(
    ("held", "processes"),
    [
        pytest.param("all rows", 1, marks=pytest.mark.soak),
        ("all rows", 2),
        ("all rows", 3),
        pytest.param("no rows", 1, marks=pytest.mark.soak),
        ("no rows", 2),
        pytest.param("no rows", 3, marks=pytest.mark.soak),
    ],
)
def test_what_is_done_again_or_lost_changes_no_row(
    store: EmbeddedStore, warehouse: EmbeddedWarehouse, monkeypatch: MonkeyPatch, held: str, processes: int
) -> None:
    monkeypatch.setattr(dispatch_module, "BATCH_TRACES", 1)
    if held == "no rows":
        monkeypatch.setattr(worker_module, "HELD_BYTES", 0)
    expected = rows_of(store, warehouse, processes=0)
    ahead, sent = list[int](), list[int]()
    received, send = Lanes._received, Lanes._send

    def noted(lanes: Lanes, batch: _Sent) -> BatchResult | None:
        done = received(lanes, batch)
        if done is None or done.is_large:
            ahead.append(len(lanes._under_way))
        return done

    def counted(lanes: Lanes, batch: TraceBatch, job: Job, place: int) -> bool:
        sent.append(place)
        return send(lanes, batch, job, place)

    monkeypatch.setattr(Lanes, "_received", noted)
    monkeypatch.setattr(Lanes, "_send", counted)
    assert rows_of(store, warehouse, processes) == expected
    assert {*sent} == {*range(processes)}
    # Rows that are not held are told before their process has anything else to do.
    assert max(ahead, default=0) <= processes - 1
    assert ahead or held == "all rows"
    checked = Lanes._checked
    count = 0

    def interrupted(
        lanes: Lanes, store: Store, batch: TraceBatch, done: BatchResult | None
    ) -> BatchResult | None:
        nonlocal count
        count += 1
        if count in (2, 5):
            worker = lanes._runner.processes._workers[count % processes]
            if worker._process is not None:
                worker._process.kill()
        return checked(lanes, store, batch, done)

    monkeypatch.setattr(Lanes, "_checked", interrupted)
    assert rows_of(store, warehouse, processes) == expected
    assert count >= 5


def test_a_stop_writes_what_every_process_has(
    store: EmbeddedStore, warehouse: EmbeddedWarehouse, monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch_module, "BATCH_TRACES", 1)
    load(store, [body for seed in range(3) for body in requests_of(LongRun(7, seed).spans(), 500)])
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0, processes=2))
    try:
        # Two rounds of its thread, which is not started: each sends one of three traces.
        interpreter.run_once()
        interpreter.run_once()
        assert len(interpreter._lanes._under_way) == 2
        assert store.rows("SELECT count() FROM canon_runs FINAL") == [[0]]
    finally:
        interpreter.end()
    assert store.rows("SELECT count() FROM canon_runs FINAL") == [[2]]


def test_a_few_traces_are_read_by_one_process(
    store: EmbeddedStore, warehouse: EmbeddedWarehouse, monkeypatch: MonkeyPatch
) -> None:
    places: list[int] = []
    send = Lanes._send

    def noted(lanes: Lanes, batch: TraceBatch, job: Job, place: int) -> bool:
        places.append(place)
        return send(lanes, batch, job, place)

    monkeypatch.setattr(Lanes, "_send", noted)
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0, processes=2))
    interpreter.start()
    try:
        for seed in range(4):
            interpreter.notice(*load(store, [*requests_of(LongRun(7, seed).spans(), 500)]))
        settled(interpreter)
    finally:
        interpreter.stop()
    assert places
    assert not any(places)
    assert not interpreter._runner.processes._workers[1].is_running
