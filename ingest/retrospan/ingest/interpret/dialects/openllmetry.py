"""OpenLLMetry (Traceloop): `traceloop.*` beside `gen_ai.*`.

Of its own: a LangChain tool's arguments are the text Python prints for them, inside JSON with tags and metadata.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Switch
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_names import names_of_span
from retrospan.ingest.json_text import Unreadable, read_value


def _speaks(span: Span) -> bool:
    return "\ntraceloop." in names_of_span(span).listed


def _refine(span: NormalizedSpan) -> None:
    given = span.arguments
    if span.operation == "tool" and isinstance(given, dict) and isinstance(given.get("input_str"), str):
        text = given["input_str"]
        read = read_value(text)
        printed = read_repr(text) if isinstance(read, str) else read
        span.arguments = text if isinstance(printed, Unreadable) else printed


_CONTENT = "TRACELOOP_TRACE_CONTENT must not be false"
DIALECT = Dialect(
    name="openllmetry",
    speaks=_speaks,
    refine=_refine,
    switches=(
        Switch("messages", _CONTENT),
        Switch("results", _CONTENT, "opentelemetry.instrumentation.langchain"),
        Switch("conversation", 'Traceloop.set_association_properties({"session_id": "…"})'),
    ),
)
