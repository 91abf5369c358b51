"""Executions of tools without a kind that says so: inside a request, a span names a tool and holds an object of arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.name_words import words_of
from retrospan.ingest.interpret.spans.span import Span

#: How an attribute is called that names a tool, and what a name of one can be.
_TOOL = re.compile(r"(?:^|[.:_/])tool$")
_NAME = re.compile(r"[A-Za-z_][\w.:/-]{0,127}\Z")
_GIVEN = frozenset(("arguments", "args", "kwargs", "parameters", "input"))


def named_executions(spans: Sequence[NormalizedSpan]) -> Iterator[int]:
    """Yield the places of spans of no known kind that execute a tool for the request around them.

    A span elsewhere may tell of a tool that it registers, or describes.
    """
    found = [place for place, span in enumerate(spans) if span.operation == "other" and _is_named(span)]
    if not found:
        return
    known = {span.sent.span_id: span for span in spans}
    nearest: dict[str, str] = {}
    yield from (place for place in found if _kind_above(spans[place], known, nearest) == "inference")


def tool_named(sent: Span) -> str | None:
    """Return the tool that the only attribute for one names, as `tool` or `acme.tool`."""
    named = {
        value.strip('"')
        for name, value in sent.attributes.items()
        if name[-4:] == "tool" and isinstance(value, str) and _TOOL.search(name)
    }
    return next(iter(named)) if len(named) == 1 and all(map(_NAME.match, named)) else None


def _is_named(span: NormalizedSpan) -> bool:
    if tool_named(span.sent) is None:
        return False
    return any(
        isinstance(span.fields.read(value), dict)
        for name, value in span.sent.attributes.items()
        if not _GIVEN.isdisjoint(words_of(name))
    )


def _kind_above(span: NormalizedSpan, known: Mapping[str, NormalizedSpan], nearest: dict[str, str]) -> str:
    """Return the operation of the next span above of a known kind, '' where there is none; noted for all on the way."""
    passed = [span.sent.span_id]
    above = known.get(span.sent.parent_span_id)
    while above is not None and above.operation == "other" and above.sent.span_id not in nearest:
        nearest[above.sent.span_id] = ""  # until it is known; a circle ends here
        passed.append(above.sent.span_id)
        above = known.get(above.sent.parent_span_id)
    found = "" if above is None else nearest.get(above.sent.span_id, above.operation)
    nearest.update(dict.fromkeys(passed, found))
    return found
