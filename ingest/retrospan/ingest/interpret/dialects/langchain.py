"""LangChain and LangGraph through OpenInference. The general rules read them whole.

A tool's output is a serialised ToolMessage; a LangGraph node is a CHAIN or AGENT span whose input is the full state and
whose output is only what the node returned.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects import openinference
from retrospan.ingest.interpret.dialects.dialect import Dialect, Page, Source, Switch, of_package
from retrospan.ingest.interpret.spans.span import Span


def _speaks(span: Span) -> bool:
    return openinference.speaks(span) and span.scope.endswith("instrumentation.langchain")


_THREAD = 'config={"configurable": {"thread_id": "…"}} with each call of the graph'
_PAGE = Page(
    title="LangChain and LangGraph, with OpenInference",
    recognised="the attribute `openinference.span.kind`, and a scope that ends in `instrumentation.langchain`",
    sources=(
        *openinference.SOURCES,
        Source("node, step and thread of LangGraph", ("metadata",)),
        Source("state before and after a node", ("input.value", "output.value")),
    ),
    producers=(
        of_package(
            "LangChain, LangGraph", "openinference-instrumentation-langchain", openinference.NO_CALL_ID,
            "checkpoint ids: only the namespace of a checkpoint is there",
            "the state after a node: a node's output is what it returned, the rest is put together from it",
            setting="OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000",
        ),
    ),
)  # fmt: skip
DIALECT = Dialect(
    name="openinference.langchain",
    speaks=_speaks,
    page=_PAGE,
    switches=(
        *(switch for switch in openinference.SWITCHES if switch.layer != "conversation"),
        Switch("conversation", _THREAD),
    ),
)
