"""An answer that ended for tools and tells no call asked for what ran before the next request: or nothing is known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

HI, SNOW = said("user", "How is Oslo?"), {"sky": "snow"}
ENDED = {"gen_ai__response__finish_reasons": ["tool_calls"]}


def first(**more: Any) -> Span:
    return chat(1, [HI], **{**ENDED, "gen_ai__completion": "[]", **more})


def ran(at: float = 3, call_id: str | None = "c1", **more: Any) -> Span:
    named = {"gen_ai__tool__call__id": call_id} if call_id else {}
    return tool(at, "weather", {"city": "Oslo"}, SNOW, **named, **more)


def asked(*spans: Span) -> list[list[str]]:
    found = rows(agent(), *spans)
    return [[call.tool_call_id or "" for call in found.tool_calls if call.asked_by == 1]]


LAST = chat(5, [HI], "Snow.")


def test_it_asked_for_what_ran_before_the_next_request() -> None:
    assert asked(first(), ran(), LAST) == [["c1"]]
    assert asked(first(), ran(), ran(3.5, "c2", takes=0.5), LAST) == [["c1", "c2"]]


@pytest.mark.parametrize(
    "spans",
    [
        [first(gen_ai__response__finish_reasons=["stop"]), ran(), LAST],
        [first(), ran(call_id=None), LAST],
        [first(), ran(6), LAST],
        [first(), ran(takes=9), LAST],
        [first(takes=5), ran(2), LAST],
        [first(), ran(), ran(3.5, takes=0.5), LAST],
        [chat(1, [HI], **ENDED), ran(), LAST],
        [first(), ran(), chat(5, [HI, said("user", "So?"), returned("c0", SNOW)], "Snow.")],
    ],
    ids=[
        "ended otherwise",
        "no id",
        "ran later",
        "ran on",
        "requests at one time",
        "one id twice",
        "no answer",
        "prompts tell results",
    ],
)
def test_where_it_may_be_otherwise_nothing_is_added(spans: list[Span]) -> None:
    given = rows(agent(), *spans).model_calls[0]
    assert given.output_values == []


S, U = "You are Orla.", "How is Oslo?"


def listed(at: float, texts: list[str], answer: list[str]) -> Span:
    return act(
        "chat",
        at,
        spring__ai__kind="chat",
        gen_ai__prompt=json.dumps(texts),
        gen_ai__completion=json.dumps(answer),
    )


def speakers(*spans: Span) -> list[list[str]]:
    found = rows(agent(), *spans)
    roles = {value.number: value.role for value in found.values}
    return [[roles[number] for number in call.input_values] for call in found.model_calls]


def test_of_two_bare_texts_the_first_is_of_the_system() -> None:
    found = rows(agent(), listed(1, [S, U], ["Snow."]))
    assert (speakers(listed(1, [S, U], ["Snow."])), found.runs[0].input) == ([["user"]], U)


def test_a_text_that_was_answered_before_is_the_models() -> None:
    second = listed(5, [S, U, "I look."], ["Snow."])
    assert speakers(listed(1, [S, U], ["I look."]), second) == [["user"], ["user", "assistant"]]
    other = listed(5, [S, U, "Look!"], ["Snow."])
    assert speakers(listed(1, [S, U], ["I look."]), other) == [["user"], ["user", "unknown"]]


def test_a_text_that_stands_there_more_often_than_it_was_answered_may_be_the_users_too() -> None:
    repeated = listed(5, [S, U, "OK.", "OK."], ["Snow."])
    assert speakers(listed(1, [S, U], ["OK."]), repeated)[1] == ["user", "unknown", "unknown"]


def test_of_more_only_the_last_is_known_at_first() -> None:
    found = rows(agent(), listed(1, [S, U, "Snow.", "And Bergen?"], ["Rain."]))
    assert found.runs[0].input == "And Bergen?"
    assert [problem.field for problem in found.problems] == ["input_messages"]


@pytest.mark.parametrize(("second", "doubted"), [("{}", True), ("It is free", False)])
def test_where_no_prompt_tells_a_result_a_text_before_an_object_is_doubted(
    second: str, doubted: bool
) -> None:
    tries = [ran(), ran(7, "c2")]
    for each, result in zip(tries, ("It is locked", second), strict=True):
        each.attributes = {**each.attributes, "gen_ai.tool.call.result": result}
    again = chat(5, [HI], gen_ai__completion="[]", **ENDED)
    found = rows(agent(), first(), tries[0], again, tries[1], chat(9, [HI], "Done."))
    assert any("may be an error" in problem.reason for problem in found.problems) == doubted
