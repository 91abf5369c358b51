"""Parts of the same acts complete each other, and nothing else is taken from another telling."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, chat, rows

from retrospan.ingest.interpret.messages.completion import (
    answered_once,
    completed,
    has_gaps,
    has_results,
    is_fuller,
    may_tell_failures,
)
from retrospan.ingest.interpret.messages.message import Message, Part
from retrospan.ingest.interpret.messages.messages import read_message
from retrospan.ingest.interpret.spans.span import Span


def call(name: str, arguments: object, call_id: str = "") -> Part:
    part: Part = {"type": "tool_call"}
    if call_id:
        part["id"] = call_id
    part["name"], part["arguments"] = name, arguments
    return part


def result(said: object, call_id: str = "", *, failed: bool = False) -> Part:
    part: Part = {"type": "tool_call_response"}
    if call_id:
        part["id"] = call_id
    part["response"] = said
    if failed:
        part["is_error"] = True
    return part


def said(role: str, *parts: Part) -> Message:
    return {"role": role, "parts": list(parts)}


ASKED = [
    said("assistant", call("look", {"a": 1}), call("look", {"a": 2})),
    said("tool", result("x"), result("x")),
]
IDS = [
    said("assistant", call("look", {"a": 1}, "1"), call("look", {"a": 2}, "2")),
    said("tool", result("x", "1"), result("x", "2", failed=True)),
]


def test_ids_and_errors_come_from_the_other_telling_in_its_order() -> None:
    assert completed(ASKED, IDS) == IDS
    assert json.dumps(completed(ASKED, IDS)) == json.dumps(IDS), "the keys have their order"


SHORT = [
    said("user", {"type": "text", "content": "Go"}),
    said("assistant", {"type": "text", "content": "Well"}),
]
LONG = [SHORT[0], said("assistant", {"type": "text", "content": "Well"}, call("look", {}, "1")), *IDS]


@pytest.mark.parametrize(
    ("other", "messages", "fuller"),
    [
        (LONG, SHORT, True),
        (LONG, [], True),
        (SHORT, LONG, False),
        (SHORT, SHORT, False),
        (LONG, [*reversed(SHORT)], False),
        (LONG, [SHORT[0], said("assistant", {"type": "text", "content": "Otherwise"})], False),
        (LONG, [said("assistant", {"type": "text", "content": "Go"})], False),
        (IDS, ASKED, False),
    ],
)
def test_a_telling_that_holds_the_other_and_more_is_fuller(
    other: list[Message], messages: list[Message], fuller: bool
) -> None:
    assert is_fuller(other, messages) is fuller


def test_what_is_whole_stays_the_same_object() -> None:
    assert all(after is before for after, before in zip(completed(IDS, ASKED), IDS, strict=True))
    assert not has_gaps(IDS) and has_gaps(ASKED)


@pytest.mark.parametrize(
    "other",
    [
        call("look", {"a": 2}, "9"),
        call("seek", {"a": 1}, "9"),
        result("x", "9"),
        {"type": "text", "content": "look"},
    ],
)
def test_what_is_not_the_same_act_gives_nothing(other: Part) -> None:
    before = [said("assistant", call("look", {"a": 1}))]
    assert completed(before, [said("assistant", other)]) == before


def test_a_result_with_another_id_is_another_result() -> None:
    before = [said("tool", result("x", "1"))]
    assert completed(before, [said("tool", result("x", "2", failed=True))]) == before


def test_an_act_is_taken_once_and_what_was_passed_over_is_not_taken_later() -> None:
    before = [said("assistant", call("b", None), call("a", None))]
    other = [said("assistant", call("a", None, "1"), call("b", None, "2"))]
    assert [part.get("id") for part in completed(before, other)[0]["parts"]] == ["2", None]


def test_a_result_told_twice_in_a_row_is_one_and_an_error_if_one_of_them_says_so() -> None:
    failed = said("tool", result("locked", "1", failed=True))
    messages = [said("user"), said("tool", result("locked", "1")), failed]
    assert answered_once(messages) == [said("user"), failed]
    assert answered_once(reversed(messages)) == [failed, said("user")]


def test_a_result_of_another_turn_is_another_result() -> None:
    messages = [said("tool", result("x", "1")), said("user"), said("tool", result("x", "1", failed=True))]
    assert answered_once(messages) == messages
    nameless = [said("tool", result("x")), said("tool", result("x"))]
    assert answered_once(nameless) == nameless


def test_only_text_that_says_so_may_tell_failures() -> None:
    assert may_tell_failures('{"status": "error"}')
    assert may_tell_failures('{"is_error": true}')
    assert may_tell_failures("{'is_error': True}")
    assert not may_tell_failures('{"status": "ok"}')
    assert not may_tell_failures({"status": "error"})


def test_only_a_prompt_with_a_result_has_results() -> None:
    assert has_results(IDS)
    assert has_results([said("tool", result("x"))])
    assert not has_results([said("user")])
    assert not has_results([said("assistant", call("look", {}))])


def test_a_tool_that_failed_by_the_whole_request_alone_has_failed() -> None:
    whole = json.dumps(
        [
            {"role": "user", "content": [{"text": "Change it."}]},
            {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "1", "name": "change", "input": {}}}],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "1", "content": [{"text": "locked"}], "status": "error"}}
                ],
            },
        ]
    )
    flattened: dict[str, Any] = {
        "input.value": whole,
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Change it.",
        "llm.input_messages.1.message.role": "assistant",
        "llm.input_messages.1.message.tool_calls.0.tool_call.id": "1",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "change",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": "{}",
        "llm.input_messages.2.message.role": "tool",
        "llm.input_messages.2.message.tool_call_id": "1",
        "llm.input_messages.2.message.content": "locked",
    }
    first = act(
        "chat",
        1,
        gen_ai__output__messages=json.dumps(
            [
                {
                    "role": "assistant",
                    "parts": [{"type": "tool_call", "id": "1", "name": "change", "arguments": {}}],
                }
            ]
        ),
    )
    second = act("chat", 3, **flattened)
    (tool,) = rows(agent(), first, second).tool_calls
    assert tool.status == "error"


def test_messages_of_which_only_roles_arrived_come_from_the_whole_request() -> None:
    asked = "ToolCall(tool_name='look', arguments={'a': 1}, id='1')"
    whole = [
        "Message(_role=<Role.USER: 'user'>, _content=[Text(text='Go')])",
        f"Message(_role=<Role.ASSISTANT: 'assistant'>, _content=[{asked}])",
        f"Message(_role=<Role.TOOL: 'tool'>, _content=[Result(result='seen', origin={asked}, error=False)])",
    ]
    flattened: dict[str, Any] = {
        "input.value": json.dumps({"messages": whole}),
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Go",
        "llm.input_messages.1.message.role": "assistant",
        "llm.input_messages.2.message.role": "tool",
    }
    (call_row,) = (found := rows(agent(), act("chat", 1, **flattened))).model_calls
    told = [
        json.loads(value.json or "null") for value in found.values if value.number in call_row.input_values
    ]
    assert [message["role"] for message in told] == ["user", "assistant", "tool"]
    assert told[2]["parts"] == [{"type": "tool_call_response", "id": "1", "response": "seen"}]


EXCHANGE: dict[str, Any] = {
    "llm.acme.messages": "[{'role': 'user', 'content': 'Go'}]",
    "llm.acme.choices": "[{'message': {'role': 'assistant', 'content': None, 'tool_calls': [{'id': '1', 'type': "
    "'function', 'function': {'name': 'look', 'arguments': '{}'}}]}}]",
    "llm.acme.model": "m-2026",
    "llm.acme.id": "r1",
    "llm.acme.usage": "{'prompt_tokens': 7, 'completion_tokens': 2}",
}


def test_a_span_that_holds_a_request_and_its_response_is_a_model_call_whatever_it_is_called() -> None:
    (row,) = rows(agent(), act("", 1, **EXCHANGE)).model_calls
    assert (row.request_model, row.response_model) == (None, "m-2026")
    assert (row.input_tokens, row.output_tokens) == (7, 2)


@pytest.mark.parametrize("name", ["llm.acme.messages", "llm.acme.choices"])
def test_half_an_exchange_is_nothing(name: str) -> None:
    half = {key: value for key, value in EXCHANGE.items() if key != name}
    assert rows(agent(), chat(0, [], "Hi"), act("", 2, **half)).model_calls[1:] == []


def test_a_span_around_several_requests_tells_of_the_one_whose_response_it_has() -> None:
    def request(at: float, response_id: str, inside: str) -> Span:
        return act("", at, **{**EXCHANGE, "llm.acme.id": response_id}, inside=inside)

    around = act("chat", 1, takes=9, gen_ai__response__id="r2", gen_ai__request__model="m")
    inner = [request(2, "r1", around.span_id), request(4, "r2", around.span_id)]
    found = rows(agent(), around, *inner).model_calls
    assert [row.request_model for row in found] == [None, "m"]
    assert [row.input_tokens for row in found] == [7, 7]


def test_calls_and_ids_beside_the_parts_of_a_message_belong_to_it() -> None:
    message = read_message(
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": "Well"}, call("seek", {})],
            "tool_calls": [
                {"id": "1", "function": {"name": "look", "arguments": "{}"}},
                {"id": "2", "function": {"name": "seek", "arguments": "{}"}},
            ],
        }
    )
    assert message is not None
    assert [part.get("name") for part in message["parts"]] == [None, "seek", "look"]
    answered = read_message(
        {"role": "tool", "tool_call_id": "1", "parts": [{"type": "text", "content": '{"a": 1}'}]}
    )
    assert answered == {"role": "tool", "parts": [result({"a": 1}, "1")]}
