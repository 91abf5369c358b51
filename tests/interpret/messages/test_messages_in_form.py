"""Messages that have the form of the conventions are read in one look, to the same as by all the rules."""

from __future__ import annotations

from itertools import product

import pytest

from retrospan.ingest.interpret.messages.messages import read_message
from retrospan.ingest.interpret.messages.messages_in_form import message_in_form

_PARTS: list[dict[str, object]] = [
    {"type": "text", "content": "hello"},
    {"type": "text", "content": ""},
    {"type": "text", "content": "Message(role='assistant', content='hello')"},
    {"type": "text", "content": "{'role': 'assistant', 'content': 'hello'}"},
    {"type": "text", "content": "hello", "more": 1},
    {"type": "tool_call", "id": "a", "name": "look", "arguments": {"at": 1}},
    {"type": "tool_call", "id": "a", "name": "look", "arguments": '{"at": 1}'},
    {"type": "tool_call", "id": "a", "name": "look", "arguments": None},
    {"type": "tool_call", "id": "", "name": "look", "arguments": {}},
    {"type": "tool_call_response", "id": "a", "response": '{"found": 1}'},
    {"type": "tool_call_response", "id": "a", "response": {"type": "error-text", "value": "no"}},
    {"type": "tool_call_response", "id": "a", "response": [{"type": "text", "text": "hello"}]},
    {"type": "tool_call_response", "id": "a", "response": "hello", "is_error": True},
    {"type": "tool_call_response", "id": "a", "response": "hello"},
    {"type": "tool_call_response", "response": "hello"},
    {"type": "reasoning", "content": "hm"},
]
_ROLES = ("user", "assistant", "tool", "developer", "MessageRole.USER", "")


@pytest.mark.parametrize("role", _ROLES)
def test_one_look_gives_what_all_rules_give(role: str) -> None:
    seen = 0
    for parts in ([part, *more] for part, *more in [*product(_PARTS), *product(_PARTS, _PARTS)]):
        for beside in ({}, {"finish_reason": "stop"}, {"name": "ann"}, {"tool_call_id": "a"}):
            message: dict[str, object] = {"role": role, "parts": parts, **beside}
            read = message_in_form(message)
            if read is not None:
                seen += 1
                assert (read, [*read]) == (expected := read_message(message), [*(expected or ())])
    assert seen > 50 or not role


@pytest.mark.parametrize("parts", [None, [], "hello", ["hello"], [None], {"type": "text"}])
def test_what_has_another_form_is_left_to_the_rules(parts: object) -> None:
    assert message_in_form({"role": "user", "parts": parts}) is None
