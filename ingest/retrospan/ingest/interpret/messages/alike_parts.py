"""Which of many tellings of answers may be that of another one: a look at what their parts have in common, not at each."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from retrospan.ingest.interpret.messages.completion import agree
from retrospan.ingest.interpret.messages.message import Message, Part


class ToldAnswers:
    """Some tellings of answers, kept by what is in their parts."""

    def __init__(self, told: Sequence[Sequence[Message]]) -> None:
        self._told = told
        self._by_mark: dict[Hashable, list[int]] = {}
        self._has_empty = False
        for place, messages in enumerate(told):
            marks = {mark for part in _parts(messages) for mark in _marks(part)}
            self._has_empty = self._has_empty or not marks
            for mark in marks:
                self._by_mark.setdefault(mark, []).append(place)

    def any_agrees(self, messages: Sequence[Message]) -> bool:
        """Tell whether one of them says the same as these messages, or more, or less, and nothing else."""
        parts = [*_parts(messages)]
        if not parts or self._has_empty:
            return bool(self._told)
        looked: set[int] = set()
        for part in parts:
            for mark in _sought(part):
                for place in self._by_mark.get(mark, ()):
                    if place not in looked and agree(messages, self._told[place]):
                        return True
                    looked.add(place)
        return False


def _parts(messages: Sequence[Message]) -> Iterator[Part]:
    for message in messages:
        yield from message["parts"]


def _marks(part: Part) -> tuple[Hashable, ...]:
    """Return under which marks a part is found."""
    said = _said(part)
    call_id = part.get("id")
    return (("any", said), ("none", said)) if call_id is None else (("any", said), ("id", call_id))


def _sought(part: Part) -> tuple[Hashable, ...]:
    """Return the marks of which the same part has one: with the same id, or without one; if it has none, whatever id."""
    said = _said(part)
    call_id = part.get("id")
    return (("any", said),) if call_id is None else (("id", call_id), ("none", said))


def _said(part: Part) -> Hashable:
    if part["type"] == "tool_call":
        return part["type"], part.get("name"), _frozen(part.get("arguments"))
    if part["type"] == "tool_call_response":
        return part["type"], _frozen(part.get("response"))
    return part["type"], _frozen(part.get("content"))


def _frozen(value: object) -> Hashable:
    """Return a value by which equal values are known, whatever the order of their keys."""
    if isinstance(value, dict):
        return frozenset((key, _frozen(inner)) for key, inner in value.items())
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return value if isinstance(value, Hashable) else str(value)
