"""LangWatch's SDK, over a tracer provider of one's own.

Particular to it: it calls models after their vendor, `openai/gpt-4o-mini`, whatever they were asked for by.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Switch
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import Span

#: What it calls a vendor or a model that it cannot tell.
_UNKNOWN = "unknown"


def _speaks(span: Span) -> bool:
    return span.scope == "langwatch"


def _refine(span: NormalizedSpan) -> None:
    vendor, _, model = (span.request_model or "").partition("/")
    if vendor and model:
        span.request_model = None if model == _UNKNOWN else model
        span.provider = span.provider or (None if vendor == _UNKNOWN else vendor)


_CAPTURED = "capture_input and capture_output of its decorators must not be False"
DIALECT = Dialect(
    name="langwatch",
    speaks=_speaks,
    refine=_refine,
    switches=(Switch("messages", _CAPTURED), Switch("results", _CAPTURED)),
)
