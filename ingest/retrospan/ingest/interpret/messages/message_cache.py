"""Histories that grow: each request repeats the one before and adds to it, so only what is added is read.

An agent that forgets its oldest messages repeats the others: each is one object however many requests repeat it. A run
of 50,000 spans would else hold each message some twenty times.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from hashlib import sha256

from retrospan.ingest.interpret.messages.empty_questions import only_questions
from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.messages.messages import read_message, read_messages
from retrospan.ingest.interpret.messages.messages_in_form import message_in_form
from retrospan.ingest.interpret.spans.json_texts import JsonTexts
from retrospan.ingest.interpret.spans.unflatten import Leaves, nested
from retrospan.ingest.json_text import Unreadable, read_json

#: Histories kept per attribute: agents that work side by side take turns.
KEPT = 8
#: Messages known by their text; beyond that the oldest are forgotten, and read anew when they come again.
KNOWN = 200_000
#: The form of Python's bytes in which equal values are equal bytes: later ones name what they have in common.
_WITHOUT_REFERENCES = 2


class PrefixCache:
    """Reads JSON lists of messages; one that begins with a list read before shares its messages.

    Spans must come in the order of their start for that to help; the result is the same in any order.
    """

    def __init__(self) -> None:
        self.texts = JsonTexts()
        self._read: dict[str, list[tuple[str, list[Message]]]] = {}
        self._known: dict[bytes, Message | None] = {}
        self._indexed: dict[tuple[object, ...], Message | None] = {}

    def read(self, key: str, text: str, role: str) -> list[Message] | Unreadable:
        """Return the messages in the text of an attribute, or why it cannot be read."""
        kept = self._read.setdefault(key, [])
        for place, (before, messages) in enumerate(kept):
            added = _added(before, text)
            if added is None:
                continue
            more = read_json(added)
            if isinstance(more, list):
                whole = [*messages, *self._messages(more, role)]
                kept[place] = (text, whole)
                return only_questions([*whole])
        value = read_json(text)
        if isinstance(value, Unreadable):
            return value
        found = self._messages(value, role)
        if isinstance(value, list) and value:
            kept.append((text, found))
            del kept[:-KEPT]
        return only_questions([*found])

    def indexed(
        self, leaves: Leaves, role: str, read: Callable[[dict[str, object], str], Message | None]
    ) -> Message | None:
        """Return what `read` makes of a message that travels as one attribute per leaf; equal messages are one object."""
        if not all(type(value) is str for _, value in leaves):
            return read(nested(leaves), role)  # 1 and true are equal keys, and other values
        key = (role, *leaves)
        if key not in self._indexed:
            if len(self._indexed) >= KNOWN:
                self._indexed.pop(next(iter(self._indexed)))
            self._indexed[key] = read(nested(leaves), role)
        return self._indexed[key]

    def _messages(self, value: object, role: str) -> list[Message]:
        """Return what `read_messages` does; equal messages are one object."""
        if not isinstance(value, list) or not all(
            isinstance(item, dict) and "messages" not in item for item in value
        ):
            return read_messages(value, role)
        found = (self._message(item, role) for item in value)
        return [message for message in found if message is not None]

    def _message(self, item: dict[str, object], role: str) -> Message | None:
        if item.get("role") and isinstance(item["role"], str):
            role = ""  # it says who speaks: an answer is one object with what later prompts repeat of it
        # Python's own bytes of a value are there eight times as soon as its JSON, and tell as much apart.
        key = sha256(marshal.dumps((role, item), _WITHOUT_REFERENCES)).digest()
        if key not in self._known:
            if len(self._known) >= KNOWN:
                self._known.pop(next(iter(self._known)))
            self._known[key] = message_in_form(item) or read_message(item, role)
        return self._known[key]


def _added(before: str, text: str) -> str | None:
    """Return the list of what a text adds to an earlier list that it begins with, as JSON."""
    end = len(before) - 1
    if len(text) <= end or before[:1] != "[" or before[end] != "]" or text[end] not in ",]":
        return None
    if not text.startswith(before[:end]):
        return None
    if text[end] == ",":
        return f"[{text[end + 1 :]}"
    return "[]" if len(text) == len(before) else None
