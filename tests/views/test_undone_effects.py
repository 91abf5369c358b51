"""Which effects are undone, and which are to be undone: over the real engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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


def _undoes(number: int, seconds: float, key: str, undone: int, **more: Any) -> Told:
    made = write(number, seconds, key, **more)
    made.more = {names.COMPENSATES: f"{undone:016x}"}
    return made


def _retry(trace: int, run_id: str, seconds: float) -> Told:
    link = {
        "trace_id": f"{1:032x}",
        "span_id": f"{1:016x}",
        "attributes": {names.LINK_TYPE: "retries", names.RUN_ID: RUN},
    }
    at = BEGAN + int(seconds * SECOND)
    return agent(trace=trace, run_id=run_id, at=at, until=at + 9 * SECOND, links=[link])


def test_an_undoing_is_of_the_call_in_its_own_run_where_several_runs_have_the_id(
    views: EmbeddedStore, ask: Ask, interpreter: Interpreter
) -> None:
    # Programs that count their spans: each charges in its span 2, and only the second pays back.
    _sends(views, interpreter, write(2, 1, "a"))
    of_second: dict[str, Any] = {"trace": 2, "run_id": "other"}
    _sends(views, interpreter, write(2, 1, "b", **of_second), _undoes(3, 3, "c", 2, **of_second))
    assert ask(_EFFECTS) == [
        {"run_id": RUN, "key": "a", "by": None, "problem": "to_compensate"},
        {"run_id": "other", "key": "b", "by": f"{3:016x}", "problem": ""},
        {"run_id": "other", "key": "c", "by": None, "problem": ""},
    ]
    # A third that has no such call, and is of no origin of theirs, does not say which it means.
    _sends(views, interpreter, _undoes(3, 3, "d", 2, trace=3, run_id="cleaner"))
    assert ask(_EFFECTS)[1] == {"run_id": RUN, "key": "a", "by": None, "problem": "to_compensate"}


def test_an_undoing_of_another_run_counts_where_one_run_alone_has_the_id(
    views: EmbeddedStore, ask: Ask, interpreter: Interpreter
) -> None:
    _sends(views, interpreter, write(2, 1, "a"))
    _sends(views, interpreter, _undoes(3, 3, "c", 2, trace=3, run_id="cleaner"))
    assert ask(_EFFECTS)[1] == {"run_id": RUN, "key": "a", "by": f"{3:016x}", "problem": ""}


def test_what_was_undone_and_done_again_is_to_be_undone(
    views: EmbeddedStore, ask: Ask, interpreter: Interpreter
) -> None:
    _sends(views, interpreter, write(2, 1, "charge"), _undoes(3, 3, "refund", 2), _undoes(4, 5, "again", 3))
    assert [(row["key"], row["by"], row["problem"]) for row in ask(_EFFECTS)] == [
        ("charge", None, "to_compensate"),
        ("refund", f"{4:016x}", ""),
        ("again", None, ""),
    ]


def test_only_a_later_run_of_the_same_origin_settles_what_a_failed_one_did(
    views: EmbeddedStore, ask: Ask, interpreter: Interpreter
) -> None:
    _sends(views, interpreter, write(2, 1, "a"))
    _sends(views, interpreter, _retry(2, "second", 100))
    assert [(row["key"], row["problem"]) for row in ask(_EFFECTS)] == [("a", "")]
    # A third try comes after the good one, and breaks off with something done.
    third: dict[str, Any] = {"trace": 3, "run_id": "third", "parent": 98}
    _sends(views, interpreter, _retry(3, "third", 200), write(2, 205, "b", **third))
    assert ask("SELECT run_id, origin_run_id, outcome FROM runs ORDER BY started_at") == [
        {"run_id": RUN, "origin_run_id": RUN, "outcome": "incomplete"},
        {"run_id": "second", "origin_run_id": RUN, "outcome": "ok"},
        {"run_id": "third", "origin_run_id": RUN, "outcome": "incomplete"},
    ]
    assert [(row["key"], row["problem"]) for row in ask(_EFFECTS)] == [("a", ""), ("b", "to_compensate")]


def test_an_effect_that_another_run_undid_is_not_unconfirmed(
    views: EmbeddedStore, ask: Ask, interpreter: Interpreter
) -> None:
    _sends(views, interpreter, write(2, 1, "a", "unknown"), write(3, 4, "b", "unknown"))
    found = "SELECT explanation LIKE '%key b%' AS of_b FROM findings WHERE rule = 'unconfirmed_effect' ORDER BY of_b"
    assert ask(found) == [{"of_b": 0}, {"of_b": 1}]
    _sends(views, interpreter, _undoes(9, 8, "c", 2, trace=3, run_id="cleaner"))
    assert ask(found) == [{"of_b": 1}]
