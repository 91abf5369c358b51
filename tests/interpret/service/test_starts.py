"""A start looks for what is unread once, and so does each new connection."""

from __future__ import annotations

import time

import pytest
from fix_recordings import Recording
from interpreting import load, settled

from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.errors import WarehouseUnavailable
from retrospan.schemas.store import Store


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many traces each look found."""
    found = list[int]()
    unread = Interpreter._unread

    def counted(self: Interpreter, store: Store) -> object:
        rows = unread(self, store)
        found.append(len(rows))
        return rows

    monkeypatch.setattr(Interpreter, "_unread", counted)
    return found


def test_what_comes_after_a_start_is_read_once_though_the_thread_connects_later(
    recordings: dict[str, Recording], store: EmbeddedStore, warehouse: EmbeddedWarehouse, looks: list[int]
) -> None:
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
    interpreter.start()
    try:
        # In the warehouse before it is noticed: a look in between would find it, and have it read twice.
        for name in ("genai-openai.span_only/normal", "strands/normal"):
            interpreter.notice(*load(store, recordings[name].traces))
            settled(interpreter)
        assert looks == [0]
    finally:
        interpreter.stop()


@pytest.mark.long
def test_after_a_lost_connection_it_looks_again(
    recordings: dict[str, Recording],
    store: EmbeddedStore,
    warehouse: EmbeddedWarehouse,
    looks: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Interpreter, "pauses", (0.01, 0.01))
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
    interpreter.start()
    work, losses = Interpreter._work, [WarehouseUnavailable("away")]

    def away(self: Interpreter, store: Store) -> bool:
        if losses:
            raise losses.pop()
        return work(self, store)

    try:
        settled(interpreter)
        load(store, recordings["genai-openai.span_only/normal"].traces)  # nobody notices it
        monkeypatch.setattr(Interpreter, "_work", away)
        deadline = time.monotonic() + 60
        while len(looks) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        settled(interpreter)
        assert looks == [0, 1]
        assert store.rows("SELECT outcome FROM canon_runs FINAL") == [["ok"]]
    finally:
        interpreter.stop()
