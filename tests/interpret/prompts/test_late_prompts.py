"""A prompt that holds its own answer was written down after it: it ends before that, where nothing else is possible."""

from __future__ import annotations

import json

import pytest
from made_runs import agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

HI, SNOW, RAIN = said("user", "How is Oslo?"), {"sky": "snow"}, {"sky": "rain"}
OSLO, BERGEN = asks("weather", {"city": "Oslo"}, "c1"), asks("weather", {"city": "Bergen"}, "c2")
WHOLE = [
    HI,
    said("assistant", OSLO),
    returned("c1", SNOW),
    said("assistant", BERGEN),
    returned("c2", RAIN),
    said("assistant", "Snow, and rain."),
]


def ran(at: float, city: str, call_id: str) -> Span:
    return tool(at, "weather", {"city": city}, SNOW, gen_ai__tool__call__id=call_id)


def lengths(*spans: Span) -> list[int]:
    return [len(call.input_values) for call in rows(agent(), *spans).model_calls]


def doubts(*spans: Span) -> list[str]:
    return [problem.reason for problem in rows(agent(), *spans).problems if problem.field == "input_messages"]


def test_each_ends_before_its_own_answer() -> None:
    spans = [
        chat(1, WHOLE, OSLO),
        ran(3, "Oslo", "c1"),
        chat(5, WHOLE, BERGEN),
        ran(7, "Bergen", "c2"),
        chat(9, WHOLE, "Snow, and rain."),
    ]
    assert (lengths(*spans), doubts(*spans)) == ([1, 3, 5], [])
    found = rows(agent(), *spans)
    assert [(call.asked_by, call.tool_call_id, call.status) for call in found.tool_calls] == [
        (1, "c1", "ok"),
        (2, "c2", "ok"),
    ]


def test_so_do_those_of_a_run_that_was_refused_in_the_end() -> None:
    whole = WHOLE[:3]
    assert lengths(chat(1, whole, OSLO), ran(3, "Oslo", "c1"), chat(5, whole, error="Refused")) == [1, 3]


@pytest.mark.parametrize(
    ("prompts", "answers"),
    [
        # What was asked for before, by an API that counts ids anew in each answer.
        ([WHOLE[:3], WHOLE[:3]], [asks("weather", {"city": "Bergen"}, "c1"), "Rain."]),
        # The same call again, and the prompt goes on.
        ([WHOLE[:3], [*WHOLE[:3], said("assistant", OSLO), returned("c1", SNOW)]], [OSLO, "Snow."]),
        # The same prompt sampled twice.
        ([WHOLE[:1], WHOLE[:1]], [OSLO, BERGEN]),
        # No ids.
        ([WHOLE[:3], WHOLE[:3]], [asks("weather", {"city": "Oslo"}), "Snow."]),
        # An answer that a text before it says as well.
        ([[HI, said("assistant", "Snow."), HI], WHOLE[:1]], ["Snow.", "Snow."]),
    ],
    ids=["ids counted anew", "the same call again", "sampled twice", "no ids", "said before"],
)
def test_where_it_may_be_otherwise_nothing_is_cut(prompts: list[list[object]], answers: list[object]) -> None:
    spans = [
        chat(1 + 4 * place, given, answer)  # type: ignore[arg-type]
        for place, (given, answer) in enumerate(zip(prompts, answers, strict=True))
    ]
    assert lengths(*spans) == [*map(len, prompts)]


def test_one_that_stands_alone_is_a_doubt() -> None:
    spans = [chat(1, [HI, said("assistant", "Snow.")], "Snow.")]
    assert lengths(*spans) == [2]
    assert doubts(*spans) == ["a prompt ends with its own answer: it may have been written down after it"]


def test_one_that_goes_on_from_the_same_answer_is_not_a_doubt() -> None:
    assert doubts(chat(1, [HI], "Snow."), chat(5, [HI, said("assistant", "Snow.")], "Snow.")) == []


@pytest.mark.parametrize("key", ["$value", "$values", "_value"])
def test_what_is_no_object_is_told_in_one(key: str) -> None:
    (call,) = rows(agent(), tool(1, "search", {"query": "Oslo"}, {key: [SNOW]})).tool_calls
    assert json.loads(call.result or "") == [SNOW]


def test_a_value_beside_others_stays_what_the_tool_returned() -> None:
    result = {"$value": [SNOW], "$type": "list"}
    (call,) = rows(agent(), tool(1, "search", {"query": "Oslo"}, result)).tool_calls
    assert json.loads(call.result or "") == result
