"""Messages that already have the parts format of the OTel GenAI conventions, as most have: read without looking for more."""

from __future__ import annotations

from retrospan.ingest.interpret.messages.message import Message, Part
from retrospan.ingest.interpret.messages.messages import PRINTED, without_nothing
from retrospan.ingest.interpret.messages.roles import role_named
from retrospan.ingest.interpret.messages.tool_results import response_of
from retrospan.ingest.json_text import read_value

#: The fields of a message, and of its parts.
_FIELDS = {"role", "parts", "finish_reason"}
_TEXT, _CALL, _RESPONSE = {"type", "content"}, {"type", "id", "name", "arguments"}, {"type", "id", "response"}
#: Of a result with a word for its form.
_WITH_TYPE = {"type", "value"}


def message_in_form(value: dict[str, object]) -> Message | None:
    """Return a message that has the form of the conventions and nothing beside it, as `read_message` does; None for any
    other."""
    if not value.keys() <= _FIELDS:
        return None
    said, sent = value.get("role"), value.get("parts")
    if not (isinstance(said, str) and said and isinstance(sent, list) and sent):
        return None
    if len(sent) == 1:
        return _of_one_part(said, sent[0])
    parts: list[Part] = []
    for each in sent:
        part = _part_in_form(each) if isinstance(each, dict) else None
        if part is None:
            return None
        parts.append(part)
    role, kinds = role_named(said), {part["type"] for part in parts}
    if "text" in kinds:
        if role == "tool":
            return None
        if role == "assistant" and any(PRINTED.match(str(part.get("content"))) for part in parts):
            return None
    if len(kinds) > 1:
        if role == "assistant":
            parts = without_nothing(parts)
        parts.sort(key=lambda part: part["type"] == "tool_call")
    elif role == "user" and "tool_call_response" in kinds:
        role = "tool"
    return {"role": role, "parts": parts}


def _of_one_part(said: str, sent: object) -> Message | None:
    """Return a message of one part, as most are."""
    part = _part_in_form(sent) if isinstance(sent, dict) else None
    if part is None:
        return None
    role, kind = role_named(said), part["type"]
    if kind == "text":
        if role == "tool" or (role == "assistant" and PRINTED.match(str(part.get("content")))):
            return None
    elif role == "user" and kind == "tool_call_response":
        role = "tool"
    return {"role": role, "parts": [part]}


def _part_in_form(part: dict[str, object]) -> Part | None:
    kind, keys = part.get("type"), part.keys()
    if kind == "text":
        content = part.get("content")
        is_text = isinstance(content, str) and content and keys == _TEXT
        return {"type": "text", "content": content} if is_text else None
    call_id = part.get("id")
    if not (isinstance(call_id, str) and call_id):
        return None
    if kind == "tool_call" and keys == _CALL:
        name, arguments = part["name"], part["arguments"]
        if isinstance(name, str) and name and arguments is not None:
            return {"type": "tool_call", "id": call_id, "name": name, "arguments": read_value(arguments)}
    if kind == "tool_call_response" and keys == _RESPONSE:
        said = part["response"]
        if not (isinstance(said, dict) and said.keys() == _WITH_TYPE):
            return {"type": "tool_call_response", "id": call_id, "response": response_of(said)}
    return None
