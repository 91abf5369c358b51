"""A request that failed, and of which only the error tells what was said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent
from spans import read_run

from retrospan.ingest.interpret.run import InterpretedRun
from retrospan.ingest.interpret.spans.span import Event, Span

BODY = {
    "model": "m-1",
    "messages": [{"role": "system", "content": "Help."}, {"role": "user", "content": "Rain?"}],
}


def failing(said: str, operation: str = "chat", **more: Any) -> Span:
    span = act(operation, 1, error="BadRequest", gen_ai__request__model="m-1", **more)
    span.events = [
        Event(
            name="exception",
            time_ns=span.started_at,
            attributes={"exception.type": "BadRequest", "exception.stacktrace": said},
        )
    ]
    return span


def asked(run: InterpretedRun) -> list[object]:
    return [[message["parts"][0].get("content") for message in call.input] for call in run.calls.models]


@pytest.mark.parametrize(
    "said",
    [
        f"HTTP 400\nRequest Body: {json.dumps(BODY, indent=2)}\nat fetch (ai.js:3:5)",
        f'{{broken}} {{"a": 1}} {json.dumps(BODY)} {{',
        json.dumps({"messages": BODY["messages"]}),
    ],
)
def test_what_was_asked_is_read_from_the_error_of_a_request(said: str) -> None:
    run = read_run("ab" * 16, [agent(), failing(said)])
    assert asked(run) == [["Rain?"]]
    assert run.input == "Rain?"


@pytest.mark.parametrize(
    "said",
    [
        json.dumps({**BODY, "model": "another"}),
        json.dumps(BODY)[:-3],
        '{"messages": [' + '{"a": ' * 100_000,
        '{"messages": ["a", 1]}',
        "messages: none",
    ],
)
def test_what_is_no_request_of_this_model_tells_nothing(said: str) -> None:
    assert asked(read_run("ab" * 16, [agent(), failing(said)])) == [[]]


def test_what_the_request_says_itself_is_not_replaced() -> None:
    own = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Snow?"}]}])
    run = read_run("ab" * 16, [agent(), failing(json.dumps(BODY), gen_ai__input__messages=own)])
    assert asked(run) == [["Snow?"]]


def test_a_tool_that_fails_with_a_request_in_its_error_makes_none() -> None:
    run = read_run("ab" * 16, [agent(), failing(json.dumps(BODY), "execute_tool", gen_ai__tool__name="ask")])
    assert asked(run) == []
