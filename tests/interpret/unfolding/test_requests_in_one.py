"""One span for all requests of a loop is told as these, and a span of one request stays one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool
from recordings.record.pure_views import views_of_rows

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

ASKED = said("user", "How are Oslo and Bergen?")
END = "Both are wet."


def loop(*answer: str | dict[str, object], **more: Any) -> Span:
    """One span from the first request to the last answer."""
    return chat(1, [ASKED], *answer, takes=20, **{"gen_ai__request__model": "m", **more})


def ran(at: float, call_id: str, city: str, **more: Any) -> Span:
    return tool(at, "weather", {"city": city}, "rain", gen_ai__tool__call__id=call_id, **more)


def told(found: Rows) -> list[tuple[list[object], int]]:
    """Names of the parts of each answer, and how many messages it was given."""
    return [
        ([part.get("name") or part["content"] for part in answer[0]["parts"]], len(given))
        for given, answer in exchanges(found)
    ]


def exchanges(found: Rows) -> list[tuple[list[Any], list[Any]]]:
    """Prompt and answer of each model call, as the views have them."""
    calls = views_of_rows([found]).model_calls
    return [(json.loads(call["input_messages"]), json.loads(call["output_messages"])) for call in calls]


def test_tools_that_ran_within_a_request_were_asked_for_by_others_before_it() -> None:
    root = agent(gen_ai__usage__input_tokens=700, gen_ai__usage__output_tokens=70)
    span = loop(END, gen_ai__usage__input_tokens=300, gen_ai__usage__output_tokens=30)
    found = rows(root, span, ran(3, "c1", "Oslo"), ran(3.5, "c2", "Bergen"), ran(8, "c3", "Oslo"))
    assert told(found) == [(["weather", "weather"], 1), (["weather"], 4), ([END], 6)]
    assert [call.request_model for call in found.model_calls] == ["m"] * 3
    assert [call.input_tokens for call in found.model_calls] == [None, None, 300]
    assert (found.runs[0].input_tokens, found.runs[0].output) == (700, END)
    assert [(call.tool_call_id, call.asked_by) for call in found.tool_calls] == [
        ("c1", 1),
        ("c2", 1),
        ("c3", 2),
    ]
    (problem,) = found.problems
    assert problem.field == "model_calls"
    assert "one span for several requests" in problem.reason


def test_a_prompt_that_retells_the_answers_of_its_loop_is_that_of_the_last_request() -> None:
    both = [asks("weather", {"city": "Oslo"}, "c1"), asks("weather", {"city": "Bergen"}, "c2")]
    first = [ASKED, said("assistant", "I look.", *both), returned("c1", "rain"), returned("c2", "rain")]
    given = [*first, said("assistant", asks("weather", {"city": "Oslo"}, "c3")), returned("c3", "rain")]
    tools = [ran(3, "c1", "Oslo"), ran(3.5, "c2", "Bergen"), ran(8, "c3", "Oslo")]
    found = rows(agent(), chat(1, given, END, takes=20, gen_ai__request__model="m"), *tools)
    assert told(found) == [(["I look.", "weather", "weather"], 1), (["weather"], 4), ([END], 6)]
    assert exchanges(found)[1][0] == first
    assert [(call.tool_call_id, call.asked_by, call.status) for call in found.tool_calls] == [
        ("c1", 1, "ok"),
        ("c2", 1, "ok"),
        ("c3", 2, "ok"),
    ]
    # What it retells of an earlier turn is not of this loop.
    earlier = [said("user", "Hi"), said("assistant", asks("weather", {}, "c0")), returned("c0", 1)]
    found = rows(agent(), chat(1, [*earlier, *given], END, takes=20), *tools)
    assert [place for _, place in told(found)] == [4, 7, 9]


def test_a_loop_that_fails_fails_in_its_last_request() -> None:
    found = rows(agent(), loop(error="APIError"), ran(3, "c1", "Oslo"))
    assert [call.status for call in found.model_calls] == ["ok", "error"]


@pytest.mark.parametrize(
    "spans",
    [
        [loop(END), ran(3, "c1", "Oslo"), chat(22, [ASKED], END)],
        [loop(asks("weather", {"city": "Oslo"}, "c1")), ran(3, "c1", "Oslo")],
        [loop(gen_ai__response__finish_reasons=["tool_calls"]), ran(3, "c1", "Oslo")],
        [loop(END), ran(0.5, "c1", "Oslo")],
        [loop(END), ran(20.5, "c1", "Oslo")],
        [loop(END), tool(3, "weather")],
        [loop(END), chat(2, [ASKED], "Hm."), ran(4, "c1", "Oslo")],
    ],
    ids=[
        "another request tells of no loop",
        "it asks itself",
        "it ended for calls",
        "begun before",
        "ended after",
        "nobody knows what was asked",
        "requests at the same time",
    ],
)
def test_one_request_stays_one(spans: list[Span]) -> None:
    found = rows(agent(), *spans)
    assert len(found.model_calls) == sum(span.attributes["gen_ai.operation.name"] == "chat" for span in spans)
    assert not any("one span for several" in problem.reason for problem in found.problems)


def test_what_a_program_keeps_of_the_turn_tells_its_texts_and_what_the_model_was_told() -> None:
    kept = {
        "role": "assistant",
        "parts": [
            {"type": "text", "text": "I look."},
            {
                "type": "tool-weather",
                "toolCallId": "c1",
                "input": {"city": "Oslo"},
                "output": {"type": "json", "value": {"said": "rain"}},
            },
            {"type": "text", "text": END},
        ],
    }
    span = act("", 19, name="memory.write", input=json.dumps({"message": kept}))
    found = rows(agent(), loop(END), ran(3, "c1", "Oslo"), span)
    assert told(found) == [(["I look.", "weather"], 1), ([END], 3)]
    assert exchanges(found)[1][0][-1]["parts"][0]["response"] == {"said": "rain"}
    assert found.problems == []
    # What is kept of other calls tells nothing of these.
    other = act("", 19, name="memory.write", input=json.dumps({"message": kept}).replace("c1", "c9"))
    assert told(rows(agent(), loop(END), ran(3, "c1", "Oslo"), other))[0] == (["weather"], 1)
