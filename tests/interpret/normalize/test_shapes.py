"""What a model was asked and what it answered, known by the shape of a value under a name that says nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_spans import make_span

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.run import read_spans
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.vocabulary import OPENTELEMETRY

USER = {"role": "user", "content": "Where is my parcel?"}
MODEL = {"role": "assistant", "content": "In Oslo."}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
LANGCHAIN = {"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], "kwargs": {"content": "Hi"}}


def read(**attributes: object) -> NormalizedSpan:
    """Read a model call that says so, and nothing else, by the general rules."""
    attributes = {key.replace("__", "."): value for key, value in attributes.items()}
    span = make_span({"gen_ai.operation.name": "chat"} | attributes)
    (found,) = read_spans([span], ParseIssues(), OPENTELEMETRY, ())
    return found


def texts(messages: list[Any]) -> list[tuple[str, object]]:
    return [(message["role"], part.get("content")) for message in messages for part in message["parts"]]


@pytest.mark.parametrize(
    "asked",
    [
        [USER],
        {"messages": [USER]},
        {"model": "m", "messages": [USER], "temperature": 0.2},
        {"messages": [[LANGCHAIN | {"kwargs": {"content": USER["content"]}}]]},
        {"messages": ["ChatMessage(role=<MessageRole.USER: 'user'>, content='Where is my parcel?')"]},
        {"contents": [{"role": "user", "parts": [{"text": USER["content"]}]}]},
        {"messages": [{"type": "human", "content": USER["content"]}]},
    ],
)
def test_a_request_is_known_by_its_shape(asked: object) -> None:
    assert texts(read(f8=json.dumps(asked)).input) == [("user", "Where is my parcel?")]


@pytest.mark.parametrize(
    "answer",
    [
        MODEL,
        [MODEL],
        {"message": MODEL},
        {"choices": [{"message": MODEL}]},
        {"generations": [[{"message": MODEL}]]},
        {"replies": [MODEL]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "In Oslo."}]}}]},
        {"object": "response", "output": [{"type": "message", **MODEL}]},
    ],
)
def test_a_response_is_known_by_its_shape(answer: object) -> None:
    assert texts(read(f8=json.dumps([USER]), f9=json.dumps(answer)).output) == [("assistant", "In Oslo.")]


def test_items_of_the_responses_api_are_messages() -> None:
    items = [
        USER,
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "Oslo"},
    ]
    assert [message["role"] for message in read(f8=json.dumps(items)).input] == ["user", "assistant", "tool"]


@pytest.mark.parametrize(
    "value",
    [
        "Where is my parcel?",
        {"role": "admin", "name": "Ada"},
        [{"role": "admin"}],
        ["user", "assistant"],
        {"messages": ["one", "two"]},
        {"messages": 7},
        {"choices": []},
        {"choices": ["a", "b"]},
        [],
        {},
        [1, 2],
        "{'role': 'assistant', 'content'",
    ],
)
def test_what_only_looks_like_messages_is_left_alone(value: object) -> None:
    found = read(f8=value if isinstance(value, str) else json.dumps(value))
    assert (found.input, found.output) == ([], [])


def test_an_answer_among_what_was_given_is_not_the_answer() -> None:
    """A request may be no more than the model's last message and the result of the tool it called."""
    given = [
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "Oslo"},
    ]
    found = read(f8=json.dumps(given))
    assert [message["role"] for message in found.input] == ["assistant", "tool"]
    assert found.output == []


@pytest.mark.parametrize("name", ["acme.prompt", "acme.input.last", "acme.history", "acme.request_body"])
def test_a_name_of_what_was_given_holds_no_answer(name: str) -> None:
    assert read(**{name: json.dumps(MODEL)}).output == []


@pytest.mark.parametrize("name", ["acme.completion", "acme.output.all", "acme.response_body", "acme.answer"])
def test_a_name_of_what_was_answered_holds_no_request(name: str) -> None:
    assert read(**{name: json.dumps([USER, MODEL])}).input == []


def test_an_attribute_of_the_conventions_means_what_it_is_called() -> None:
    assert read(gen_ai__tool__call__result=json.dumps([MODEL])).output == []
    assert read(gen_ai__tool__call__arguments=json.dumps([USER])).input == []


def test_a_tool_that_returns_a_transcript_was_not_asked_it() -> None:
    span = make_span({"gen_ai.operation.name": "execute_tool", "f8": json.dumps([USER, MODEL])})
    (found,) = read_spans([span], ParseIssues(), OPENTELEMETRY, ())
    assert (found.input, found.output, found.has_arguments) == ([], [], False)


def test_what_returns_a_request_only_prepares_it() -> None:
    found = read(
        acme__input=json.dumps({"question": "Where?"}), acme__output=json.dumps({"messages": [USER]})
    )
    assert found.operation == "other"


def test_a_request_beside_its_response_is_one_exchange() -> None:
    both = {"x.messages": json.dumps([USER]), "x.choices": json.dumps([{"message": MODEL}])}
    found = read(**both)
    assert (texts(found.input), texts(found.output)) == (
        [("user", "Where is my parcel?")],
        [("assistant", "In Oslo.")],
    )


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("acme.usage.prompt_tokens", "input"),
        ("inputTokens", "input"),
        ("x.token_count.prompt", "input"),
        ("acme.usage.completion_tokens", "output"),
        ("outputTokens", "output"),
        ("x.token_count.completion", "output"),
    ],
)
def test_counts_of_tokens_are_known_by_their_words(name: str, side: str) -> None:
    tokens = read(**{name: 7}).tokens
    assert getattr(tokens, side) == 7
    assert {tokens.input, tokens.output} == {7, None}


@pytest.mark.parametrize(
    "name",
    [
        "acme.cached_input_tokens",
        "x.prompt_tokens_details.audio",
        "acme.max_output_tokens",
        "acme.output_token_limit",
        "acme.total_input_tokens",
        "acme.token_budget.input",
        "acme.inputs",
    ],
)
def test_counts_of_something_else_are_not(name: str) -> None:
    tokens = read(**{name: 7}).tokens
    assert (tokens.input, tokens.output) == (None, None)


@pytest.mark.parametrize(
    "name", ["acme.model", "model", "acme.model_name", "acme/model.id", "acme.modelName"]
)
def test_a_model_that_is_only_called_one_is_supposed_to_be_what_was_asked_for(name: str) -> None:
    assert (read(**{name: "m-1"}).request_model, read(**{name: "m-1"}).response_model) == ("m-1", None)


def test_a_model_that_answered_is_not_what_was_asked_for() -> None:
    found = read(acme__model="m-1-2026", gen_ai__response__model="m-1-2026")
    assert (found.request_model, found.response_model) == (None, "m-1-2026")


@pytest.mark.parametrize(
    "name", ["acme.response.model", "acme.embedding_model", "acme.metadata.model", "remodel"]
)
def test_a_model_of_something_else_is_not(name: str) -> None:
    assert read(**{name: "m-1"}).request_model is None
