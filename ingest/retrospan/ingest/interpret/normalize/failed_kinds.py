"""Kinds that spans lack, or have wrong: requests that are called tools, and spans that failed.

What ended with an error may have nothing left to be known by, but it is called as others are.

Some end without a word of that: what is called as model calls are, and says nothing at all, is one of which nothing is
known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.exchange import are_messages

#: The word that the conventions put before the name of an agent.
_AGENT = "invoke_agent"
_KINDS = ("inference", "agent")


def failed_kinds(spans: Sequence[NormalizedSpan]) -> Iterator[tuple[int, str]]:
    """Yield the places of spans of unknown kind that failed, each with the kind of those that are called so."""
    known = {_called(span, span.operation) for span in spans if span.operation in _KINDS}
    above: set[str] | None = None
    for place, span in enumerate(spans if known else ()):
        if not (_is_misnamed(span) or (span.operation == "other" and (span.failed or _is_bare(span)))):
            continue
        kind = next((kind for kind in _KINDS if _called(span, kind) in known), None)
        if kind is None or not (span.failed or kind == _KINDS[0]):
            continue
        if not span.failed:
            above = {each.sent.parent_span_id for each in spans} if above is None else above
            if span.sent.span_id in above:
                continue  # around others
        yield place, kind


def misnamed_requests(spans: Sequence[NormalizedSpan]) -> Iterator[int]:
    """Yield the places of spans that are called tools, and are requests to a model.

    Instrumentations know their own functions as tools. Such a span names no tool, was given messages and returned the whole
    response to them; and no request is told inside of it, as in a tool that asks a model.
    """
    found = [
        place for place, span in enumerate(spans) if _names_no_tool(span) and span.fields.holds_exchange()
    ]
    if not found:
        return
    parents = {span.sent.span_id: span.sent.parent_span_id for span in spans}
    around = set[str]()
    for span in spans:
        above = span.sent.parent_span_id if span.operation == "inference" else ""
        while above and above not in around:
            around.add(above)
            above = parents.get(above, "")
    yield from (place for place in found if spans[place].sent.span_id not in around)


def _names_no_tool(span: NormalizedSpan) -> bool:
    return span.operation == "tool" and not span.fields.has_any(span.names.tools)


def _is_misnamed(span: NormalizedSpan) -> bool:
    """Tell whether a span that failed is called a tool, names none, and was given what a model is given."""
    return span.failed and _names_no_tool(span) and are_messages(span.arguments)


def _is_bare(span: NormalizedSpan) -> bool:
    """Tell whether a span that was told whole says nothing at all."""
    sent = span.sent
    return not (sent.attributes or sent.events or sent.logs or sent.is_placeholder) and bool(sent.ended_at)


def _called(span: NormalizedSpan, kind: str) -> tuple[str, str, str]:
    """Return what spans of a kind and of one instrumentation have in common in their names: agents only the word."""
    word = span.sent.name.partition(" ")[0]
    return kind, span.sent.scope, word if kind == "agent" and word == _AGENT else span.sent.name
