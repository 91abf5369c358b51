"""One small module per instrumentation dialect: what is particular to it, as pure functions of one normalized span.

A dialect is recognised first by its scope's name, then by a marker attribute. What several share belongs in the general
rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.dialects import (
    autogen,
    crewai,
    genai,
    google_adk,
    langchain,
    langsmith,
    langwatch,
    llama_index,
    mlflow,
    openinference,
    openllmetry,
    spring_ai,
    vercel_ai,
)
from retrospan.ingest.interpret.dialects.dialect import Dialect
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_names import SpanNames, names_of_span

#: In order of recognition: the special before the general.
DIALECTS: tuple[Dialect, ...] = (
    langchain.DIALECT,
    google_adk.DIALECT,
    autogen.DIALECT,
    crewai.DIALECT,
    llama_index.DIALECT,
    openinference.DIALECT,
    langsmith.DIALECT,
    langwatch.DIALECT,
    mlflow.DIALECT,
    vercel_ai.DIALECT,
    openllmetry.DIALECT,
    spring_ai.DIALECT,
    genai.DIALECT,
)


def dialect_of(span: Span, dialects: Sequence[Dialect] = DIALECTS) -> Dialect | None:
    """Return the dialect of a span, or None if only the general rules apply."""
    names = names_of_span(span)
    if dialects is not DIALECTS or not names.is_short:
        return _spoken(span, dialects)
    key = (span.scope, span.is_open, names)
    known = _KNOWN.get(key, _UNKNOWN)
    if isinstance(known, _Unknown):
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        known = _KNOWN[key] = _spoken(span, dialects)
    return known


def _spoken(span: Span, dialects: Sequence[Dialect]) -> Dialect | None:
    for dialect in dialects:
        if dialect.speaks(span):
            return dialect
    return None


class _Unknown:
    """Stands for a dialect that was not asked for yet."""


_UNKNOWN = _Unknown()
#: The dialect by all that tells it; names that are equal are one object for as long as they are remembered.
_KNOWN: dict[tuple[str, bool, SpanNames], Dialect | None] = {}
_MOST_KNOWN = 256
