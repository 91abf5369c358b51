"""Kinds of spans that failed: what ended with an error may have nothing left to be known by, but it is called as others are.

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


def _is_misnamed(span: NormalizedSpan) -> bool:
    """Tell whether a span that failed is called a tool, names none, and was given what a model is given."""
    return (
        span.operation == "tool"
        and span.failed
        and are_messages(span.arguments)
        and not span.fields.has_any(span.names.tools)
    )


def _is_bare(span: NormalizedSpan) -> bool:
    """Tell whether a span that was told whole says nothing at all."""
    sent = span.sent
    return not (sent.attributes or sent.events or sent.logs or sent.is_placeholder) and bool(sent.ended_at)


def _called(span: NormalizedSpan, kind: str) -> tuple[str, str, str]:
    """Return what spans of a kind and of one instrumentation have in common in their names: agents only the word."""
    word = span.sent.name.partition(" ")[0]
    return kind, span.sent.scope, word if kind == "agent" and word == _AGENT else span.sent.name
