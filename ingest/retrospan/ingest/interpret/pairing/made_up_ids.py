"""Calls that prompts retell under UUIDs which a framework made up: an answer that tells the same call under another id, as the
API gave it, knows the one that counts.

Calls are the same by name and arguments, in order. What no answer of the run asked for keeps the id under which it is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.messages.message import Message, Part, parts_of, repeated
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.qualified_ids import UUID
from retrospan.ingest.interpret.unfolding.qualified_calls import renamed


def restore_answered_ids(requests: Sequence[NormalizedSpan]) -> None:
    """Give calls and results in prompts the ids that answers have for them, in place."""
    asked = [part for span in requests for part in _calls(span.output)]
    ids = {part.get("id", "") for part in asked}
    if not ids or any(not call_id or UUID.fullmatch(call_id) for call_id in ids):
        return
    known: dict[str, str] = {}
    before: list[Message] = []
    for span in requests:
        new, before = span.input[repeated(before, span.input) :], span.input
        for part in _calls(new):
            own = part.get("id", "")
            if own in known or not UUID.fullmatch(own):
                continue
            place = next((at for at, call in enumerate(asked) if _is_same(call, part)), None)
            if place is not None:
                known[own] = asked.pop(place).get("id", "")
    if known:
        # What prompts share of their messages they go on sharing.
        prompts = [span.input for span in requests]
        made = {id(message): renamed(message, known) for prompt in prompts for message in prompt}
        for span, prompt in zip(requests, prompts, strict=True):
            span.input = [made[id(message)] for message in prompt]


def _calls(messages: Sequence[Message]) -> Iterator[Part]:
    for message in messages:
        yield from parts_of(message, "tool_call")


def _is_same(call: Part, other: Part) -> bool:
    return (call.get("name"), call.get("arguments")) == (other.get("name"), other.get("arguments"))
