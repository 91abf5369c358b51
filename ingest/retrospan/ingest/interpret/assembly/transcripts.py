"""Model calls of a run that has no span for any: told by the transcript that an agent returned.

Some frameworks have spans for their agents only. Where such a span returns all that was said, each answer in it is one
model call, which was given what stands before it. When it was made is not known: it stands where the run had come to,
no earlier than the tools whose results it was given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.matching import is_same_tool
from retrospan.ingest.interpret.normalize.messages import Message, Part, parts_of, read_message
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan, TokenUsage
from retrospan.ingest.interpret.normalize.provider_payloads import parse_request, parse_usage
from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.json_text import Unreadable, read_value

#: What a message of a transcript is, beside what the framework keeps of it.
Said = tuple[Message, object]


def synthesize_calls(tree: Tree) -> None:
    """Add the model calls that transcripts tell of to a run without spans for model calls, in place."""
    if any(reading.operation == "inference" for reading in tree.readings):
        return
    found: dict[int, list[Said]] = {}
    for reading in tree.readings:
        if reading.operation in ("agent", "workflow", "step") and (said := list(_transcript(reading))):
            found[id(reading)] = said
    # The innermost tells it: spans around it repeat it.
    around = tree.around(reading for reading in tree.readings if id(reading) in found)
    telling = [reading for reading in tree.readings if id(reading) in found and id(reading) not in around]
    tools = _tools_inside(tree, telling)
    tree.add(
        (reading, call)
        for reading in telling
        for call in _calls(reading, found[id(reading)], tools.get(id(reading), []))
    )


def _tools_inside(tree: Tree, telling: list[NormalizedSpan]) -> dict[int, list[NormalizedSpan]]:
    """Return the tools inside each of some spans, of which none lies in another, in order."""
    marked = {id(reading) for reading in telling}
    nearest = tree.nearest(lambda reading: id(reading) in marked)
    tools: dict[int, list[NormalizedSpan]] = {}
    for reading in tree.readings:
        if reading.operation == "tool" and id(reading) in nearest:
            tools.setdefault(id(nearest[id(reading)]), []).append(reading)
    return tools


def _transcript(reading: NormalizedSpan) -> Iterator[Said]:
    """Yield the messages that a span returned, when an answer of a model stands among them after what was asked."""
    returned = reading.framework_output
    listed = returned.get("messages") if isinstance(returned, dict) else returned
    if not isinstance(listed, list):
        return
    said: list[Said] = []
    for item in listed:
        kept = read_value(item)
        kept = read_repr(kept) if isinstance(kept, str) else kept
        if isinstance(kept, Unreadable) or not isinstance(kept, dict):
            return
        message = read_message(kept)
        if message is not None:
            said.append((message, kept))
    roles = [message["role"] for message, _ in said]
    is_answered = "user" in roles and "assistant" in roles[roles.index("user") :]
    if is_answered and ("system" in roles or any(_is_of_model(message, kept) for message, kept in said)):
        yield from said


def _is_of_model(message: Message, kept: object) -> bool:
    """Tell whether only a model can have said it: it asks for a tool, or names the model or its tokens."""
    used = parse_usage(kept)
    return bool(parts_of(message, "tool_call")) or used.model is not None or used.input is not None


def _calls(
    reading: NormalizedSpan, said: list[Said], waiting: list[NormalizedSpan]
) -> Iterator[NormalizedSpan]:
    """Yield one reading per answer of this run; what was given to it is not an answer, though an assistant may have said it.

    `waiting` are the tools inside it; they are taken from the list.
    """
    given = parse_request(reading.framework_input).messages
    known = [place for place, (message, _) in enumerate(said) if given and message == given[-1]]
    begun = known[-1] if known else -1
    at = reading.span.started_at
    system: list[Part] = []
    before: list[Message] = []
    for place, (message, kept) in enumerate(said):
        if message["role"] == "assistant" and place > begun:
            yield _call(reading, at, system, before, message, kept)
            at = max(at, _ended(message, waiting))
        if message["role"] == "system" and not before:
            parts = message["parts"]
            system = [*system, *(parts if isinstance(parts, list) else [])]
        else:
            before = [*before, message]


def _call(
    reading: NormalizedSpan, at: int, system: list[Part], before: list[Message], answer: Message, kept: object
) -> NormalizedSpan:
    used = parse_usage(kept)
    return NormalizedSpan(
        span=replace(reading.span, started_at=at, ended_at=0),
        operation="inference",
        dialect=reading.dialect,
        system=system,
        input=before,
        output=[answer],
        response_model=used.model,
        tokens=TokenUsage(used.input, used.output, used.cached),
        is_told=True,
    )


def _ended(answer: Message, waiting: list[NormalizedSpan]) -> int:
    """Return when the tools that an answer asks for had ended; those are taken from the waiting ones."""
    ended = 0
    for part in parts_of(answer, "tool_call"):
        name = str(part.get("name") or "")
        place = next((n for n, tool in enumerate(waiting) if is_same_tool(tool.tool_name or "", name)), None)
        if place is not None:
            ended = max(ended, waiting.pop(place).span.ended_at)
    return ended
