"""LangSmith's SDK in its OTel mode: LangChain and LangGraph. The general rules read it whole."""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Page, Producer, Source, Switch
from retrospan.ingest.interpret.spans.span import Span


def _speaks(span: Span) -> bool:
    return span.scope == "langsmith"


_HIDDEN = "LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS must not be true"
_PAGE = Page(
    title="LangSmith's SDK",
    recognised="the scope `langsmith`",
    sources=(
        Source("operation", ("langsmith.span.kind", "gen_ai.operation.name")),
        Source("conversation, node and step of LangGraph", ("langsmith.metadata.*",)),
        Source("provider", ("gen_ai.system",)),
        Source("model asked for", ("gen_ai.request.model",)),
        Source("messages; state before and after a node", ("gen_ai.prompt", "gen_ai.completion")),
        Source("tool definitions", ("gen_ai.tool.definitions",)),
        Source("tool's name and call id", ("gen_ai.tool.name", "gen_ai.tool.call.id")),
        Source("arguments and result", ("gen_ai.prompt", "gen_ai.completion")),
        Source("tokens", ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")),
        Source("failure", ("the span's status", "the event exception")),
    ),
    producers=(
        Producer(
            "LangChain, LangGraph",
            "export LANGSMITH_TRACING=true LANGSMITH_OTEL_ENABLED=true LANGSMITH_OTEL_ONLY=true\n"
            "export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318\n"
            "python my_agent.py",
            lacks=("checkpoint ids: only the namespace of a checkpoint is there",),
        ),
    ),
)  # fmt: skip
DIALECT = Dialect(
    name="langsmith",
    speaks=_speaks,
    page=_PAGE,
    switches=(Switch("messages", _HIDDEN), Switch("results", _HIDDEN)),
)
