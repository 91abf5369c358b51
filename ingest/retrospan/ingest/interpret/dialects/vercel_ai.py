"""The AI SDK of Vercel: `ai.*` beside a few `gen_ai.*`. The general rules read it whole."""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Switch
from retrospan.ingest.interpret.spans.span import Span


def _speaks(span: Span) -> bool:
    return span.scope == "ai"


_RECORDED = "experimental_telemetry: {isEnabled: true, recordInputs: true, recordOutputs: true}"
DIALECT = Dialect(
    name="vercel_ai",
    speaks=_speaks,
    switches=(
        Switch("messages", _RECORDED),
        Switch("results", _RECORDED),
        Switch("conversation", "experimental_telemetry: {isEnabled: true, metadata: {session_id: '…'}}"),
    ),
)
