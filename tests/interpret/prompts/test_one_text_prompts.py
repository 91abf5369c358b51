"""A prompt that is one text is taken apart where it retells, letter by letter, an answer and what tools returned."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, rows, tool

from retrospan.ingest.interpret.spans.span import Span

U = "How is Oslo?"
SNOW = '{ "sky": "snow" }'


def asked(at: float, text: str, answer: str = "", ended: str = "TOOL_EXECUTION") -> Span:
    said: dict[str, Any] = {"gen_ai__completion": answer} if answer else {}
    return act(
        "chat",
        at,
        gen_ai__agent__name="orla",
        gen_ai__prompt=text,
        gen_ai__response__finish_reasons=ended,
        gen_ai__usage__output_tokens=5,
        **said,
    )


def ran(at: float = 3, result: str = SNOW, call_id: str = "c1", takes: float = 1) -> Span:
    named: dict[str, Any] = {"gen_ai__tool__call__id": call_id} if call_id else {}
    return tool(
        at,
        "weather",
        {"city": "Oslo"},
        takes=takes,
        gen_ai__tool__call__result=result,
        **named,
    )


def prompts(*spans: Span) -> list[list[tuple[str, str]]]:
    """Return who says what in each prompt: the kind of its first part."""
    found = rows(agent(), *spans)
    told = {value.number: (value.role, json.loads(value.json)) for value in found.values if value.json}
    return [
        [(told[number][0], told[number][1]["parts"][0]["type"]) for number in call.input_values]
        for call in found.model_calls
    ]


CALL, RESULT = ("assistant", "tool_call"), ("tool", "tool_call_response")


@pytest.mark.parametrize("nothing", ["null", "None", "undefined", ""])
def test_an_answer_without_a_text_asked_for_what_ran(nothing: str) -> None:
    spans = [asked(1, U), ran(), asked(5, f"{U}\n{nothing}\n{SNOW}", "Snow.", "STOP")]
    assert prompts(*spans) == [[("user", "text")], [("user", "text"), CALL, RESULT]]
    found = rows(agent(), *spans)
    assert [(call.asked_by, call.tool_call_id, call.result) for call in found.tool_calls] == [
        (1, "c1", '{"sky":"snow"}')
    ]
    assert (found.runs[0].input, found.runs[0].output, found.problems) == (U, "Snow.", [])


def test_so_did_one_with_a_text_and_results_stand_in_the_order_of_their_calls() -> None:
    later = f"{U}\nI look.\n{SNOW}\n[ ]"
    spans = [asked(1, U, "I look."), ran(), ran(4, "[ ]", "c2", takes=0.5), asked(5, later, "Snow.", "STOP")]
    assert prompts(*spans)[1] == [("user", "text"), ("assistant", "text"), RESULT, RESULT]


def test_of_several_lines_before_it_nobody_knows_who_said_them() -> None:
    first = f"You are Orla.\n{U}"
    spans = [asked(1, first), ran(), asked(5, f"{first}\nnull\n{SNOW}", "Snow.", "STOP")]
    found = rows(agent(), *spans)
    assert prompts(*spans)[1] == [("unknown", "text"), CALL, RESULT]
    assert found.runs[0].input is None
    assert [problem.field for problem in found.problems] == ["input_messages"]


@pytest.mark.parametrize(
    "spans",
    [
        [asked(1, U), ran(), asked(5, f"{U}\nAction: weather\nObservation: {SNOW}", "Snow.")],
        [asked(1, U), ran(), asked(5, f"{U}\nnull\n{SNOW}\nSo?", "Snow.")],
        [asked(1, U), ran(), asked(5, f"{U}\nnull\n[ ]", "Snow.")],
        [asked(1, U), ran(), asked(5, f"{U} null {SNOW}", "Snow.")],
        [asked(1, U), ran(call_id=""), asked(5, f"{U}\nnull\n{SNOW}", "Snow.")],
        [asked(1, U), asked(5, f"{U}\nnull\n{SNOW}", "Snow.")],
        [asked(1, U), ran(takes=9), asked(5, f"{U}\nnull\n{SNOW}", "Snow.")],
        [asked(1, U, "I look."), ran(), asked(5, f"{U}\nI looked.\n{SNOW}", "Snow.")],
    ],
    ids=[
        "a protocol of its own",
        "more is said",
        "another result",
        "no lines",
        "no id",
        "nothing ran",
        "ran on",
        "another answer",
    ],
)
def test_where_a_letter_differs_it_stays_one_text(spans: list[Span]) -> None:
    assert prompts(*spans)[1] == [("user", "text")]
