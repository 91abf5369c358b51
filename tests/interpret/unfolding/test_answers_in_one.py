"""One span whose answer holds results of tools is told as the requests that it is of; what it counts is of all of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from made_runs import RUN, act, agent, asks, chat, returned, rows, said, tool
from recordings.record.pure_views import views_of_rows
from scenes import PRICES
from spans import read_run

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.spans.span import Event, Span

ASKED = said("user", "How are Oslo and Bergen?")
BOTH = said(
    "assistant", "I look.", asks("weather", {"city": "Oslo"}, "c1"), asks("weather", {"city": "Bergen"}, "c2")
)
AGAIN = said("assistant", asks("weather", {"city": "Oslo"}, "c3"))
END = said("assistant", "Both are wet.")
WHOLE = [BOTH, returned("c1", "rain"), returned("c2", "rain"), AGAIN, returned("c3", "hail"), END]


def loop(*answers: dict[str, object], at: float = 1, **more: Any) -> Span:
    """A span around requests and executions, with all that they came to as its answer."""
    counted = {"gen_ai__usage__input_tokens": 300, "gen_ai__usage__output_tokens": 30}
    told = {"gen_ai__output__messages": json.dumps(answers), "gen_ai__request__model": "gpt-4o"}
    return act(
        "chat", at, **{"takes": 20, "gen_ai__input__messages": json.dumps([ASKED]), **told, **counted, **more}
    )


def exchanges(found: Rows) -> list[tuple[list[Any], list[Any]]]:
    """Prompt and answer of each model call, as the views have them."""
    calls = views_of_rows([found]).model_calls
    return [(json.loads(call["input_messages"]), json.loads(call["output_messages"])) for call in calls]


def cost_of(*spans: Span) -> str | None:
    """What a run costs."""
    return rows_of(read_run(RUN, [agent(), *spans]), "default", 1, None, PRICES).runs[0].cost


def test_each_answer_is_that_of_a_request_which_was_given_what_stands_before_it() -> None:
    ran = [tool(3, "weather", {"city": "Oslo"}, "rain", gen_ai__tool__call__id="c1")]
    more: dict[str, Any] = {
        "gen_ai__response__model": "gpt-4o-1",
        "gen_ai__response__id": "r",
        "gen_ai__provider__name": "openai",
    }
    found = rows(loop(*WHOLE, span_id=f"{1:016x}", parent_span_id="", **more), *ran)
    assert exchanges(found) == [
        ([ASKED], [BOTH]),
        ([ASKED, *WHOLE[:3]], [AGAIN]),
        ([ASKED, *WHOLE[:5]], [END]),
    ]
    assert [call.response_model for call in found.model_calls] == [None, None, "gpt-4o-1"]
    assert sorted((str(call.tool_call_id), call.asked_by, call.status) for call in found.tool_calls) == [
        ("c1", 1, "ok"),
        ("c2", 1, "ok"),
        ("c3", 2, "ok"),
    ]
    assert [
        (step.step_kind, step.started_at // 10**9)
        for step in found.steps
        if step.tool_call or step.model_call
    ][:3] == [("model", 1_001), ("tool", 1_003), ("model", 1_004)]
    run = found.runs[0]
    assert (run.input, run.output, run.outcome) == ("How are Oslo and Bergen?", "Both are wet.", "ok")


def test_what_the_span_counts_is_counted_once_and_of_no_request_alone() -> None:
    found = rows(agent(), loop(*WHOLE, gen_ai__agent__name="orla"))
    assert [call.input_tokens for call in found.model_calls] == [None, None, None]
    assert (found.runs[0].input_tokens, found.runs[0].output_tokens) == (300, 30)
    assert [(each.input_tokens, each.model_calls) for each in found.agents] == [(300, 3)]
    assert any("what it counts is not known of each" in problem.reason for problem in found.problems)
    priced: dict[str, Any] = {
        "gen_ai__request__model": "gpt-4o-mini-2024",
        "gen_ai__provider__name": "openai",
    }
    one = chat(1, [ASKED], "Wet.", **priced, **_counts(300, 30))
    assert cost_of(loop(*WHOLE, **priced)) == cost_of(one) is not None
    # What a request beside it counts is added.
    both = rows(agent(), loop(*WHOLE), chat(30, [said("user", "A title?")], "Weather", **_counts(7, 2)))
    assert (both.runs[0].input_tokens, both.runs[0].output_tokens) == (307, 32)
    assert len(both.model_calls) == 4


def test_a_loop_that_failed_failed_in_its_last_request() -> None:
    found = rows(agent(), loop(*WHOLE[:5], said("assistant", "I"), error="TimeoutError"))
    assert [call.status for call in found.model_calls] == ["ok", "ok", "error"]


@pytest.mark.parametrize(
    "spans",
    [
        [loop(BOTH, returned("c9", "rain"), END)],
        [loop(returned("c1", "rain"), END)],
        [loop(BOTH, said("user", "And?"), END)],
        [loop(AGAIN, said("assistant", {"type": "tool_call_response", "id": "c3", "response": "hail"}), END)],
        [loop(AGAIN, END)],
    ],
    ids=[
        "of a call nobody asked for",
        "no call before it",
        "a user in between",
        "by the model's own side",
        "no result",
    ],
)
def test_an_answer_without_results_of_its_own_calls_is_one(spans: list[Span]) -> None:
    assert len(rows(agent(), *spans).model_calls) == 1


def test_requests_with_spans_of_their_own_are_not_told_again() -> None:
    outer = loop(*WHOLE, span_id=f"{9:016x}")
    inner = [
        chat(at, given, *answer["parts"], inside=outer.span_id, **_counts(100, 10))  # type: ignore[misc]
        for at, given, answer in (
            (2, [ASKED], BOTH),
            (6, [ASKED, *WHOLE[:3]], AGAIN),
            (9, [ASKED, *WHOLE[:5]], END),
        )
    ]
    found = rows(agent(), outer, *inner)
    assert [call.input_tokens for call in found.model_calls] == [100, 100, 100]
    assert found.runs[0].input_tokens == 300


def of_thread(*said: tuple[str, object], **more: Any) -> Span:
    """A request to an API that keeps the thread: what came of it, in an event for each message."""
    span = act("process_thread_run", 1, takes=20, parent_span_id="", gen_ai__request__model="m", **more)
    events = [
        Event(name=name, time_ns=span.started_at + n, attributes={"gen_ai.event.content": json.dumps(body)})
        for n, (name, body) in enumerate(said)
    ]
    return replace(span, events=events)


CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}
ASKING = ("gen_ai.assistant.message", {"tool_calls": [CALL]})
RESULT = ("gen_ai.tool.message", {"content": "rain", "id": "c1"})
ANSWER = ("gen_ai.assistant.message", {"content": {"text": {"value": "It rains."}}, "role": "assistant"})


def test_events_that_tell_answers_and_results_alone_are_not_the_prompt() -> None:
    found = rows(of_thread(ASKING, RESULT, ANSWER, **_counts(30, 3)))
    calls = views_of_rows([found]).model_calls
    assert [call["input_messages"] for call in calls] == [None, None]
    assert json.loads(calls[1]["output_messages"]) == [said("assistant", "It rains.")]
    assert [(call.tool_call_id, call.asked_by, call.status) for call in found.tool_calls] == [("c1", 1, "ok")]
    assert (found.runs[0].input, found.runs[0].output) == (None, "It rains.")
    assert found.runs[0].input_tokens == 30


@pytest.mark.parametrize(
    ("events", "given"),
    [
        ([("gen_ai.user.message", {"content": "Rain?"}), ANSWER], 2),
        ([ASKING, RESULT], 2),
        ([RESULT, ANSWER], 2),
        ([ASKING, RESULT, ANSWER, ("gen_ai.choice", {"index": 0, "message": {"content": "Yes."}})], 3),
    ],
    ids=["somebody asked", "nothing came of it", "it goes on with a result", "an answer of its own"],
)
def test_events_of_a_prompt_are_its_own(events: list[tuple[str, object]], given: int) -> None:
    (call,) = views_of_rows([rows(of_thread(*events))]).model_calls
    assert len(json.loads(call["input_messages"])) == given


def _counts(given: int, made: int) -> dict[str, int]:
    return {"gen_ai__usage__input_tokens": given, "gen_ai__usage__output_tokens": made}


def test_calls_whose_tokens_only_the_agent_counts_are_not_listed_as_unknown() -> None:
    """What the agent counts is the cost of them all; a call outside of it is still unknown."""
    whole = agent(
        gen_ai__usage__input_tokens=1_000,
        gen_ai__usage__output_tokens=100,
        gen_ai__request__model="gpt-4o",
        gen_ai__provider__name="openai",
    )
    inside = [chat(1, [ASKED], "I look."), chat(3, [ASKED], "Both are wet.")]

    def costs(*spans: Span) -> tuple[list[int], set[str | None], str | None]:
        found = rows_of(read_run(RUN, spans), "default", 1, None, PRICES)
        called = [row.model_call for row in found.costs]
        return called, {call.cost_unknown for call in found.model_calls}, found.runs[0].cost

    called, why, cost = costs(whole, *inside)
    assert (called, cost) == ([0, 0], costs(whole)[2])
    assert why == {"its tokens are counted above it, with those of all calls there"}
    outside = chat(5, [ASKED], "Yes.", parent_span_id="")
    assert costs(whole, *inside, outside)[0] == [3, 0, 0]
    assert costs(agent(), *inside)[:2] == ([1, 2], {"its tokens are not known"})
