"""LangSmith's SDK in its OTel mode: LangChain and LangGraph. The general rules read it whole."""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Switch
from retrospan.ingest.interpret.spans.span import Span


def _speaks(span: Span) -> bool:
    return span.scope == "langsmith"


_HIDDEN = "LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS must not be true"
DIALECT = Dialect(
    name="langsmith",
    speaks=_speaks,
    switches=(Switch("messages", _HIDDEN), Switch("results", _HIDDEN)),
)
