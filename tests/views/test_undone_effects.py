"""Which effects are undone, and which are to be undone: over the real engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from interpreting import load, settled
from stopped_agent import BEGAN, RUN, agent, write
from story import Ask
from telling import SECOND, Told, spans_request

from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas import attributes as names

_EFFECTS = (
    "SELECT run_id, idempotency_key AS key, compensated_by AS by, problem FROM effects ORDER BY run_id, at"
)


@pytest.fixture
def interpreter(warehouse: EmbeddedWarehouse, views: EmbeddedStore) -> Iterator[Interpreter]:
    running = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
    running.start()
    yield running
    running.stop()


def _sends(store: EmbeddedStore, interpreter: Interpreter, *spans: Told) -> None:
    interpreter.notice(*load(store, [spans_request(*(one.ended() for one in spans))]))
    settled(interpreter)


def _retry(trace: int, run_id: str, seconds: float) -> Told:
    link = {
        "trace_id": f"{1:032x}",
        "span_id": f"{1:016x}",
        "attributes": {names.LINK_TYPE: "retries", names.RUN_ID: RUN},
    }
    at = BEGAN + int(seconds * SECOND)
    return agent(trace=trace, run_id=run_id, at=at, until=at + 9 * SECOND, links=[link])


def test_only_a_later_run_of_the_same_origin_settles_what_a_failed_one_did(
    views: EmbeddedStore, ask: Ask, interpreter: Interpreter
) -> None:
    _sends(views, interpreter, write(2, 1, "a"))
    _sends(views, interpreter, _retry(2, "second", 100))
    assert [(row["key"], row["problem"]) for row in ask(_EFFECTS)] == [("a", "")]
    # A third try comes after the good one, and breaks off with something done.
    third = {"trace": 3, "run_id": "third", "parent": 98}
    _sends(views, interpreter, _retry(3, "third", 200), write(2, 205, "b", **third))
    assert ask("SELECT run_id, origin_run_id, outcome FROM runs ORDER BY started_at") == [
        {"run_id": RUN, "origin_run_id": RUN, "outcome": "incomplete"},
        {"run_id": "second", "origin_run_id": RUN, "outcome": "ok"},
        {"run_id": "third", "origin_run_id": RUN, "outcome": "incomplete"},
    ]
    assert [(row["key"], row["problem"]) for row in ask(_EFFECTS)] == [("a", ""), ("b", "to_compensate")]
