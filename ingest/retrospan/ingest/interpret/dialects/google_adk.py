"""Google's Agent Development Kit, telemetry schema 1 and 2.

Of its own: a tool that returns no object has its result under the one key `result`; in JavaScript a list is under
`results`. A span of a tool that puts together what several returned is not an execution.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Switch
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import Span


def _speaks(span: Span) -> bool:
    return span.scope == "gcp.vertex.agent"


#: What it calls the span in which it puts together what several tools returned.
_MERGED = "(merged tools)"


def _refine(span: NormalizedSpan) -> None:
    if span.operation == "tool" and span.tool_name == _MERGED:
        span.operation = "other"
        return
    if span.operation != "tool" or not isinstance(span.result, dict) or len(span.result) != 1:
        return
    ((key, returned),) = span.result.items()
    if key == "result" or (key == "results" and isinstance(returned, list)):
        span.result = returned


_CONTENT = (
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT"
)
DIALECT = Dialect(
    name="google_adk",
    speaks=_speaks,
    refine=_refine,
    switches=(Switch("messages", _CONTENT), Switch("results", _CONTENT)),
)
