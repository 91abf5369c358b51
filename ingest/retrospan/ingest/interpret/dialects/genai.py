"""The OTel GenAI instrumentations: content on spans, in log events, or both. The general rules read them whole."""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Switch
from retrospan.ingest.interpret.spans.span import Span
from retrospan.schemas import semconv


def _speaks(span: Span) -> bool:
    return semconv.OPERATION_NAME in span.attributes


_OLDER = (
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only"
)
DIALECT = Dialect(
    name="genai",
    speaks=_speaks,
    switches=(
        Switch("messages", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only"),
        Switch("messages", _OLDER, "opentelemetry.util.genai"),
        Switch("messages", _OLDER, "opentelemetry.instrumentation.openai_v2"),
        Switch("messages", "InstrumentationSettings(include_content=True), the default", "pydantic-ai"),
        Switch("results", "InstrumentationSettings(include_content=True), the default", "pydantic-ai"),
        Switch("messages", "configure_otel_providers(enable_sensitive_data=True)", "agent_framework"),
        Switch("results", "configure_otel_providers(enable_sensitive_data=True)", "agent_framework"),
    ),
)
