"""A message in the parts format of the OTel GenAI conventions: what every form that is sent is read to."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Required, TypedDict


class _Kind(TypedDict):
    type: object  # a text, but for a part that is not known


class Part(_Kind, total=False):
    """One part of a message. The types read here are the keys' comments; a part of another type stays as it was sent."""

    content: object  # text, reasoning
    id: str  # of calls and what they returned
    name: str  # of calls
    arguments: object  # tool_call
    response: object  # tool_call_response
    server_tool_call: object  # server_tool_call: what it was called with, and its type
    server_tool_call_response: object
    is_error: bool  # results: present, and true, where the source says that the tool failed


class Message(TypedDict, total=False):
    """What one side said: role is system, user, assistant or tool; there is a name where one was given."""

    role: Required[str]
    parts: Required[list[Part]]
    name: str


def act_of(part: Part) -> tuple[object, object]:
    """Return what a call asks for, whatever its id: the tool and its arguments."""
    return part.get("name"), part.get("arguments")


def text_of(message: Message) -> str:
    """Return the text of a message, its parts joined by line breaks."""
    texts = (part.get("content") for part in message["parts"] if part["type"] == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def repeated(before: Sequence[Message], messages: Sequence[Message]) -> int:
    """Return how many messages a prompt repeats of the one before: all of that, if it begins with them, else none.

    They are compared as objects, which equal messages of prompts that grow are.
    """
    return len(before) if len(before) <= len(messages) and all(map(is_, before, messages)) else 0


def parts_of(message: Message, kind: str) -> list[Part]:
    """Return the parts of one type."""
    parts = message["parts"]
    if len(parts) == 1:  # as most have
        return [*parts] if parts[0]["type"] == kind else []
    return [part for part in parts if part["type"] == kind]


def is_blank(message: Message) -> bool:
    """Tell whether a message says nothing: no call, and only empty texts."""
    return all(part["type"] == "text" and not part.get("content") for part in message["parts"])
