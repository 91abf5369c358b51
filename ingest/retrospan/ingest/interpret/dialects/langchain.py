"""LangChain and LangGraph through OpenInference. The general rules read them whole.

A tool's output is a serialised ToolMessage; a LangGraph node is a CHAIN or AGENT span whose input is the full state and
whose output is only what the node returned.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects import openinference
from retrospan.ingest.interpret.dialects.dialect import Dialect, Switch
from retrospan.ingest.interpret.spans.span import Span


def _speaks(span: Span) -> bool:
    return openinference.speaks(span) and span.scope.endswith("instrumentation.langchain")


_THREAD = 'config={"configurable": {"thread_id": "…"}} with each call of the graph'
DIALECT = Dialect(
    name="openinference.langchain",
    speaks=_speaks,
    switches=(
        *(switch for switch in openinference.SWITCHES if switch.layer != "conversation"),
        Switch("conversation", _THREAD),
    ),
)
