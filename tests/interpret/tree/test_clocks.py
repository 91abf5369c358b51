"""Machines whose clocks differ by seconds and more: what must have come first stands first, and the run says so."""

from __future__ import annotations

from typing import Any

import pytest
from made_runs import SECOND, act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Event, Span
from retrospan.schemas import attributes as names

ASK = said("user", "What is 2 + 2?")
CALL, INNER = "call_0123456789", "call_9876543210"
ELSEWHERE = {"service.name": "calculator", "host.name": "b"}
TOLD = "The sum is 4."


def of_caller(**more: Any) -> list[Span]:
    """Return what the root's machine tells: it asks the other agent by a tool from second 3 to 10, and answers."""
    asked = asks("ask", {"q": "2 + 2"}, CALL)
    spans = [
        agent(takes=20, **more),
        chat(1, [ASK], asked),
        tool(3, "ask", {"q": "2 + 2"}, TOLD, takes=7, span_id=f"{2:016x}", gen_ai__tool__call__id=CALL),
        chat(11, [ASK, said("assistant", asked), returned(CALL, TOLD)], "It is four.", takes=8),
    ]
    for span in spans:
        span.resource = {"service.name": "front", "host.name": "a"}
    return spans


def of_other(fast: float, *answer: str, ended: float = 9) -> list[Span]:
    """Return what the machine of the called agent tells, whose clock is so many seconds fast."""
    given = [said("user", "2 + 2"), said("assistant", asks("add", {"n": 2}, INNER)), returned(INNER, 4)]
    more: dict[str, Any] = {"inside": f"{3:016x}", "gen_ai__agent__name": "calculator"}
    spans = [
        act(
            "invoke_agent",
            4,
            takes=ended - 4,
            span_id=f"{3:016x}",
            inside=f"{2:016x}",
            gen_ai__agent__name="calculator",
        ),
        chat(4.5, given[:1], asks("add", {"n": 2}, INNER), takes=0.5, **more),
        tool(5.5, "add", {"n": 2}, 4, takes=0.5, gen_ai__tool__call__id=INNER, **more),
        chat(7, given, *(answer or (TOLD,)), **more),
    ]
    for span in spans:
        span.resource = ELSEWHERE
        span.started_at += int(fast * SECOND)
        span.ended_at += int(fast * SECOND)
    return spans


def said_of_clocks(found: Rows) -> list[str]:
    return [problem.reason for problem in found.problems if "clock" in problem.reason]


@pytest.mark.parametrize("fast", [-120.0, -4.5, 0.0, 2.0, 7.0, 3_600.0])
def test_steps_stand_in_the_order_in_which_they_must_have_been(fast: float) -> None:
    found = rows(*of_caller(), *of_other(fast))
    (run,) = found.runs
    assert [step.name for step in found.steps] == ["orla", "ask", "calculator", "add", "calculator", "orla"]
    assert (run.started_at, run.duration_ms, run.output) == (1_000 * SECOND, 20_000.0, "It is four.")
    assert [call.asked_by for call in found.tool_calls] == [1, 2]
    assert len(said_of_clocks(found)) == (0 if fast in (0.0, 2.0) else 1)


def test_the_run_says_of_which_service_and_by_how_much() -> None:
    (fast,) = said_of_clocks(rows(*of_caller(), *of_other(60)))
    assert "'calculator' is fast" in fast
    assert "its 4 spans are told 57.000 s earlier" in fast
    (slow,) = said_of_clocks(rows(*of_caller(), *of_other(-60)))
    assert "told 59.000 s later" in slow


def test_the_span_that_was_sent_keeps_its_times() -> None:
    spans = of_other(60)
    began = [span.started_at for span in spans]
    rows(*of_caller(), *spans)
    assert [span.started_at for span in spans] == began


def test_what_nobody_was_told_may_have_run_later() -> None:
    """Work that goes on after the call is done begins when its machine says, and so does what has the same clock."""
    later = of_other(60, "Nobody was told this.")
    found = rows(*of_caller(), *later)
    assert found.runs[0].duration_ms == 69_000.0
    assert said_of_clocks(found) == []
    same = of_other(60)
    for span in same:
        span.resource = {"service.name": "calculator", "host.name": "a"}
    assert said_of_clocks(rows(*of_caller(), *same)) == []


def test_a_server_has_begun_before_its_client_was_answered() -> None:
    spans = [*of_caller(), *of_other(60, "Nobody was told this.")]
    spans[2].kind, spans[4].kind = 3, 2
    found = rows(*spans)
    assert [step.name for step in found.steps] == ["orla", "ask", "calculator", "add", "calculator", "orla"]
    # One that gave up was answered nothing.
    spans[2].status = "error"
    assert said_of_clocks(rows(*spans)) == []


def test_a_machine_may_be_called_anything() -> None:
    other = of_other(60)
    for span in other:
        span.resource = {"service.name": ["calculator"], "host.name": {"name": "b"}}
    assert len(said_of_clocks(rows(*of_caller(), *other))) == 1


def test_times_that_no_clock_agrees_with_stay() -> None:
    """A machine that began before it was called by one span, and after it had answered by another."""
    spans = [*of_caller(), *of_other(60)]
    spans[5].parent_span_id, spans[5].started_at = f"{2:016x}", 900 * SECOND
    assert said_of_clocks(rows(*spans)) == []


@pytest.mark.parametrize("fast", [-3_600.0, -20.0, 0.0])
def test_what_happened_on_a_span_moves_with_it(fast: float) -> None:
    """An event stands in the step that was going on, and what it states holds from when it happened."""
    around = act("", 3, takes=40, span_id=f"{2:016x}")
    steps = [
        act("", 10 + at, takes=9, inside=f"{2:016x}", retrospan__step__index=number)
        for number, at in ((1, 0), (2, 10), (3, 20))
    ]
    decided = {names.DECISION_NAME: "next", names.DECISION_CHOSEN: "go on"}
    observed = {names.ENTITY_TYPE: "order", names.ENTITY_ID: "A-1", names.CHANGES: '{"paid": true}'}
    around.events = [
        Event(name=names.DECISION, time_ns=1_015 * SECOND, attributes=decided),
        Event(name=names.OBSERVATION, time_ns=1_025 * SECOND, attributes=observed),
    ]
    for span in (around, *steps):
        span.resource = ELSEWHERE
        span.started_at += int(fast * SECOND)
        span.ended_at += int(fast * SECOND)
        for event in span.events:
            event.time_ns += int(fast * SECOND)
    root = agent()
    root.resource = {"service.name": "front", "host.name": "a"}
    found = rows(root, around, *steps)
    (decision,), (observation,) = found.decisions, found.observations
    assert (decision.step, observation.step) == (1, 2)
    moved = found.steps[0].started_at - steps[0].started_at
    assert decision.at == around.events[0].time_ns + moved
    assert observation.valid_from == observation.said_at == around.events[1].time_ns + moved
    assert around.events[0].time_ns == int((1_015 + fast) * SECOND)
