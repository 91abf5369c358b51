"""Results of tools in messages that are not marked as such: in the place of the role stands the tool's name, or nothing."""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.messages.message import Message, parts_of, text_of
from retrospan.ingest.interpret.messages.message_parts import tool_response
from retrospan.ingest.interpret.messages.roles import SPEAKERS
from retrospan.ingest.interpret.messages.tool_results import response_of

#: What says who speaks, or holds the message that does.
_SAYING_WHO = ("role", "type", "lc", "kwargs", "message", "parts", "toolUseId", "data")


def with_named_results(messages: list[Message]) -> list[Message]:
    """Return the messages with those as results whose speaker is called as the tool of a call before them that is not
    answered yet: of several calls of one tool the results stand in their order.
    """
    if {message["role"] for message in messages} <= SPEAKERS:
        return messages
    waiting: dict[str, list[str | None]] = {}
    found: list[Message] = []
    for message in messages:
        for call in parts_of(message, "tool_call"):
            called = call.get("name", "").rpartition(".")[2].lower()  # as a role is read
            waiting.setdefault(called, []).append(call.get("id"))
        answered = {part.get("id") for part in parts_of(message, "tool_call_response")}
        if answered:
            waiting = {name: [each for each in ids if each not in answered] for name, ids in waiting.items()}
        asked = waiting.get(message["role"]) if message["role"] not in SPEAKERS else None
        if asked and text_of(message):
            said = response_of(text_of(message))
            found.append({"role": "tool", "parts": [tool_response(asked.pop(0), said, {})]})
        else:
            found.append(message)
    return found


def with_roles(messages: Sequence[object]) -> Sequence[object]:
    """Return messages as they were sent, with those as results that say nothing of who speaks and follow calls: no model API
    takes a prompt in which anything else comes between calls and what they returned.
    """
    # Most say who speaks: prompts are long, and this is all that is done with them.
    others = [each for each in messages if type(each) is dict and "role" not in each]
    if not others or all(map(_says_who, others)):
        return messages
    waiting: list[object] = []
    found: list[object] = []
    for each in messages:
        calls = each.get("tool_calls") if isinstance(each, dict) else None
        if isinstance(calls, list) and calls:
            waiting = [call.get("id") if isinstance(call, dict) else None for call in calls]
        elif waiting and isinstance(each, dict) and each.keys() & {"content"} and not _says_who(each):
            call_id = waiting.pop(0)
            each = {"tool_call_id": call_id, **each, "role": "tool"}
        elif isinstance(each, dict) and each.get("role") in ("user", "system", "assistant"):
            waiting = []
        else:
            waiting = waiting[1:]
        found.append(each)
    return found


def _says_who(message: dict[str, object]) -> bool:
    return not message.keys().isdisjoint(_SAYING_WHO)
