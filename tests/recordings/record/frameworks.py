"""The frameworks that can be recorded: what to install, which driver runs them, what to tell them."""

from __future__ import annotations

from dataclasses import dataclass, field

_OTEL = ("opentelemetry-sdk", "opentelemetry-exporter-otlp")
_COMMON = ("normal", "loop", "tool_error", "parallel", "multiturn", "llm_error")
_WITH_HANDOFF = (*_COMMON, "handoff")
_WITH_BIG = (*_COMMON, "big")
_EVERY = (*_COMMON, "big", "handoff")


@dataclass(frozen=True)
class Framework:
    """One instrumentation of one framework."""

    packages: tuple[str, ...]
    """What to install, the framework itself first: `--at` pins that one. Floors where a resolver would go back.

    A `pom.xml` says itself what to install; these are the packages whose versions a manifest names.
    """
    driver: str
    """File in drivers/: a script for Python or Node, or the `pom.xml` of a project in Java."""
    scenarios: tuple[str, ...] = _COMMON
    request_model: str = "gpt-4o-mini"
    response_model: str = "gpt-4o-mini-2024-07-18"
    protocol: str = "http/protobuf"
    settings: dict[str, str] = field(default_factory=dict)
    """Environment variables that the instrumentation needs to send contents."""

    python: str = ""
    """The version of Python that it needs, where that is not the one this runs with."""

    answers_apart: bool = False
    """Whether it asks for the answer in one more request, after the loop of tool calls."""


def _openinference(name: str, *packages: str) -> tuple[str, ...]:
    return (*packages, f"openinference-instrumentation-{name}", *_OTEL)


def _openllmetry(name: str, *packages: str) -> tuple[str, ...]:
    return (*packages, f"opentelemetry-instrumentation-{name}", *_OTEL)


_GEMINI = "gemini-2.5-flash"
_GENAI = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_only",
}
_LANGSMITH = {"LANGSMITH_TRACING": "true", "LANGSMITH_TRACING_MODE": "otel", "LANGSMITH_API_KEY": "none"}
#: For Node's SDK, which else says which machine it is.
_NO_MACHINE = {"OTEL_NODE_RESOURCE_DETECTORS": "env"}
#: For what calls home beside the spans: it finds nobody there.
_NOWHERE_ELSE = {"HTTPS_PROXY": "http://127.0.0.1:9"}

FRAMEWORKS: dict[str, Framework] = {
    "agentscope": Framework(("agentscope>=2", *_OTEL), "agentscope_agent.py"),
    "agno": Framework(_openinference("agno", "agno>=2", "openai"), "agno_agent.py"),
    "agno-openlit": Framework(("openlit", "agno>=2", "openai", *_OTEL), "agno_openlit.py"),
    "anthropic-langsmith": Framework(
        ("langsmith[otel]", "anthropic", *_OTEL),
        "anthropic_langsmith.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
        settings=_LANGSMITH,
    ),
    "anthropic-logfire": Framework(
        ("logfire", "anthropic", *_OTEL),
        "anthropic_logfire.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
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
        settings=_NO_MACHINE,
    ),
    "autogen-agentchat": Framework(
        ("autogen-agentchat>=0.7", "autogen-ext[openai]", *_OTEL), "autogen.py", _WITH_HANDOFF
    ),
    "anthropic-traceloop": Framework(
        _openllmetry("anthropic", "anthropic"),
        "anthropic_traceloop.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
    ),
    "autogen-openinference": Framework(
        _openinference("autogen-agentchat", "autogen-agentchat>=0.7", "autogen-ext[openai]"),
        "autogen_openinference.py",
        _WITH_HANDOFF,
    ),
    "autogen-mlflow": Framework(
        ("mlflow>=3", "autogen-agentchat>=0.7", "autogen-ext[openai]", *_OTEL),
        "autogen_mlflow.py",
        _WITH_HANDOFF,
    ),
    "azure-ai-inference": Framework(
        ("azure-ai-inference", "azure-core-tracing-opentelemetry", *_OTEL), "azure_inference.py"
    ),
    "beeai-openinference": Framework(_openinference("beeai", "beeai-framework", "mcp"), "beeai.py"),
    "claude-agent-sdk": Framework(
        ("claude-agent-sdk",),
        "claude_telemetry.py",
        _WITH_BIG,
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
    ),
    "claude-agent-sdk-openinference": Framework(
        _openinference("claude-agent-sdk", "claude-agent-sdk"),
        "claude.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
    ),
    "codex": Framework(
        ("@openai/codex", "@modelcontextprotocol/sdk@^1"),
        "codex.mjs",
        _WITH_BIG,
        request_model="gpt-5.1-codex",
        response_model="gpt-5.1-codex",
    ),
    "copilot-cli": Framework(
        ("@github/copilot", "@modelcontextprotocol/sdk@^1"),
        "copilot.mjs",
        _WITH_BIG,
    ),
    "crewai-openinference": Framework(
        _openinference("crewai", "crewai>=1"),
        "crew.py",
        settings={"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"},
    ),
    "crewai-openlit": Framework(
        ("openlit", "crewai>=1", *_OTEL),
        "crew_openlit.py",
        settings={"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"},
    ),
    "dspy-mlflow": Framework(("mlflow>=3", "dspy>=3", *_OTEL), "dspy_mlflow.py", answers_apart=True),
    "dspy-openinference": Framework(_openinference("dspy", "dspy>=3"), "dspy_react.py", answers_apart=True),
    "crewai-traceloop": Framework(
        _openllmetry("crewai", "crewai>=1", "opentelemetry-instrumentation-openai"),
        "crew_traceloop.py",
        settings={"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"},
    ),
    "gemini-cli": Framework(
        ("@google/gemini-cli", "@modelcontextprotocol/sdk@^1"),
        "gemini_cli.mjs",
        _WITH_BIG,
        request_model=_GEMINI,
        response_model=_GEMINI,
        protocol="grpc",
        settings=_NO_MACHINE,
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
        request_model=_GEMINI,
        response_model=_GEMINI,
        settings=_NO_MACHINE,
    ),
    "google-adk": Framework(
        ("google-adk>=2", *_OTEL),
        "adk.py",
        _WITH_HANDOFF,
        _GEMINI,
        _GEMINI,
        settings={**_GENAI, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_and_event"},
    ),
    "google-adk-js": Framework(
        # The API at the version that it has itself: two copies know nothing of each other.
        ("@google/adk", "@opentelemetry/api@1.9.0", "@opentelemetry/resources@^2", "zod@^4"),
        "adk.mjs",
        _WITH_HANDOFF,
        _GEMINI,
        _GEMINI,
        settings=_NO_MACHINE,
    ),
    "google-adk-openinference": Framework(
        _openinference("google-adk", "google-adk>=2"),
        "adk_openinference.py",
        _WITH_HANDOFF,
        _GEMINI,
        _GEMINI,
    ),
    "google-genai-openinference": Framework(
        _openinference("google-genai", "google-genai>=1"),
        "google_genai.py",
        request_model=_GEMINI,
        response_model=_GEMINI,
    ),
    "google-genai-openlit": Framework(
        ("openlit", "google-genai>=1", *_OTEL),
        "google_genai_openlit.py",
        request_model=_GEMINI,
        response_model=_GEMINI,
    ),
    "google-genai-traceloop": Framework(
        _openllmetry("google-generativeai", "google-genai>=1"),
        "google_genai_traceloop.py",
        request_model=_GEMINI,
        response_model=_GEMINI,
    ),
    "groq-openinference": Framework(
        _openinference("groq", "groq"),
        "groq_loop.py",
        request_model="llama-3.3-70b-versatile",
        response_model="llama-3.3-70b-versatile",
    ),
    "groq-traceloop": Framework(
        _openllmetry("groq", "groq"),
        "groq_traceloop.py",
        request_model="llama-3.3-70b-versatile",
        response_model="llama-3.3-70b-versatile",
    ),
    "haystack": Framework(
        ("haystack-ai>=3", "opentelemetry-haystack", *_OTEL),
        "haystack_tracer.py",
        settings={"HAYSTACK_CONTENT_TRACING_ENABLED": "true"},
    ),
    "haystack-langfuse": Framework(
        ("langfuse-haystack", "haystack-ai>=3", *_OTEL),
        "haystack_langfuse.py",
        settings={"HAYSTACK_CONTENT_TRACING_ENABLED": "true", "HAYSTACK_TELEMETRY_ENABLED": "False"},
    ),
    "haystack-openinference": Framework(_openinference("haystack", "haystack-ai>=2"), "haystack_agent.py"),
    "koog": Framework(
        ("ai.koog:koog-agents-jvm", "io.opentelemetry:opentelemetry-exporter-otlp"), "koog_agent/pom.xml"
    ),
    "langchain-genai": Framework(
        ("langchain>=1", "langchain-openai", "opentelemetry-instrumentation-genai-langchain", *_OTEL),
        "langchain_genai.py",
        settings=_GENAI,
    ),
    "langtrace": Framework(
        # It imports two packages that it does not ask for.
        ("langtrace-python-sdk", "openai", "importlib-metadata", "setuptools<81", *_OTEL),
        "openai_langtrace.py",
        settings={"LANGTRACE_ERROR_REPORTING": "False", **_NOWHERE_ELSE},
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
        settings=_NO_MACHINE,
    ),
    "langgraph-openinference": Framework(
        _openinference("langchain", "langgraph>=1", "langchain>=1", "langchain-openai"),
        "langgraph_agent.py",
    ),
    "langgraph-langfuse": Framework(
        ("langfuse>=3", "langgraph>=1", "langchain>=1", "langchain-openai", *_OTEL), "langfuse_langgraph.py"
    ),
    "langgraph-openlit": Framework(
        ("openlit", "langgraph>=1", "langchain>=1", "langchain-openai", *_OTEL), "langgraph_openlit.py"
    ),
    "langgraph-langwatch": Framework(
        ("langwatch>=1", "langgraph>=1", "langchain>=1", "langchain-openai", *_OTEL), "langgraph_langwatch.py"
    ),
    "langgraph-mlflow": Framework(
        ("mlflow>=3", "langgraph>=1", "langchain>=1", "langchain-openai", *_OTEL), "mlflow_langgraph.py"
    ),
    "litellm-langfuse": Framework(("litellm>=1.70", "mcp", *_OTEL), "litellm_langfuse.py"),
    "litellm-openinference": Framework(
        _openinference("litellm", "litellm>=1.70", "mcp"), "litellm_openinference.py"
    ),
    "litellm-otel": Framework(("litellm>=1.70", "mcp", *_OTEL), "litellm_loop.py"),
    "litellm-otel.request-span": Framework(
        ("litellm>=1.70", "mcp", *_OTEL),
        "litellm_loop.py",
        settings={"USE_OTEL_LITELLM_REQUEST_SPAN": "true"},
    ),
    "livekit-agents": Framework(
        ("livekit-agents>=1", "livekit-plugins-openai>=1", *_OTEL), "livekit_agent.py"
    ),
    "llama-index": Framework(
        _openinference("llama-index", "llama-index-core>=0.14", "llama-index-llms-openai"),
        "llama_index_agent.py",
    ),
    "llama-index-mlflow": Framework(
        ("mlflow>=3", "llama-index-core>=0.14", "llama-index-llms-openai", *_OTEL), "llama_index_mlflow.py"
    ),
    "llama-index-openlit": Framework(
        ("openlit", "llama-index-core>=0.14", "llama-index-llms-openai", *_OTEL), "llama_index_openlit.py"
    ),
    "llama-index-traceloop": Framework(
        _openllmetry("llamaindex", "llama-index-core>=0.14", "llama-index-llms-openai"),
        "llama_index_traceloop.py",
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
    "mirascope": Framework(("mirascope[openai,anthropic,google,ops]>=2", *_OTEL), "mirascope_loop.py"),
    "mistralai-openinference": Framework(
        _openinference("mistralai", "mistralai"),
        "mistral_loop.py",
        request_model="mistral-small-latest",
        response_model="mistral-small-latest",
    ),
    "ollama-traceloop": Framework(
        ("ollama", "traceloop-sdk", "opentelemetry-instrumentation-ollama", *_OTEL),
        "ollama_traceloop.py",
        request_model="llama3.2",
        response_model="llama3.2",
    ),
    "openai-agents": Framework(
        _openinference("openai-agents", "openai-agents"),
        "openai_agents.py",
        _WITH_HANDOFF,
        protocol="grpc",
    ),
    "openai-agents-agentops": Framework(
        ("agentops", "openai-agents", *_OTEL), "openai_agents_agentops.py", _WITH_HANDOFF
    ),
    "openai-agents-langsmith": Framework(
        ("langsmith[otel,openai-agents]", "openai-agents", *_OTEL),
        "openai_agents_langsmith.py",
        _EVERY,
        settings=_LANGSMITH,
    ),
    "openai-agents-logfire": Framework(
        ("logfire", "openai-agents", *_OTEL), "openai_agents_logfire.py", _WITH_HANDOFF
    ),
    "openai-agents-mlflow": Framework(
        ("mlflow>=3", "openai-agents", *_OTEL), "openai_agents_mlflow.py", _WITH_HANDOFF
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
        _EVERY,
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
        settings=_NO_MACHINE,
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
            **_NO_MACHINE,
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_LOGS_EXPORTER": "otlp",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
        },
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
    "openhands": Framework(
        ("openhands-sdk>=1",),
        "openhands_agent.py",
        settings={"OTEL_EXPORTER": "otlp_http"},
        python="3.12",
    ),
    "pipecat": Framework(("pipecat-ai[openai,tracing]>=1", *_OTEL), "pipecat_voice.py"),
    "plain-http": Framework(_OTEL, "plain_http.py"),
    "pydantic-ai": Framework(("pydantic-ai-slim[openai]>=2", *_OTEL), "pydantic_ai_agent.py"),
    "pydantic-ai-mlflow": Framework(
        ("mlflow>=3", "pydantic-ai-slim[openai]>=2", *_OTEL), "pydantic_ai_mlflow.py"
    ),
    "pydantic-ai-openinference": Framework(
        _openinference("pydantic-ai", "pydantic-ai-slim[openai]>=2"), "pydantic_ai_openinference.py"
    ),
    "semantic-kernel": Framework(
        ("semantic-kernel>=1.30", *_OTEL),
        "semantic.py",
        settings={"SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE": "true"},
    ),
    "smolagents": Framework(_openinference("smolagents", "smolagents[openai]>=1.20"), "smol.py"),
    "smolagents-mlflow": Framework(("mlflow>=3", "smolagents[openai]>=1.20", *_OTEL), "smol_mlflow.py"),
    "spring-ai-langfuse": Framework(
        (
            "org.springframework.ai:spring-ai-starter-model-openai",
            "org.springframework.boot:spring-boot-starter-opentelemetry",
            "io.micrometer:micrometer-tracing-bridge-otel",
            "io.opentelemetry:opentelemetry-sdk",
        ),
        "spring_ai_langfuse/pom.xml",
        _WITH_BIG,
    ),
    "strands": Framework(("strands-agents[openai,otel]>=1", *_OTEL), "strands_agent.py", protocol="grpc"),
    "strands-openinference": Framework(
        _openinference("strands-agents", "strands-agents[openai,otel]>=1"), "strands_openinference.py"
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
        _WITH_BIG,
        settings=_NO_MACHINE,
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
        settings=_NO_MACHINE,
    ),
    "trulens-langgraph": Framework(
        (
            "trulens-core>=2",
            "trulens-apps-langgraph>=2",
            "langgraph>=1",
            "langchain>=1",
            "langchain-openai",
            *_OTEL,
        ),
        "trulens_langgraph.py",
    ),
    "together-traceloop": Framework(
        ("together>=1", "traceloop-sdk", "opentelemetry-instrumentation-together", *_OTEL),
        "together_traceloop.py",
    ),
}
