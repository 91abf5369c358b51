"""Histories that grow: each request repeats the one before and adds to it, so only what is added is read."""

from __future__ import annotations

from retrospan.ingest.interpret.jsontext import Unreadable, read_json
from retrospan.ingest.interpret.messages import Message, read_messages

#: Histories kept per attribute: agents that work side by side take turns.
KEPT = 8


class Growing:
    """Reads JSON lists of messages; one that begins with a list read before shares its messages.

    Spans must come in the order of their start for that to help; the result is the same in any order.
    """

    def __init__(self) -> None:
        self._read: dict[str, list[tuple[str, list[Message]]]] = {}

    def read(self, key: str, text: str, role: str) -> list[Message] | Unreadable:
        """Return the messages in the text of an attribute, or why it cannot be read."""
        kept = self._read.setdefault(key, [])
        for place, (before, messages) in enumerate(kept):
            added = _added(before, text)
            if added is None:
                continue
            more = read_json(added)
            if isinstance(more, list):
                whole = [*messages, *read_messages(more, role)]
                kept[place] = (text, whole)
                return [*whole]
        value = read_json(text)
        if isinstance(value, Unreadable):
            return value
        found = read_messages(value, role)
        if isinstance(value, list) and not any(isinstance(item, list) for item in value):
            kept.append((text, found))
            del kept[:-KEPT]
        return [*found]


def _added(before: str, text: str) -> str | None:
    """Return the list of what a text adds to an earlier list that it begins with, as JSON."""
    end = len(before) - 1
    if len(text) <= end or before[:1] != "[" or before[end] != "]" or text[end] not in ",]":
        return None
    if not text.startswith(before[:end]) or before[1:end].strip() == "":
        return None
    return (
        "[]"
        if text[end] == "]" and len(text) == len(before)
        else f"[{text[end + 1 :]}"
        if text[end] == ","
        else None
    )
