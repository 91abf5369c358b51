"""Runs that stopped talking: what is told of them from what they said before, over the real engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from interpreting import load, settled
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from stopped_agent import BEGAN, PROCESS, RUN, agent, observed, said_before_it_died, span, write
from story import Ask
from telling import SECOND, Told, alive, killed, logs_request, spans_request

from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas import attributes as names


@pytest.fixture
def interpreter(warehouse: EmbeddedWarehouse, views: EmbeddedStore) -> Iterator[Interpreter]:
    running = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
    running.start()
    yield running
    running.stop()


def sends(store: EmbeddedStore, interpreter: Interpreter, spans: list[Told], logs: list[LogRecord]) -> None:
    interpreter.notice(*load(store, [spans_request(one.ended()) for one in spans], [logs_request(*logs)]))
    settled(interpreter)


@pytest.mark.long
def test_a_killed_run_tells_who_it_was_and_what_it_was_doing(
    views: EmbeddedStore, ask: Ask, interpreter: Interpreter
) -> None:
    done, logs = said_before_it_died()
    sends(views, interpreter, done, [*logs, alive(PROCESS), killed(PROCESS)])
    (run,) = ask(
        "SELECT run_id, agent_name, input, conversation_id, outcome, incomplete_because, ended_by, steps, "
        "ended_at, last_said_at FROM runs"
    )
    assert run == {
        "run_id": RUN,
        "agent_name": "clerk",
        "input": "check the orders",
        "conversation_id": "c1",
        "outcome": "killed",
        "incomplete_because": "killed",
        "ended_by": "spool",
        "steps": 3,
        "ended_at": None,
        "last_said_at": run["last_said_at"],
    }
    assert run["last_said_at"].startswith("2026-09-21 14:13:23.5")
    assert ask("SELECT count() AS n FROM observations") == [{"n": 20}]
    steps = ask("SELECT step, name, status, state_before, state_after FROM steps ORDER BY step")
    assert [(one["name"], one["status"]) for one in steps] == [
        ("send", "ok"),
        ("send", "ok"),
        ("send", "incomplete"),
    ]
    assert (steps[1]["state_after"], steps[2]["state_before"]) == ('{"checked":2}', '{"checked":2}')
    (call,) = ask("SELECT arguments, status FROM tool_calls WHERE status = 'incomplete'")
    assert json.loads(call["arguments"]) == {"to": "c"}
    effects = ask("SELECT idempotency_key AS key, effect_status AS status, problem FROM effects ORDER BY key")
    assert [(one["key"], one["status"], one["problem"]) for one in effects] == [
        ("a", "executed", "to_compensate"),
        ("b", "executed", "to_compensate"),
        ("c", "unknown", "to_compensate"),
    ]
    (missing,) = ask("SELECT task_position, tool_outputs, decisions, failure_context FROM missing_layers")
    assert missing == {
        "task_position": False,
        "tool_outputs": True,
        "decisions": True,
        "failure_context": False,
    }


@pytest.mark.long
def test_a_resume_settles_what_it_executes_itself(
    views: EmbeddedStore, ask: Ask, interpreter: Interpreter
) -> None:
    done, logs = said_before_it_died()
    sends(views, interpreter, done, logs)
    link = {
        "trace_id": f"{1:032x}",
        "span_id": f"{1:016x}",
        "attributes": {names.LINK_TYPE: "resumes", names.RUN_ID: RUN},
    }
    root = agent(
        trace=2,
        run_id="nightly-8",
        at=BEGAN + 60 * SECOND,
        until=BEGAN + 90 * SECOND,
        links=[link],
        process="cd" * 8,
    )
    again = write(2, 65, "c", parent=1, trace=2, run_id="nightly-8", process="cd" * 8)
    # It goes on, and is killed in turn before it ended.
    sends(views, interpreter, [again], [root.begun()])
    runs = ask("SELECT run_id, outcome, ended_by, origin_run_id, parent_run_id FROM runs ORDER BY run_id")
    assert [(one["run_id"], one["outcome"], one["ended_by"]) for one in runs] == [
        (RUN, "killed", "resumed"),
        ("nightly-8", "incomplete", None),
    ]
    assert (runs[1]["origin_run_id"], runs[1]["parent_run_id"]) == (RUN, RUN)
    asked = (
        "SELECT run_id, idempotency_key AS key FROM effects WHERE has(problems, 'to_compensate') ORDER BY ALL"
    )
    assert [(one["run_id"], one["key"]) for one in ask(asked)] == [(RUN, "a"), (RUN, "b"), ("nightly-8", "c")]
    # Once the resume ends well, nothing is left to undo.
    sends(views, interpreter, [root], [])
    assert ask(asked) == []
    assert ask("SELECT max(times_executed) AS n FROM effects") == [{"n": 1}]


def test_a_run_is_running_while_its_process_lives_and_lost_when_that_falls_silent(
    views: EmbeddedStore, ask: Ask, interpreter: Interpreter
) -> None:
    _, logs = said_before_it_died()
    asked = "SELECT outcome, incomplete_because, ended_by FROM runs"
    sends(views, interpreter, [], logs)
    assert ask(asked) == [{"outcome": "incomplete", "incomplete_because": "not_ended", "ended_by": None}]
    sends(views, interpreter, [], [alive(PROCESS, 3600.0)])
    assert ask(asked) == [{"outcome": "running", "incomplete_because": "not_ended", "ended_by": None}]
    views.command("TRUNCATE TABLE processes")
    load(views, [], [logs_request(alive(PROCESS, 0.000_001))])
    assert ask(asked) == [{"outcome": "lost", "incomplete_because": "not_ended", "ended_by": None}]
    (effect,) = ask("SELECT problem FROM effects WHERE idempotency_key = 'c'")
    assert effect == {"problem": "to_compensate"}
    # Its end comes after all: then it had not been lost.
    sends(views, interpreter, [agent(until=BEGAN + 100 * SECOND)], [])
    assert ask(asked) == [{"outcome": "ok", "incomplete_because": None, "ended_by": None}]


@pytest.mark.long
def test_processes_are_one_row_each_after_merging(views: EmbeddedStore) -> None:
    for _ in range(3):
        load(views, [], [logs_request(alive(PROCESS, 30.0)), logs_request(killed(PROCESS))])
    views.command("OPTIMIZE TABLE processes FINAL")
    ((process, pid, interval, was_alive, was_killed),) = views.rows(
        "SELECT process_id, pid, interval_seconds, last_alive_at > toDateTime64(0, 9), killed_at > toDateTime64(0, 9) "
        "FROM processes"
    )
    assert (process, pid, interval, was_alive, was_killed) == (PROCESS, 7, 30.0, 1, 1)


def test_a_trace_of_log_records_alone_joins_the_run_that_it_names(
    views: EmbeddedStore, ask: Ask, interpreter: Interpreter
) -> None:
    root = agent(until=BEGAN + 100 * SECOND)
    sends(views, interpreter, [root], [])
    elsewhere = replace(span(9, 5, {names.STEP_NAME: "far"}), trace=3, parent=0)
    sends(views, interpreter, [], [elsewhere.begun(), observed(5.5, 1).as_log(elsewhere)])
    (run,) = ask("SELECT run_id, outcome, length(trace_ids) AS traces, steps FROM runs")
    assert run == {"run_id": RUN, "outcome": "ok", "traces": 2, "steps": 1}
    assert ask("SELECT run_id FROM observations") == [{"run_id": RUN}]
    # The span itself is read with all that there is.
    sends(views, interpreter, [elsewhere], [])
    (step,) = ask("SELECT status FROM steps")
    assert step == {"status": "ok"}


def test_a_fact_is_known_from_when_its_log_record_came(
    views: EmbeddedStore, ask: Ask, interpreter: Interpreter
) -> None:
    root, fact = agent(until=BEGAN + 100 * SECOND), observed(2, 1)
    sends(views, interpreter, [], [fact.as_log(root)])
    before = ask("SELECT observation_id, toString(known_from) AS known FROM observations")
    interpreter.notice(*load(views, [spans_request(root.ended([fact.as_event()]))]))
    settled(interpreter)
    assert ask("SELECT observation_id, toString(known_from) AS known FROM observations") == before
    assert ask("SELECT outcome FROM runs") == [{"outcome": "ok"}]
