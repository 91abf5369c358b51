"""Each provider's form: what a request asks for, and that an answer in its bytes is the recorded one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay.recorded import ANSWER, REFUSED, asks, model_call, text

from retrospan.exporter.replay.answers import Broken, Unknown, outcome_of
from retrospan.exporter.replay.wire.form import Answer, Asked, Choice, Form, Refusal
from retrospan.exporter.replay.wire.forms import FORMS, form_of, read_request, refusal_reply, reply_of
from retrospan.schemas.bundle.canonical import CanonicalRequest, canonical_request
from retrospan.schemas.bundle.form import CallError

JSON = dict[str, Any]
NAMES = [form.name for form in FORMS]
PATHS = {
    "openai chat": "/v1/chat/completions",
    "openai responses": "/v1/responses",
    "anthropic messages": "/v1/messages",
    "gemini": "/v1beta/models/gemini-2.5-flash:generateContent",
    "bedrock converse": "/model/anthropic.claude/converse",
}
#: The same question in each form: instructions, a question, a call, its result; one tool; a temperature.
ASKED: dict[str, JSON] = {
    "openai chat": {
        "model": "m",
        "temperature": 0.5,
        "messages": [
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "Oslo?"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c9",
                        "type": "function",
                        "function": {"name": "get", "arguments": '{"city": "Oslo"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c9", "content": '{"t": -3.0}'},
        ],
        "tools": [{"type": "function", "function": {"name": "get", "description": "Get.", "parameters": {}}}],
    },
    "openai responses": {
        "model": "m",
        "temperature": 0.5,
        "instructions": "Be kind.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Oslo?"}]},
            {"type": "function_call", "call_id": "c9", "name": "get", "arguments": '{"city":"Oslo"}'},
            {"type": "function_call_output", "call_id": "c9", "output": '{"t": -3}'},
        ],
        "tools": [{"type": "function", "name": "get", "description": "Get.", "parameters": {}}],
    },
    "anthropic messages": {
        "model": "m",
        "temperature": 0.5,
        "system": [{"type": "text", "text": "Be kind."}],
        "messages": [
            {"role": "user", "content": "Oslo?"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c9", "name": "get", "input": {"city": "Oslo"}}],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c9",
                        "content": [{"type": "text", "text": '{"t": -3}'}],
                    }
                ],
            },
        ],
        "tools": [{"name": "get", "description": "Get.", "input_schema": {}}],
    },
    "gemini": {
        "generationConfig": {"temperature": 0.5},
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Oslo?"}]},
            {
                "role": "model",
                "parts": [{"functionCall": {"id": "c9", "name": "get", "args": {"city": "Oslo"}}}],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "c9", "name": "get", "response": {"t": -3}}}],
            },
        ],
        "tools": [{"functionDeclarations": [{"name": "get", "description": "Get.", "parameters": {}}]}],
    },
    "bedrock converse": {
        "inferenceConfig": {"temperature": 0.5},
        "system": [{"text": "Be kind."}],
        "messages": [
            {"role": "user", "content": [{"text": "Oslo?"}]},
            {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "c9", "name": "get", "input": {"city": "Oslo"}}}],
            },
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "c9", "content": [{"json": {"t": -3}}]}}],
            },
        ],
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "get", "description": "Get.", "inputSchema": {"json": {}}}}]
        },
    },
}


def form_named(name: str) -> Form:
    return next(form for form in FORMS if form.name == name)


def read(name: str, body: JSON, path: str | None = None) -> Asked:
    found = read_request(form_named(name), path or PATHS[name], json.dumps(body).encode())
    assert found is not None
    return found


def canonical(asked: Asked) -> CanonicalRequest:
    return canonical_request(
        parameters=asked.parameters,
        system=[{"role": "system", "parts": asked.system}],
        messages=asked.messages,
        tools=asked.tools,
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_same_question_is_the_same_request_in_each_form(name: str) -> None:
    assert form_of("any.host", PATHS[name]) is form_named(name)
    assert canonical(read(name, ASKED[name])) == canonical(read("openai chat", ASKED["openai chat"]))


def test_an_address_of_no_form_is_nobodys() -> None:
    assert form_of("api.openai.com", "/v1/embeddings") is None
    assert read_request(form_named("openai chat"), "/", b"[1]") is None
    assert read_request(form_named("openai chat"), "/", b"\xff{") is None


def back_in_chat(body: JSON) -> JSON:
    return {"messages": [choice["message"] for choice in body["choices"]]}


#: How a client puts an answer into its next request.
BACK: dict[str, Callable[[JSON], JSON]] = {
    "openai chat": back_in_chat,
    "openai responses": lambda body: {"input": body["output"]},
    "anthropic messages": lambda body: {"messages": [{"role": "assistant", "content": body["content"]}]},
    "gemini": lambda body: {"contents": [candidate["content"] for candidate in body["candidates"]]},
    "bedrock converse": lambda body: {"messages": [body["output"]["message"]]},
}
TEXTS = st.text(min_size=1, max_size=120).filter(lambda text: text.strip())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
PARTS = st.lists(
    TEXTS.map(lambda content: {"type": "text", "content": content})
    | st.builds(
        lambda number, arguments: {
            "type": "tool_call",
            "id": f"call_{number}",
            "name": "get",
            "arguments": arguments,
        },
        st.integers(0, 99),
        st.dictionaries(st.text(max_size=8), VALUES, max_size=3),
    ),
    min_size=1,
    max_size=4,
)


def texts_first(parts: list[JSON]) -> list[JSON]:
    """Chat completions have one text before all calls."""
    return sorted(parts, key=lambda part: part["type"] != "text")


@pytest.mark.parametrize("name", NAMES)
@given(parts=PARTS)
def test_an_answer_is_read_back_as_it_was_recorded(name: str, parts: list[JSON]) -> None:
    recorded = texts_first(parts) if name == "openai chat" else parts
    asked = read(name, ASKED[name])
    answer = Answer("id", "m", 1, (Choice(tuple(recorded), None),), {})
    body = json.loads(reply_of(form_named(name), answer, asked).body)
    again = canonical_request(messages=read(name, BACK[name](body)).messages)
    if name == "openai chat":
        # One text, in which nothing is between what were two.
        texts = "".join(part["content"] for part in recorded if part["type"] == "text")
        kept = [part for part in recorded if part["type"] != "text"]
        recorded = [*([{"type": "text", "content": texts}] if texts else []), *kept]
    assert again == canonical_request(messages=[{"role": "assistant", "parts": recorded}])


def events(body: bytes) -> list[JSON]:
    lines = [line[6:] for line in body.decode().split("\n") if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def joined(name: str, body: bytes) -> tuple[str, str]:
    """The text and the arguments in a stream, put together as clients do it."""
    said = arguments = ""
    for event in events(body):
        if name == "openai chat":
            for choice in event["choices"]:
                said += choice["delta"].get("content") or ""
                for call in choice["delta"].get("tool_calls", ()):
                    arguments += call["function"]["arguments"]
        elif name == "openai responses":
            said += event["delta"] if event["type"] == "response.output_text.delta" else ""
            arguments += event["delta"] if event["type"].endswith("arguments.delta") else ""
        elif name == "anthropic messages":
            said += event.get("delta", {}).get("text", "")
            arguments += event.get("delta", {}).get("partial_json", "")
        else:
            for part in event["candidates"][0]["content"]["parts"]:
                said += part.get("text", "")
                arguments += json.dumps(part["functionCall"]["args"]) if "functionCall" in part else ""
    return said, arguments


@pytest.mark.parametrize("name", [name for name in NAMES if name != "bedrock converse"])
def test_a_stream_says_what_the_whole_answer_says(name: str) -> None:
    path = PATHS[name].replace(":generate", ":streamGenerate")
    asked = read(name, {**ASKED[name], "stream": True}, path)
    assert asked.streamed
    long = ANSWER * 20
    call = asks("call_1", "get", city="Tromsø", names=["æ"] * 40)["parts"][0]
    answer = Answer("id", "m", 1, (Choice(({"type": "text", "content": long}, call), None),), {})
    reply = reply_of(form_named(name), answer, asked)
    said, arguments = joined(name, reply.body)
    assert (said, json.loads(arguments)) == (long, call["arguments"])
    assert reply.content_type.startswith("text/event-stream")
    assert len(reply.chunks) >= 2


def test_the_events_of_bedrock_have_right_lengths_and_sums() -> None:
    from binascii import crc32

    asked = read("bedrock converse", ASKED["bedrock converse"], "/model/m/converse-stream")
    answer = Answer("id", "m", 1, (Choice(({"type": "text", "content": ANSWER},), None),), {})
    data = reply_of(form_named("bedrock converse"), answer, asked).body
    said = ""
    while data:
        length, headers = int.from_bytes(data[:4]), int.from_bytes(data[4:8])
        message, data = data[:length], data[length:]
        assert int.from_bytes(message[8:12]) == crc32(message[:8])
        assert int.from_bytes(message[-4:]) == crc32(message[:-4])
        said += json.loads(message[12 + headers : -4]).get("delta", {}).get("text", "")
    assert said == ANSWER


@pytest.mark.parametrize("name", NAMES)
def test_what_a_form_does_not_know_is_given_back_as_it_was_recorded(name: str) -> None:
    odd = {"type": "hologram", "depth": [1, None, "☃"]}
    answer = Answer("id", "m", 1, (Choice((odd,), None),), {})
    body = reply_of(form_named(name), answer, read(name, ASKED[name])).body.decode()
    assert '"depth": [1, null, "☃"]' in body


def outcome(error: CallError | None, answer: JSON | None = None) -> object:
    call = model_call(1, [text("user", "hi")], answer, error=error)
    return outcome_of(call, read("openai chat", ASKED["openai chat"]))


def test_an_error_comes_back_with_its_status_and_body() -> None:
    found = outcome(REFUSED)
    assert isinstance(found, Refusal)
    assert (found.status, found.body) == (
        400,
        {"error": {"message": "too long", "code": "context_length_exceeded"}},
    )
    reply = refusal_reply(form_named("openai chat"), found)
    assert (reply.status, json.loads(reply.body)) == (400, found.body)
    assert ("x-should-retry", "false") in reply.headers


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (CallError(type="429", message="slow down"), 429),
        (CallError(type="anthropic.RateLimitError", message="slow down"), 429),
        (CallError(type="ClientError", message="400 INVALID_ARGUMENT. {'error': {'code': 400}}"), 400),
        (CallError(type="ThrottlingException", message=None), 429),
        (CallError(type="X", message="Server said: status code 503"), 503),
        (CallError(type="X", message="no", status_code=418), 418),
    ],
)
def test_the_status_of_an_error_is_found_where_it_is_told(error: CallError, status: int) -> None:
    found = outcome(error)
    assert isinstance(found, Refusal)
    assert found.status == status


def test_what_no_status_is_known_of_is_not_made_up() -> None:
    assert isinstance(outcome(CallError(type="ValueError", message="400 reasons")), Unknown)
    found = outcome(CallError(type="ValueError", message="the agent has a bug"))
    assert isinstance(found, Unknown)
    assert "HTTP status" in found.reason
    assert outcome(CallError(type="APITimeoutError", message="Request timed out.")) == Broken(
        "timeout", "Request timed out."
    )
    assert isinstance(outcome(None), Unknown)


@pytest.mark.parametrize("body", ["{" * 5000, "{'a': " + "[" * 3000, "{1: 2}", "{'a': {1, 2}}", "{}{"])
def test_a_hostile_message_of_an_error_is_only_a_message(body: str) -> None:
    found = outcome(CallError(type="BadRequestError", message=f"Error code: 400 - {body}"))
    assert isinstance(found, Refusal)
    json.loads(refusal_reply(form_named("openai chat"), found).body)
