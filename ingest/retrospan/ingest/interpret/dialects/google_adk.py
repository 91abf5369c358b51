"""Google's Agent Development Kit, telemetry schema 1 and 2.

Of its own: a tool that returns no object has its result under the one key `result`.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Page, Producer, Source, Switch
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import Span


def _speaks(span: Span) -> bool:
    return span.scope == "gcp.vertex.agent"


def _refine(reading: NormalizedSpan) -> None:
    if reading.operation == "tool" and isinstance(reading.result, dict) and set(reading.result) == {"result"}:
        reading.result = reading.result["result"]


_CONTENT = (
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT"
)
_PAGE = Page(
    title="Google Agent Development Kit",
    recognised="the scope `gcp.vertex.agent`",
    sources=(
        Source("operation", ("gen_ai.operation.name",)),
        Source("agent", ("gen_ai.agent.name",)),
        Source("conversation", ("gen_ai.conversation.id", "gcp.vertex.agent.session_id")),
        Source("model asked for", ("gen_ai.request.model",)),
        Source(
            "messages",
            (
                "gen_ai.input.messages", "gen_ai.output.messages", "log record gen_ai.client.inference.operation.details",
                "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response",
            ),
        ),
        Source("system instructions", ("gen_ai.system_instructions",)),
        Source("tool definitions", ("gen_ai.tool.definitions",)),
        Source("tool's name and call id", ("gen_ai.tool.name", "gen_ai.tool.call.id")),
        Source("arguments", ("gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args")),
        Source("result", ("gen_ai.tool.call.result", "gcp.vertex.agent.tool_response")),
        Source("tokens", ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")),
        Source("failure", ("error.type", "the span's status", "the event exception")),
    ),
    producers=(
        Producer(
            "Google ADK",
            "export OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental\n"
            "export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT OTEL_METRICS_EXPORTER=none\n"
            "opentelemetry-instrument python my_agent.py",
            lacks=(
                "the model that answered, in schema 2",
                "what a tool changed in the session's state",
                "an exception event of a tool's error that the agent handled",
            ),
        ),
    ),
    own="A tool that returns no object has its result under the one key result, which is taken off.",
)  # fmt: skip
DIALECT = Dialect(
    name="google_adk",
    speaks=_speaks,
    page=_PAGE,
    refine=_refine,
    switches=(Switch("messages", _CONTENT), Switch("results", _CONTENT)),
)
