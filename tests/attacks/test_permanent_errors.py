"""What trying again cannot help is said and left aside, not tried for ever."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from fix_recordings import Recording
from interpreting import load, settled

from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse

GOOD, OTHER = "genai-openai.span_only/normal", "langgraph-openinference/normal"


@pytest.fixture(params=[True, False], ids=["own-process", "in-process"])
def interpreter(warehouse: EmbeddedWarehouse, request: pytest.FixtureRequest) -> Iterator[Interpreter]:
    running = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0), own_process=request.param)
    running.start()
    yield running
    running.stop()


def test_a_run_whose_rows_a_table_refuses_is_listed(
    recordings: dict[str, Recording], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    store.command("RENAME TABLE canon_steps TO canon_steps_gone")
    try:
        interpreter.notice(*load(store, recordings[GOOD].traces))
        settled(interpreter)
    finally:
        store.command("RENAME TABLE canon_steps_gone TO canon_steps")
    assert store.rows("SELECT outcome, incomplete_because FROM canon_runs FINAL") == [
        ["incomplete", "not_interpreted"]
    ]
    ((reason,),) = store.rows("SELECT reason FROM canon_problems")
    assert "canon_steps" in str(reason)
    assert interpreter.counters.not_interpreted == 1
    assert interpreter.counters.failures == 0
    assert interpreter.failure == ""
    interpreter.rebuild(lambda done, total: None)
    assert store.rows("SELECT outcome FROM canon_runs FINAL") == [["ok"]]


@pytest.mark.long
def test_a_run_that_cannot_even_be_listed_is_left_aside(
    recordings: dict[str, Recording], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    """Finding 12: a permanent error had the interpreter try again for ever, once a second."""
    store.command("RENAME TABLE canon_problems TO canon_problems_gone, canon_steps TO canon_steps_gone")
    try:
        interpreter.notice(*load(store, recordings[GOOD].traces))
        settled(interpreter)
        time.sleep(3.0)  # it used to be tried three times meanwhile
        assert interpreter.counters.set_aside == 1
        assert interpreter.counters.failures == 0
    finally:
        store.command("RENAME TABLE canon_problems_gone TO canon_problems, canon_steps_gone TO canon_steps")
    # What comes next is read as ever, and what was left aside by who asks for it.
    interpreter.notice(*load(store, recordings[OTHER].traces))
    settled(interpreter)
    assert store.rows("SELECT outcome FROM canon_runs FINAL") == [["ok"]]
    interpreter.rebuild(lambda done, total: None)
    assert store.rows("SELECT outcome FROM canon_runs FINAL") == [["ok"], ["ok"]]


@pytest.mark.long
def test_what_fails_as_a_whole_is_tried_less_and_less(
    recordings: dict[str, Recording],
    store: EmbeddedStore,
    interpreter: Interpreter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Interpreter, "permanent_pauses", (2.0, 60.0))
    first = load(store, recordings[GOOD].traces)
    store.command("RENAME TABLE arrivals TO arrivals_gone")
    try:
        for _ in range(80):
            interpreter.notice(*first)  # each of these woke it
            time.sleep(0.1)
        assert 1 <= interpreter.counters.failures <= 3
        assert "arrivals" in interpreter.failure
    finally:
        store.command("RENAME TABLE arrivals_gone TO arrivals")
    settled(interpreter)
    assert interpreter.failure == ""
    assert store.rows("SELECT outcome FROM canon_runs FINAL") == [["ok"]]
