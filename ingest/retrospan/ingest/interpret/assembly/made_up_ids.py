"""Calls that prompts retell under UUIDs which a framework made up: an answer that tells the same call under another id, as the
API gave it, knows the one that counts.

Calls are the same by name and arguments, in order. What no answer of the run asked for keeps the id under which it is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.normalize.message import Message, Part, parts_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.qualified_ids import UUID

_ACTS = ("tool_call", "tool_call_response")


def restore_answered_ids(requests: Sequence[NormalizedSpan]) -> None:
    """Give calls and results in prompts the ids that answers have for them, in place."""
    asked = [part for span in requests for part in _calls(span.output)]
    ids = {part.get("id", "") for part in asked}
    if not ids or any(not call_id or UUID.fullmatch(call_id) for call_id in ids):
        return
    known: dict[str, str] = {}
    for span in requests:
        for part in _calls(span.input):
            own = part.get("id", "")
            if own in known or not UUID.fullmatch(own):
                continue
            place = next((at for at, call in enumerate(asked) if _is_same(call, part)), None)
            if place is not None:
                known[own] = asked.pop(place).get("id", "")
    if known:
        for span in requests:
            span.input = [_renamed(message, known) for message in span.input]


def _calls(messages: Sequence[Message]) -> Iterator[Part]:
    for message in messages:
        yield from parts_of(message, "tool_call")


def _is_same(call: Part, other: Part) -> bool:
    return (call.get("name"), call.get("arguments")) == (other.get("name"), other.get("arguments"))


def _renamed(message: Message, known: dict[str, str]) -> Message:
    if not any(part.get("id") in known for part in message["parts"]):
        return message
    parts = [_part(part, known) for part in message["parts"]]
    return {**message, "parts": parts}


def _part(part: Part, known: dict[str, str]) -> Part:
    found = known.get(part.get("id") or "") if part["type"] in _ACTS else None
    return part if found is None else {**part, "id": found}
