"""Calls whose ids a client made longer by the name of their tool: where prompts know the id without it, that is the model's."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.interpret.messages.message import Message, Part
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.qualified_ids import given_id
from retrospan.ingest.interpret.tree.tree import Tree


def restore_ids(tree: Tree) -> None:
    """Give calls in answers, and what executes them, the ids by which prompts know them, in place."""
    longer = {
        call_id: plain
        for span in tree.spans
        if span.tool_call_id or span.output
        for call_id, name in _ids(span)
        if name and call_id.startswith(name) and (plain := given_id(call_id, name)) is not call_id
    }
    if not longer:
        return
    told = _told(tree)
    known = {call_id: plain for call_id, plain in longer.items() if plain in told and call_id not in told}
    if not known:
        return
    for span in tree.spans:
        if any(call_id in known for call_id, _ in _ids(span)):
            span.tool_call_id = known.get(span.tool_call_id or "", span.tool_call_id)
            span.output = [renamed(message, known) for message in span.output]


def _ids(span: NormalizedSpan) -> Iterator[tuple[str, str | None]]:
    """Yield the ids of the calls that a span executes or asks for, each with the name of its tool."""
    if span.tool_call_id:
        yield span.tool_call_id, span.tool_name
    for message in span.output:
        for part in message["parts"]:
            call_id = part.get("id") if part["type"] == "tool_call" else None
            if call_id:
                yield call_id, part.get("name")


def _told(tree: Tree) -> set[str]:
    """Return the ids of all calls in prompts; these repeat their messages, and each is looked at once."""
    seen: set[int] = set()
    told: set[str] = set()
    for span in tree.spans:
        for message in span.input:
            if id(message) not in seen:
                seen.add(id(message))
                told.update(call_id for part in message["parts"] if (call_id := part.get("id")))
    return told


def renamed(message: Message, known: dict[str, str]) -> Message:
    """Return a message with other ids of its calls and results, where `known` has them."""
    return {**message, "parts": [_part(part, known) for part in message["parts"]]}


def _part(part: Part, known: dict[str, str]) -> Part:
    plain = known.get(part.get("id") or "") if part["type"] in ("tool_call", "tool_call_response") else None
    return part if plain is None else {**part, "id": plain}
