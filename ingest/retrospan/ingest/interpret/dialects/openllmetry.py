"""OpenLLMetry (Traceloop): `traceloop.*` beside `gen_ai.*`.

Of its own: a LangChain tool's arguments are the text Python prints for them, inside JSON with tags and metadata.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Page, Producer, Source, Switch, of_package
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.json_text import Unreadable, read_value


def _speaks(span: Span) -> bool:
    return any(key.startswith("traceloop.") for key in span.attributes)


def _refine(reading: NormalizedSpan) -> None:
    given = reading.arguments
    if reading.operation == "tool" and isinstance(given, dict) and isinstance(given.get("input_str"), str):
        text = given["input_str"]
        read = read_value(text)
        printed = read_repr(text) if isinstance(read, str) else read
        reading.arguments = text if isinstance(printed, Unreadable) else printed


_CONTENT = "TRACELOOP_TRACE_CONTENT must not be false"
_PAGE = Page(
    title="OpenLLMetry (Traceloop)",
    recognised="an attribute that starts with `traceloop.`",
    sources=(
        Source("operation", ("gen_ai.operation.name", "traceloop.span.kind")),
        Source("agent", ("gen_ai.agent.name",)),
        Source("conversation", ("traceloop.association.properties.*",)),
        Source("provider", ("gen_ai.provider.name",)),
        Source("model", ("gen_ai.request.model", "gen_ai.response.model")),
        Source("messages", ("gen_ai.input.messages", "gen_ai.output.messages")),
        Source("system instructions", ("gen_ai.system_instructions",)),
        Source("tool definitions", ("gen_ai.tool.definitions",)),
        Source("tool's name", ("gen_ai.tool.name", "traceloop.entity.name")),
        Source("arguments", ("gen_ai.tool.call.arguments", "traceloop.entity.input")),
        Source("result", ("gen_ai.tool.call.result", "traceloop.entity.output")),
        Source("state before and after a node", ("traceloop.entity.input", "traceloop.entity.output")),
        Source("tokens", ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")),
        Source("finish reasons", ("gen_ai.response.finish_reasons",)),
        Source("failure", ("error.type", "the span's status", "the event exception")),
    ),
    producers=(
        of_package(
            "LangChain, LangGraph", "opentelemetry-instrumentation-langchain",
            "the id of a tool call on the tool's span: it is found by name, arguments and order",
        ),
        Producer(
            "Traceloop SDK",
            'from traceloop.sdk import Traceloop\n\nTraceloop.init(app_name="support", api_endpoint="http://127.0.0.1:4318")',
            "python",
            ("the id of a tool call on the tool's span: it is found by name, arguments and order",),
        ),
    ),
    own="A LangChain tool's arguments are the text that Python prints for them, inside JSON: that text is read.",
)  # fmt: skip
DIALECT = Dialect(
    name="openllmetry",
    speaks=_speaks,
    page=_PAGE,
    refine=_refine,
    switches=(
        Switch("messages", _CONTENT),
        Switch("results", _CONTENT, "opentelemetry.instrumentation.langchain"),
        Switch("conversation", 'Traceloop.set_association_properties({"session_id": "…"})'),
    ),
)
