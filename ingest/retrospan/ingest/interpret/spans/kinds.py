"""The kinds of the known attributes: a value of another kind is ignored and listed as a problem."""

from __future__ import annotations

from retrospan.ingest.interpret.spans.key import MOST_SMALL, whole_number
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_fields import MOST_COUNT, SpanFields, whole
from retrospan.schemas.attributes import (
    ATTEMPT,
    BACKOFF_MS,
    CONTEXT_LIMIT,
    CONTEXT_TOKENS,
    FORK_STEP,
    STEP_INDEX,
    STEP_TOTAL,
)

#: What agents number and count by our own names.
_SMALL = frozenset((ATTEMPT, BACKOFF_MS, CONTEXT_LIMIT, CONTEXT_TOKENS, FORK_STEP, STEP_INDEX, STEP_TOTAL))


def check_kinds(span: Span, places: SpanFields, problems: ParseIssues) -> None:
    """List the known attributes of a span whose value is of another kind than they hold; null is not a value at all."""
    attributes = span.attributes
    for key in places.among(places.names.texts):
        value = attributes[key]
        if not isinstance(value, str) and value is not None:
            problems.add(span.span_id, key, value, f"text expected, not {_named(value)}")
    for key in places.among(_SMALL):
        value = attributes[key]
        if value is not None and whole_number(value) is None:
            problems.add(span.span_id, key, value, f"not a whole number from 0 to {MOST_SMALL:,}")
    for key in places.among(places.names.counts - _SMALL):
        value = attributes[key]
        if value is not None and whole(value) is None:
            problems.add(span.span_id, key, value, f"not a whole number from 0 to {MOST_COUNT:,}")


def _named(value: object) -> str:
    names = {bool: "a truth value", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), "something else")
