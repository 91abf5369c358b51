"""How a run ended, what was tried again, and whether the agent got over its errors: a rule, a small run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import SECOND, act, agent, asks, chat, rows, said, tool

from retrospan.ingest.interpret.spans.span import Event, Span

HI = said("user", "Hi")
A = {"q": "a"}


def ended(*spans: Span) -> tuple[str, str | None]:
    run = rows(*spans).runs[0]
    return run.outcome, run.incomplete_because


def tries(*spans: Span) -> list[tuple[int, int, int | None]]:
    """Step, which try it is, and the step of the first, of all that was tried more than once."""
    return [(each.step, each.attempt, each.of_step) for each in rows(agent(), *spans).attempts]


def test_an_error_of_the_last_step_is_the_run_s_unless_there_is_an_answer() -> None:
    failed = tool(5, error="Locked")
    assert ended(agent(), failed) == ("error", None)
    assert ended(agent(), failed, tool(7)) == ("ok", None)
    assert ended(agent(), chat(1, [HI], "Done."), failed) == ("ok", None)
    assert ended(agent(), chat(1, [HI], asks("search", A)), failed) == ("error", None)


def test_a_run_of_the_program_s_own_tells_by_itself_whether_it_raised() -> None:
    """It got over the error of its last step, though nothing else tells so."""
    own = agent()
    own.scope = "retrospan.recording"
    assert ended(own, tool(5, error="Locked")) == ("ok", None)
    own.status = "error"
    assert ended(own, tool(5, error="Locked")) == ("error", None)


def test_an_error_of_the_root_is_the_run_s_whatever_it_answered() -> None:
    assert ended(agent(error="Boom"), chat(1, [HI], "Done.")) == ("error", None)


def test_a_root_that_tells_an_exception_last_failed_whatever_its_status_says() -> None:
    def root(at: float, kind: str = "Boom", status: str = "unset", operation: str = "") -> Span:
        span = act(operation, 0, takes=100, span_id=f"{1:016x}", parent_span_id="", status=status)
        time = span.started_at + int(at * SECOND)
        span.events = [Event(name="exception", time_ns=time, attributes={"exception.type": kind})]
        return span

    asked = chat(1, [HI], asks("search", A))
    assert ended(root(90), asked, tool(5)) == ("error", None)
    assert ended(root(90, operation="invoke_agent"), asked, tool(5)) == ("error", None)
    # One that it went on after; one that only waits; one that it got over, as it says; one after an answer.
    assert ended(root(3), asked, tool(5)) == ("ok", None)
    assert ended(root(90, "GraphInterrupt"), asked, tool(5))[0] != "error"
    assert ended(root(90, status="ok"), asked, tool(5)) == ("ok", None)
    assert ended(root(90), chat(1, [HI], "Done.")) == ("ok", None)


def test_an_agent_with_which_a_run_ended_without_anything_coming_of_it_failed_for_the_run() -> None:
    def run(*spans: Span, ends: float = 9.01, status: str = "unset", returned: str = "") -> str:
        told = {"gen_ai__output__messages": json.dumps([said("assistant", returned)])} if returned else {}
        top: dict[str, Any] = {"span_id": f"{1:016x}", "parent_span_id": "", "status": status}
        root = act("invoke_workflow", 0, takes=ends, **top, **told)
        return ended(root, act("invoke_agent", 1, takes=8, span_id="a" * 16, error="TooLong"), *spans)[0]

    ran = tool(5, inside="a" * 16)
    assert run(ran) == "error"
    assert run(chat(2, [HI], asks("search", A), inside="a" * 16), ran) == "error"
    # An instrumentation may give one status to all that it knows nothing of.
    assert run(ran, status="ok") == "error"
    # Something came of it, or may have come of it; more was done; another agent went on; the model had answered.
    assert run(ran, returned="Nobody is there.") == "ok"
    assert run(ran, ends=20) == "ok"
    assert run(ran, tool(9.005)) == "ok"
    assert run(ran, act("invoke_agent", 5, takes=4.005, span_id="b" * 16)) == "ok"
    assert run(chat(2, [HI], "Done."), ran) == "ok"


def test_an_interruption_goes_before_an_error_and_a_gap_before_both() -> None:
    paused = tool(5, error="GraphInterrupt")
    assert ended(agent(error="Boom"), paused) == ("incomplete", "interrupted")
    lost = chat(7, [HI], "Done.", inside="e" * 16)
    assert ended(agent(error="Boom"), paused, lost) == ("incomplete", "missing_parent")
    assert ended(lost) == ("incomplete", "no_root")


def test_one_ended_agent_whose_parent_is_elsewhere_is_a_root() -> None:
    lone = agent(parent_span_id="e" * 16)
    assert ended(lone, chat(1, [HI], "Done.")) == ("ok", None)
    assert ended(agent(parent_span_id="e" * 16, takes=-1)) == ("incomplete", "no_root")
    other = act("invoke_agent", 5, inside="d" * 16)
    assert ended(lone, other) == ("incomplete", "no_root")
    sibling = act("invoke_agent", 5, inside="e" * 16)
    assert ended(lone, sibling) == ("incomplete", "no_root")


def test_the_answer_is_the_last_text_of_the_last_call_that_asks_for_no_tool() -> None:
    def answer(*spans: Span) -> str | None:
        return rows(*spans).runs[0].output

    assert answer(agent(), chat(1, [HI], "One."), chat(3, [HI], "Two.")) == "Two."
    assert answer(agent(), chat(1, [HI], "One."), chat(3, [HI], "Two.", asks("search", A))) is None
    two = [said("assistant", "One."), said("assistant", "Two.")]
    assert answer(agent(), chat(1, [HI], gen_ai__output__messages=json.dumps(two))) == "Two."
    told = agent(gen_ai__output__messages=json.dumps([said("assistant", "From the root.")]))
    assert answer(told, chat(1, [HI], asks("search", A))) == "From the root."
    assert answer(told, chat(1, [HI], "From the call.")) == "From the call."
    assert answer(told, chat(1, [HI], asks("search", A), error="Boom")) is None


def test_the_input_is_the_last_user_message_of_the_root_else_of_the_first_call() -> None:
    asked = [said("user", "One?"), said("assistant", "Yes."), said("user", "Two?")]
    first = chat(1, asked, "Done.")
    assert rows(agent(), first, chat(3, [HI], "Done.")).runs[0].input == "Two?"
    told = agent(gen_ai__input__messages=json.dumps([said("user", "Three?")]))
    assert rows(told, first).runs[0].input == "Three?"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"error": "Odd", "arguments": A}, {"arguments": A}, [(1, 1, 1), (2, 2, 1)]),
        ({"arguments": A}, {"arguments": A}, []),
        ({"error": "GraphInterrupt", "arguments": A}, {"arguments": A}, []),
        ({"error": "Odd", "arguments": A}, {"arguments": {"q": "b"}}, []),
        ({"error": "Odd", "arguments": A}, {"name": "fetch", "arguments": A}, []),
        ({"error": "Odd", "arguments": A}, {"arguments": A, "gen_ai__agent__name": "pim"}, []),
        ({"error": "Odd"}, {}, []),
        ({"gen_ai__tool__call__id": "c1"}, {"gen_ai__tool__call__id": "c1"}, [(1, 1, 1), (2, 2, 1)]),
        ({"gen_ai__tool__call__id": "c1"}, {"gen_ai__tool__call__id": "c2"}, []),
        (
            {"arguments": A, "gen_ai__tool__call__id": "c1"},
            {"arguments": A, "gen_ai__tool__call__id": "c2"},
            [],
        ),
    ],
    ids=[
        "the same after an error",
        "the same after it went well",
        "the same after an interruption",
        "other arguments",
        "another tool",
        "another agent",
        "arguments not known",
        "the same id",
        "another id",
        "the same by another id",
    ],
)
def test_a_step_is_another_try(
    first: dict[str, Any], second: dict[str, Any], expected: list[tuple[int, int, int | None]]
) -> None:
    assert tries(tool(1, **first), tool(3, **second)) == expected


def test_a_request_to_a_model_with_the_same_prompt_after_an_error_is_another_try() -> None:
    failed, other = chat(1, [HI], error="Timeout"), [said("user", "Else")]
    assert tries(failed, chat(3, [HI], "Done.")) == [(1, 1, 1), (2, 2, 1)]
    assert tries(failed, chat(3, other, "Done.")) == []
    assert tries(chat(1, error="Timeout"), chat(3, error="Timeout")) == []


def test_a_try_that_goes_well_ends_the_series() -> None:
    same = [tool(at, arguments=A, error=error) for at, error in ((1, "Odd"), (3, ""), (5, "Odd"), (7, ""))]
    assert tries(*same) == [(1, 1, 1), (2, 2, 1), (3, 1, 3), (4, 2, 3)]


def test_the_program_s_own_count_begins_a_series_and_goes_on_with_one() -> None:
    def counted(at: float, number: int, **more: Any) -> Span:
        return tool(at, arguments=A, retrospan__attempt=number, **more)

    assert tries(tool(1, arguments=A, error="Odd"), counted(3, 1)) == []
    assert tries(counted(1, 1), counted(3, 2), counted(5, 4)) == [(1, 1, 1), (2, 2, 1), (3, 4, 1)]
    steps = [act("", at, retrospan__attempt=n, retrospan__step__name="load") for at, n in ((1, 1), (3, 2))]
    assert tries(*steps) == [(1, 1, 1), (2, 2, 1)]
    assert tries(*[act("", at, retrospan__step__name="load", error="Odd") for at in (1, 3)]) == []


def test_an_agent_got_over_an_error_when_it_began_another_step_after_it() -> None:
    def handled(*spans: Span) -> bool:
        return rows(agent(error="Boom"), *spans).failures[0].handled

    failed = tool(5, error="Locked", takes=2)
    assert handled(failed, tool(7))
    assert not handled(failed, tool(6.9))
    assert not handled(tool(3), failed)
    assert not handled(failed, tool(9, gen_ai__agent__name="pim"))


def test_tries_of_several_things_stand_in_the_order_of_the_steps() -> None:
    same = [
        tool(at, arguments={"q": q}, error=error)
        for at, q, error in ((1, "a", "Odd"), (3, "b", "Odd"), (5, "a", ""), (7, "b", ""))
    ]
    assert tries(*same) == [(1, 1, 1), (2, 1, 2), (3, 2, 1), (4, 2, 2)]


def test_an_empty_question_is_one() -> None:
    """Nothing that a person said is not the same as nothing that is known of it."""
    nothing = said("user", "")
    assert rows(agent(), chat(1, [nothing], "Hello")).runs[0].input == ""
    (call,) = rows(agent(), chat(1, [said("system", "Be kind."), nothing], "Hello")).model_calls
    assert call.history == "full"
    assert rows(agent(), chat(1, [], "Hello")).runs[0].input is None
    picture = said("user", {"type": "uri", "uri": "https://example.com/a.png"})
    assert rows(agent(), chat(1, [picture], "Hello")).runs[0].input is None
    asked = agent(input__value='""')
    assert rows(asked, chat(1, [nothing], "Hello")).runs[0].input == ""
