"""The system instructions of a request: from their attribute, the head of the prompt, a whole request, or its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from retrospan.ingest.interpret.messages.message import Part
from retrospan.ingest.interpret.messages.message_parts import read_part
from retrospan.ingest.interpret.messages.provider_payloads import parse_request
from retrospan.ingest.interpret.messages.tool_results import UNPRINTED
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.toolspan import unquoted
from retrospan.ingest.interpret.normalize.unusual_places import in_blocks
from retrospan.ingest.interpret.spans.name_words import INSTRUCTIONS, means_itself
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.small_shapes import parameters_by_shape
from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.ingest.json_text import Unreadable, read_json
from retrospan.schemas import semconv

#: Under which name a response repeats them, and what has the fields of one beside it.
_INSTRUCTIONS = "instructions"
_NAMED = f'"{_INSTRUCTIONS}"'
_OF_RESPONSE = {"id", "created_at", "model", _INSTRUCTIONS}


def read_instructions(
    system: object, places: SpanFields, span: NormalizedSpan, problems: ParseIssues
) -> list[Part]:
    """Return the parts of system instructions; a plain text is one, half a list of parts is not one."""
    value = unquoted(places.read(system))
    if isinstance(value, str) and value.startswith(("[{", '{"')):
        why = read_json(value)
        reason = why.reason if isinstance(why, Unreadable) else "not a list of parts"
        problems.add(span.sent.span_id, semconv.SYSTEM_INSTRUCTIONS, value, reason)
        return []
    return [read_part(part) for part in (value if isinstance(value, list) else [value])]


def complete_instructions(places: SpanFields, span: NormalizedSpan) -> None:
    """Take the messages of a system off the head of the prompt, and find the instructions elsewhere where there are none, in
    place."""
    leading: list[Part] = []
    while span.input and span.input[0]["role"] == "system":
        leading += span.input.pop(0)["parts"]
    if not span.system or (leading and _is_unprinted(span.system)):
        span.system = leading
    if not span.system and span.operation == "inference":
        span.system = next(filter(None, _told_whole(places)), [])
    span.system = [each for part in span.system for each in in_blocks(part)]
    if not span.system and span.operation == "inference":
        span.system = next(
            (
                [read_part(unquoted(said))]
                for name, said in places.named(INSTRUCTIONS)
                if isinstance(said, str) and said and not means_itself(name)
            ),
            [],
        ) or next(filter(None, chain(_among_parameters(places, span), _repeated(places, span))), [])


def _is_unprinted(parts: list[Part]) -> bool:
    """Tell whether a text is only what JavaScript prints for any object."""
    return len(parts) == 1 and UNPRINTED.fullmatch(str(parts[0].get("content"))) is not None


def _told_whole(places: SpanFields) -> Iterator[list[Part]]:
    """Yield the instructions of whole requests, and those that a response of OpenAI's Responses API repeats."""
    for value in places.requests:
        yield parse_request(places.read(value)).system
    for value in places.responses:
        said = places.read(value)
        if isinstance(said, dict) and "output" in said and isinstance(said.get("instructions"), str):
            yield parse_request(said).system


def _among_parameters(places: SpanFields, span: NormalizedSpan) -> Iterator[list[Part]]:
    """Yield the instructions that stand among the parameters of a request, as Anthropic's API has them."""
    parameters = parameters_by_shape(span.sent.attributes, places.read)
    if parameters is not None:
        yield parse_request(parameters).system


def _repeated(places: SpanFields, span: NormalizedSpan) -> Iterator[list[Part]]:
    """Yield the instructions that a response of OpenAI's Responses API repeats of which only the fields around its answer are
    told, under any name."""
    for value in span.sent.attributes.values():
        if isinstance(value, str) and value[:1] == "{" and _NAMED in value:
            said = places.read(value)
            if (
                isinstance(said, dict)
                and said.keys() >= _OF_RESPONSE
                and isinstance(said[_INSTRUCTIONS], str)
            ):
                yield parse_request(said).system
