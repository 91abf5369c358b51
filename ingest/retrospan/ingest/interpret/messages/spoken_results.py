"""Results of tools that an instrumentation sends as messages of a user, right after the calls that they answer.

Between calls and their results nobody speaks. Only objects are taken that hold nothing but a result, as the APIs have it
where the results of functions are parts of the user's message, and just one for each call.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.messages.message import Message, Part, parts_of
from retrospan.ingest.interpret.messages.message_parts import tool_response
from retrospan.ingest.interpret.messages.tool_results import response_of
from retrospan.ingest.json_text import read_json

#: Messages up to the first result, at least, and those among which it stands.
_LEAST, _FIRST = 3, 5
_KEYS = frozenset(("result", "output", "error"))


def with_spoken_results(messages: list[Message]) -> list[Message]:
    """Return the messages with such texts as the results that they are.

    Prompts repeat their history: whether it tells results so shows where it begins, and where it ends.
    """
    size = len(messages)
    if size < _LEAST or not any(
        messages[place]["role"] == "user" and _told(messages, place)
        for place in (*range(2, min(_FIRST, size)), size - 1)
    ):
        return messages
    return [
        {"role": "tool", "parts": results} if (results := _told(messages, place)) else message
        for place, message in enumerate(messages)
    ]


def _told(messages: Sequence[Message], place: int) -> list[Part]:
    """Return the results that a message tells as the words of a user."""
    message, before = messages[place], messages[place - 1] if place else None
    if message["role"] != "user" or before is None or before["role"] != "assistant":
        return []
    calls = parts_of(before, "tool_call")
    return _results(message, calls) if calls else []


def _results(message: Message, calls: Sequence[Part]) -> list[Part]:
    """Return the results that the texts of a message are, one for each call in order; [] where they are anything else."""
    texts = [
        line
        for part in message["parts"]
        if part["type"] == "text" and isinstance(part.get("content"), str)
        for line in str(part.get("content")).splitlines()
        if line.strip()
    ]
    if len(texts) != len(calls) or any(part["type"] != "text" for part in message["parts"]):
        return []
    told = [read_json(text) if text[:1] == "{" else None for text in texts]
    if not all(isinstance(each, dict) and len(each) == 1 and each.keys() <= _KEYS for each in told):
        return []
    return [
        tool_response(call.get("id"), response_of(each), {}) for call, each in zip(calls, told, strict=True)
    ]
