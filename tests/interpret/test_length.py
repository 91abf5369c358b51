"""Work grows with the length of a run and no faster, whatever of it is missing. Calls of functions are counted, not time."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from bench.long_run import LongRun, requests_of
from made_runs import act
from spans import read_run, spans_of_requests

from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.spans.span import Span

LENGTH = 800
#: Of two runs of which one is twice as long: more than twice, for what is bounded may not be at its bound yet.
MOST = 2.35


def _calls(spans: list[Span]) -> int:
    """How many functions are called to interpret these spans, those of C included."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        rows_of(read_run("run", spans), "default", 1, None)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "is_there",
    [
        pytest.param(lambda span: True, id="whole"),
        pytest.param(lambda span: span.span_id > "8", id="every-other-span", marks=pytest.mark.long),
        pytest.param(
            lambda span: span.attributes.get("gen_ai.operation.name") != "execute_tool",
            id="no-tools",
            marks=pytest.mark.long,
        ),
        pytest.param(lambda span: bool(span.parent_span_id), id="no-root", marks=pytest.mark.long),
        pytest.param(lambda span: not span.name.startswith("step"), id="no-steps", marks=pytest.mark.long),
    ],
)
def test_a_run_twice_as_long_takes_twice_the_work(is_there: Callable[[Span], bool]) -> None:
    once, twice = (
        _calls([*filter(is_there, spans_of_requests([*requests_of(LongRun(length, 7).spans(), 500)]))])
        for length in (LENGTH, 2 * LENGTH)
    )
    assert twice < MOST * once


#: A tool's own requests do not match an answer, so that each would be compared with all of them.
@pytest.mark.parametrize("asked", ["Oslo", "Rome"])
def test_a_history_twice_as_long_with_requests_inside_takes_twice_the_work(asked: str) -> None:
    once, twice = (_calls(_retold(rounds, asked)) for rounds in (100, 200))
    assert twice < MOST * once


def _retold(rounds: int, asked: str) -> list[Span]:
    """Return a request whose response retells rounds of calls and results, and requests inside of it."""
    question: dict[str, object] = {"role": "user", "parts": [{"text": "Where is it cold?"}]}

    def calls(city: str, number: int) -> dict[str, object]:
        call = {"name": "weather", "id": f"{city}{number}", "args": {"city": f"{city}{number}"}}
        return {"role": "model", "parts": [{"function_call": call}]}

    history: list[dict[str, object]] = [question]
    for number in range(rounds):
        result = {"function_response": {"name": "weather", "response": {"result": f"cold {number}"}}}
        history += [calls("Oslo", number), {"role": "user", "parts": [result]}]

    def answer(content: dict[str, object], **more: object) -> str:
        return json.dumps({"candidates": [{"content": content, "finish_reason": "STOP"}], **more})

    end: dict[str, object] = {"role": "model", "parts": [{"text": "There."}]}
    told: dict[str, Any] = {
        "openinference__span__kind": "LLM",
        "llm__input_messages__0__message__role": "user",
        "llm__input_messages__0__message__content": "Where is it cold?",
        "llm__model_name": "m",
    }
    outer = act(
        "", 0, takes=4 * rounds, parent_span_id="", output__value=answer(end, history=history), **told
    )
    inner = [
        act("", 1 + 2 * number, inside=outer.span_id, output__value=answer(calls(asked, number)), **told)
        for number in range(rounds)
    ]
    return [outer, *inner]
