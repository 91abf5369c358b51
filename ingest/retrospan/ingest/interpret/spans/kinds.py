"""The kinds of the known attributes: a value of another kind is ignored and listed as a problem."""

from __future__ import annotations

from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_fields import whole
from retrospan.ingest.interpret.spans.vocabulary import Vocabulary


def check_kinds(span: Span, names: Vocabulary, problems: ParseIssues) -> None:
    """List the known attributes of a span whose value is of another kind than they hold; null is not a value at all."""
    attributes = span.attributes
    others = [
        key
        for key, value in attributes.items()
        if type(value) is not str and value is not None and key in names.texts
    ]
    for key in sorted(others) if others else ():
        value = attributes[key]
        problems.add(span.span_id, key, value, f"text expected, not {_named(value)}")
    others = [
        key
        for key, value in attributes.items()
        if key in names.counts and value is not None and whole(value) is None
    ]
    for key in sorted(others) if others else ():
        problems.add(span.span_id, key, attributes[key], "not a whole number of at least 0")


def _named(value: object) -> str:
    names = {bool: "a truth value", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), "something else")
