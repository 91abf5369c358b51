"""The OTel GenAI instrumentations: content on spans, in log events, or both. The general rules read them whole."""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Page, Producer, Source, Switch, of_package
from retrospan.ingest.interpret.spans.span import Span


def _speaks(span: Span) -> bool:
    return "gen_ai.operation.name" in span.attributes


_OLDER = (
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only"
)
_ONLY_REQUESTS = "the tools and the loop: it sees the requests only"
_PAGE = Page(
    title="OTel GenAI conventions",
    recognised="the attribute `gen_ai.operation.name`",
    sources=(
        Source("operation", ("gen_ai.operation.name",)),
        Source("agent", ("gen_ai.agent.name",)),
        Source("conversation", ("gen_ai.conversation.id", "session.id")),
        Source("provider", ("gen_ai.provider.name", "gen_ai.system")),
        Source("model", ("gen_ai.request.model", "gen_ai.response.model")),
        Source(
            "messages",
            (
                "gen_ai.input.messages", "gen_ai.output.messages", "log record gen_ai.client.inference.operation.details",
                "log record gen_ai.user.message", "log record gen_ai.choice", "event gen_ai.user.message",
                "event gen_ai.choice",
            ),
        ),
        Source("system instructions", ("gen_ai.system_instructions",)),
        Source("tool definitions", ("gen_ai.tool.definitions",)),
        Source("tool's name and call id", ("gen_ai.tool.name", "gen_ai.tool.call.id")),
        Source("arguments", ("gen_ai.tool.call.arguments", "event gen_ai.tool.message")),
        Source("result", ("gen_ai.tool.call.result", "event gen_ai.choice")),
        Source("tokens", ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")),
        Source("finish reasons", ("gen_ai.response.finish_reasons",)),
        Source("failure", ("error.type", "the span's status", "the event exception")),
    ),
    producers=(
        of_package(
            "OpenAI's client", "opentelemetry-instrumentation-genai-openai", _ONLY_REQUESTS,
            "with the Responses API, the id of the answer that a request continues",
            setting="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only",
        ),
        Producer(
            "Pydantic AI",
            "from pydantic_ai import Agent\n\n"
            "Agent.instrument_all()  # then: opentelemetry-instrument python my_agent.py",
            "python",
            ("the prompt of a request that failed",),
        ),
        Producer(
            "Strands Agents",
            "from strands.telemetry import StrandsTelemetry\n\n"
            "StrandsTelemetry().setup_otlp_exporter()  # OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318",
            "python",
            ("the model that answered",),
        ),
        Producer(
            "Microsoft Agent Framework",
            "from agent_framework.observability import configure_otel_providers\n\n"
            "configure_otel_providers(enable_sensitive_data=True)  # OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317",
            "python",
            ("a conversation",),
        ),
    ),
)  # fmt: skip
DIALECT = Dialect(
    name="genai",
    speaks=_speaks,
    page=_PAGE,
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
