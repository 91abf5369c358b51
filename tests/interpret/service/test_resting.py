"""Where nothing is to be read, the interpreting process ends; the next run has another."""

from __future__ import annotations

import time

import pytest
from fix_recordings import Recording
from interpreting import canonical, load, settled

from retrospan.ingest.config import InterpreterSettings
from retrospan.ingest.interpret.service import interpreter as interpreter_module
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse


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
