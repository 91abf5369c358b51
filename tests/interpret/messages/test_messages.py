"""Messages are read from every form they come in, to one form."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrospan.ingest.interpret.messages.messages import read_message, read_messages
from retrospan.ingest.interpret.steps.values import Values

_CALL = {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}
_WANTED = {"role": "assistant", "parts": [{"type": "text", "content": "Let me see."}, _CALL]}

_FORMS = {
    "parts": {
        "role": "assistant",
        "parts": [_CALL, {"type": "text", "content": "Let me see."}],
        "finish_reason": "x",
    },
    "parts with argument text": {
        "role": "assistant",
        "parts": [{"type": "text", "content": "Let me see."}, {**_CALL, "arguments": '{"city": "Oslo"}'}],
    },
    "openai chat": {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'},
            }
        ],
    },
    "anthropic": {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Oslo"}},
        ],
    },
    "langchain data": {
        "type": "ai",
        "data": {
            "content": "Let me see.",
            "type": "ai",
            "tool_calls": [
                {"name": "get_weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}
            ],
        },
    },
    "langchain constructor": {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "AIMessage"],
        "kwargs": {
            "content": "Let me see.",
            "type": "ai",
            "tool_calls": [{"name": "get_weather", "args": {"city": "Oslo"}, "id": "c1"}],
        },
    },
    "bedrock": {
        "role": "assistant",
        "content": [
            {"text": "Let me see."},
            {"toolUse": {"toolUseId": "c1", "name": "get_weather", "input": {"city": "Oslo"}}},
        ],
    },
}


@pytest.mark.parametrize("form", _FORMS)
def test_an_answer_with_a_call_reads_the_same_from_every_form(form: str) -> None:
    assert read_messages([_FORMS[form]]) == [_WANTED]
    assert read_messages(json.dumps([_FORMS[form]])) == [_WANTED]


@pytest.mark.parametrize(
    "sent",
    [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": {"t": -3}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": '{"t": -3}'}]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"t": -3}', "name": "get_weather"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": '{"t": -3}'}]},
        {"type": "function_call_output", "call_id": "c1", "output": '{"t": -3}'},
        {
            "type": "tool",
            "data": {"content": '{"t": -3}', "tool_call_id": "c1", "type": "tool", "status": "success"},
        },
    ],
)
def test_a_tools_answer_reads_the_same_from_every_form(sent: dict[str, object]) -> None:
    wanted = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": {"t": -3}}]}
    assert read_messages([sent]) == [wanted]


def test_text_that_looks_like_a_number_stays_text() -> None:
    (message,) = read_messages([{"role": "tool", "tool_call_id": "c", "content": "42"}])
    assert message["parts"] == [{"type": "tool_call_response", "id": "c", "response": "42"}]


def test_messages_that_say_nothing_are_left_out() -> None:
    assert read_messages([{"role": "assistant", "content": ""}, {"role": "user"}, "", None, 7]) == []


@pytest.mark.parametrize(
    "text",
    ['["a", "b"]', '[{"doc_id": "kb-1", "text": "Keep it."}]', '[{"city": "Oslo"}]', "[1, 2]"],
)
@pytest.mark.parametrize("role", ["user", "assistant", "unknown"])
def test_a_text_of_json_is_what_somebody_said_unless_all_of_it_names_its_kind(role: str, text: str) -> None:
    (message,) = read_messages([{"role": role, "content": text}])
    assert message == {"role": role, "parts": [{"type": "text", "content": text}]}


def test_the_blocks_of_a_message_may_be_written_as_one_text() -> None:
    blocks = [{"type": "text", "text": "Look"}, {"text": "here"}]
    (message,) = read_messages([{"role": "user", "content": json.dumps(blocks)}])
    assert [part.get("content") for part in message["parts"]] == ["Look", "here"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": {"value": "It rains.", "annotations": [{"index": 3}]}}], "It rains."),
        ({"text": {"value": "It rains."}}, "It rains."),
        (
            [{"type": "text", "text": {"value": "It rains.", "unit": "mm"}}],
            {"value": "It rains.", "unit": "mm"},
        ),
        ([{"type": "text", "text": {"value": 3}}], {"value": 3}),
    ],
)
def test_a_text_may_be_kept_beside_its_annotations(content: object, text: object) -> None:
    assert read_message({"role": "assistant", "content": content}) == {
        "role": "assistant",
        "parts": [{"type": "text", "content": text}],
    }


def test_who_is_unknown_is_nobody_else() -> None:
    (message,) = read_messages([{"role": "unknown", "content": "Be brief."}])
    assert message["role"] == "unknown"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["role", "type", "content", "parts", "tool_calls", "function", "data", "kwargs", "message", "id", "name",
                 "arguments", "args", "text", "functionCall", "toolResult", "messages", "__proto__", ""]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)  # fmt: skip


@given(_JSON)
def test_nothing_that_is_sent_as_messages_can_break_reading(value: object) -> None:
    values = Values()
    for message in read_messages(value):
        assert isinstance(message["role"], str)
        assert isinstance(message["parts"], list)
        assert message["parts"]
        assert values.message(message) > 0
