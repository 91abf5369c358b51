"""A request to a model and its response, whole in two values of a span that does not say what it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, chat, rows, said

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

ARGUMENTS = json.dumps({"city": "Oslo"})
FUNCTION = {"name": "get_weather", "arguments": ARGUMENTS}
CHAT = (
    {"model": "m", "messages": [{"role": "user", "content": "Weather?"}]},
    {
        "id": "r1",
        "model": "m-2",
        "choices": [{"message": {"role": "assistant", "tool_calls": [{"id": "c1", "function": FUNCTION}]}}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    },
)
MESSAGES = (
    CHAT[0],
    {
        "id": "r1",
        "model": "m-2",
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Oslo"}}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 7, "output_tokens": 3},
    },
)
RESPONSES = (
    {"model": "m", "input": "Weather?"},
    {
        "id": "r1",
        "object": "response",
        "model": "m-2",
        "output": [{"type": "function_call", "call_id": "c1", **FUNCTION}],
        "usage": {"input_tokens": 7, "output_tokens": 3},
    },
)
GEMINI = (
    {"model": "m", "contents": [{"role": "user", "parts": [{"text": "Weather?"}]}]},
    {
        "responseId": "r1",
        "modelVersion": "m-2",
        "candidates": [
            {"content": {"parts": [{"functionCall": {"id": "c1", "name": "get_weather", "args": {"city": "Oslo"}}}]}}
        ],
        "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3},
    },
)  # fmt: skip
CONVERSE = (
    {"model": "m", "messages": [{"role": "user", "content": [{"text": "Weather?"}]}]},
    {
        "model": "m-2",
        "output": {
            "message": {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "c1", "name": "get_weather", "input": {"city": "Oslo"}}}],
            }
        },
        "stopReason": "tool_use",
        "usage": {"inputTokens": 7, "outputTokens": 3},
    },
)  # fmt: skip


def exchange(request: object, response: object, at: float = 1, **more: Any) -> Span:
    """Return a span of unknown kind with two values."""
    given, returned = (
        value if isinstance(value, str) else json.dumps(value) for value in (request, response)
    )
    return act("", at, http__request__body=given, http__response__body=returned, **more)


def messages(found: Rows) -> list[Any]:
    texts = {value.number: json.loads(value.json) for value in found.values if value.kind == "message"}
    return [
        texts[number] for call in found.model_calls for number in (*call.input_values, *call.output_values)
    ]


@pytest.mark.parametrize(
    ("request_", "response"),
    [CHAT, MESSAGES, RESPONSES, GEMINI, CONVERSE, (str(CHAT[0]), str(CHAT[1]))],
    ids=["chat", "messages", "responses", "gemini", "converse", "printed by Python"],
)
def test_a_request_and_its_response_are_a_model_call(request_: object, response: object) -> None:
    found = rows(agent(), exchange(request_, response))
    (call,) = found.model_calls
    assert (call.request_model, call.response_model) == ("m", "m-2")
    assert (call.input_tokens, call.output_tokens) == (7, 3)
    assert messages(found) == [
        said("user", "Weather?"),
        said("assistant", {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        (CHAT[0], {"messages": CHAT[0]["messages"]}),
        ({"messages": ["Weather?"]}, CHAT[1]),
        ({"question": "Weather?"}, CHAT[1]),
        (CHAT[0], {"choices": ["yes", "no"]}),
        (CHAT[0], {"choices": []}),
        (CHAT[0], {"role": "assistant", "content": "The choices are: yes, no"}),
        (json.dumps(CHAT[0]) + ".", CHAT[1]),
        (CHAT[0], "Here: " + json.dumps(CHAT[1])),
    ],
    ids=["a state", "texts", "a form", "a poll", "nothing", "an answer", "cut", "a quotation"],
)
def test_what_only_looks_like_one_is_none(request_: object, response: object) -> None:
    assert rows(agent(), exchange(request_, response)).model_calls == []


def test_a_function_around_a_model_call_is_none_though_it_passes_both_on() -> None:
    around = exchange(*CHAT, takes=5)
    inner = chat(2, [said("user", "Weather?")], "Snow.", inside=around.span_id)
    assert [call.span_id for call in rows(agent(), around, inner).model_calls] == [inner.span_id]
    # Beneath a model call it is the same request.
    above = chat(1, [said("user", "Weather?")], takes=5)
    found = rows(agent(), above, exchange(*CHAT, at=2, inside=above.span_id))
    assert [(call.span_id, call.response_model) for call in found.model_calls] == [(above.span_id, "m-2")]
    assert [call.tool_call_id for call in found.tool_calls] == ["c1"]
