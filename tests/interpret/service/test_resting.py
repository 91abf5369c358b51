"""Where nothing is to be read, the interpreting process ends; the next run has another."""

from __future__ import annotations

import time

import pytest
from bench.long_run import LongRun, requests_of
from fix_recordings import Recording
from interpreting import canonical, load, settled

from retrospan.ingest.interpret.service import dispatch as dispatch_module
from retrospan.ingest.interpret.service import interpreter as interpreter_module
from retrospan.ingest.interpret.service import processes as processes_module
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.service.job import Job
from retrospan.ingest.interpret.service.processes import Processes
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse


@pytest.mark.long
def test_a_process_beside_the_first_ends_once_it_has_nothing_to_do(
    warehouse: EmbeddedWarehouse, store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch_module, "BATCH_TRACES", 1)
    monkeypatch.setattr(processes_module, "IDLE_SECONDS", 0.0)
    bodies = [body for seed in range(8) for body in requests_of(LongRun(7, seed).spans(), 500)]
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0, processes=2))
    started: list[int] = []
    send = Processes.send

    def noted(processes: Processes, number: int, job: Job) -> bool:
        started.append(number)
        return send(processes, number, job)

    monkeypatch.setattr(Processes, "send", noted)
    interpreter.start()
    try:
        for _ in range(2):
            interpreter.notice(*load(store, bodies))
            settled(interpreter)
            first, second = interpreter._runner.processes._workers
            deadline = time.monotonic() + 300
            while second.is_running:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            assert first.is_running
            assert {*started} == {0, 1}
            started.clear()
        assert interpreter.counters.failures == 0
    finally:
        interpreter.stop()


def test_the_process_ends_at_rest_and_the_next_run_is_read_by_another(
    recordings: dict[str, Recording],
    warehouse: EmbeddedWarehouse,
    store: EmbeddedStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interpreter_module, "RESTING_SECONDS", 3_600.0)
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
    interpreter.start()
    try:
        for name in ("langgraph-openinference/parallel", "pydantic-ai/normal"):
            interpreter.notice(*load(store, recordings[name].traces))
            settled(interpreter)
            runs = len(canonical(store)["canon_runs"])
            worker = interpreter._runner.processes._workers[0]
            assert worker.is_running, "as long as more may come"
            monkeypatch.setattr(interpreter_module, "RESTING_SECONDS", 0.0)
            deadline = time.monotonic() + 300
            while worker.is_running:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            monkeypatch.setattr(interpreter_module, "RESTING_SECONDS", 3_600.0)
            assert len(canonical(store)["canon_runs"]) == runs >= 1
        assert runs > 1
        assert interpreter.counters.failures == 0
    finally:
        interpreter.stop()
