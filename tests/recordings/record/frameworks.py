"""The frameworks that are recorded, by name."""

from __future__ import annotations

from recordings.record.framework import (
    EVERY,
    GEMINI,
    GENAI,
    LANGSMITH,
    NOWHERE_ELSE,
    OTEL,
    WITH_BIG,
    WITH_HANDOFF,
    Framework,
    openinference,
    openllmetry,
)
from recordings.record.frameworks_built import BUILT
from recordings.record.frameworks_in_node import IN_NODE
from recordings.record.frameworks_of_clients import CLIENTS
from recordings.record.frameworks_of_langgraph import LANGGRAPH

FRAMEWORKS: dict[str, Framework] = {
    **BUILT,
    **CLIENTS,
    **IN_NODE,
    **LANGGRAPH,
    "ag2-openlit": Framework(
        # OpenLIT looks for the module `autogen`, which AG2 1 does not have.
        ("ag2[openai]>=0.14,<1", "openlit", *OTEL),
        "ag2_openlit.py",
    ),
    "agentscope": Framework(("agentscope>=2", *OTEL), "agentscope_agent.py"),
    "agno": Framework(openinference("agno", "agno>=2", "openai"), "agno_agent.py"),
    "agno-openlit": Framework(("openlit", "agno>=2", "openai", *OTEL), "agno_openlit.py"),
    "agno-traceai": Framework(
        openinference("agno", "traceai-agno", "agno>=2", "openai"),
        "agno_traceai.py",
    ),
    "agno-traceloop": Framework(
        openllmetry("agno", "agno>=2", "openai", "opentelemetry-instrumentation-openai"), "agno_traceloop.py"
    ),
    "autogen-agentchat": Framework(
        ("autogen-agentchat>=0.7", "autogen-ext[openai]", *OTEL), "autogen.py", WITH_HANDOFF
    ),
    "autogen-openinference": Framework(
        openinference("autogen-agentchat", "autogen-agentchat>=0.7", "autogen-ext[openai]"),
        "autogen_openinference.py",
        WITH_HANDOFF,
    ),
    "autogen-mlflow": Framework(
        ("mlflow>=3", "autogen-agentchat>=0.7", "autogen-ext[openai]", *OTEL),
        "autogen_mlflow.py",
        WITH_HANDOFF,
    ),
    "autogen-openlit": Framework(
        ("openlit", "autogen-agentchat>=0.7", "autogen-ext[openai]", *OTEL),
        "autogen_openlit.py",
        WITH_HANDOFF,
    ),
    "beeai-openinference": Framework(openinference("beeai", "beeai-framework", "mcp"), "beeai.py"),
    "claude-agent-sdk": Framework(
        ("claude-agent-sdk",),
        "claude_telemetry.py",
        WITH_BIG,
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
    ),
    "claude-agent-sdk-openinference": Framework(
        openinference("claude-agent-sdk", "claude-agent-sdk"),
        "claude.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
    ),
    "claude-agent-sdk-langsmith": Framework(
        ("langsmith[claude-agent-sdk,otel]", "claude-agent-sdk", *OTEL),
        "claude_langsmith.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
        settings=LANGSMITH,
    ),
    "claude-agent-sdk-laminar": Framework(
        ("lmnr", "claude-agent-sdk"),
        "claude_laminar.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
    ),
    "claude-agent-sdk-openlit": Framework(
        ("openlit", "claude-agent-sdk", *OTEL),
        "claude_openlit.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
    ),
    "crewai-openinference": Framework(
        openinference("crewai", "crewai>=1"),
        "crew.py",
        settings={"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"},
    ),
    "crewai-laminar": Framework(
        ("lmnr[crewai]", "crewai>=1"),
        "crew_laminar.py",
        protocol="grpc",
        settings={"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"},
    ),
    "crewai-mlflow": Framework(
        ("mlflow>=3", "crewai>=1", *OTEL),
        "crew_mlflow.py",
        settings={"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"},
    ),
    "crewai-monocle": Framework(
        ("monocle-apptrace", "crewai>=1", *OTEL),
        "crew_monocle.py",
        settings={"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"},
    ),
    "crewai-openlit": Framework(
        ("openlit", "crewai>=1", *OTEL),
        "crew_openlit.py",
        settings={"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"},
    ),
    "dspy-mlflow": Framework(("mlflow>=3", "dspy>=3", *OTEL), "dspy_mlflow.py", answers_apart=True),
    "dspy-openinference": Framework(openinference("dspy", "dspy>=3"), "dspy_react.py", answers_apart=True),
    "dspy-langwatch": Framework(("langwatch>=1", "dspy>=3", *OTEL), "dspy_langwatch.py", answers_apart=True),
    "dspy-traceai": Framework(("traceai-dspy", "dspy>=3", *OTEL), "dspy_traceai.py", answers_apart=True),
    "dspy-openlit": Framework(("openlit", "dspy>=3", *OTEL), "dspy_openlit.py", answers_apart=True),
    "crewai-traceloop": Framework(
        openllmetry("crewai", "crewai>=1", "opentelemetry-instrumentation-openai"),
        "crew_traceloop.py",
        settings={"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"},
    ),
    "google-adk": Framework(
        ("google-adk>=2", *OTEL),
        "adk.py",
        WITH_HANDOFF,
        GEMINI,
        GEMINI,
        settings={**GENAI, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_and_event"},
    ),
    "google-adk-openinference": Framework(
        openinference("google-adk", "google-adk>=2"),
        "adk_openinference.py",
        WITH_HANDOFF,
        GEMINI,
        GEMINI,
    ),
    "google-adk-langsmith": Framework(
        ("langsmith[google-adk,otel]", "google-adk>=2", *OTEL),
        "adk_langsmith.py",
        WITH_HANDOFF,
        GEMINI,
        GEMINI,
        settings=LANGSMITH,
    ),
    "google-adk-monocle": Framework(
        ("monocle-apptrace", "google-adk>=2", *OTEL), "adk_monocle.py", WITH_HANDOFF, GEMINI, GEMINI
    ),
    "google-adk-openlit": Framework(
        ("openlit", "google-adk>=2", *OTEL), "adk_openlit.py", WITH_HANDOFF, GEMINI, GEMINI
    ),
    "haystack": Framework(
        ("haystack-ai>=3", "opentelemetry-haystack", *OTEL),
        "haystack_tracer.py",
        settings={"HAYSTACK_CONTENT_TRACING_ENABLED": "true"},
    ),
    "haystack-langfuse": Framework(
        ("langfuse-haystack", "haystack-ai>=3", *OTEL),
        "haystack_langfuse.py",
        settings={"HAYSTACK_CONTENT_TRACING_ENABLED": "true", "HAYSTACK_TELEMETRY_ENABLED": "False"},
    ),
    "haystack-langtrace": Framework(
        # It imports two packages that it does not ask for.
        (
            "langtrace-python-sdk",
            "haystack-ai>=2",
            "importlib-metadata",
            "setuptools<81",
            *OTEL,
        ),
        "haystack_langtrace.py",
        settings={"LANGTRACE_ERROR_REPORTING": "False", **NOWHERE_ELSE},
    ),
    "haystack-monocle": Framework(("monocle-apptrace", "haystack-ai>=2", *OTEL), "haystack_monocle.py"),
    "haystack-openinference": Framework(openinference("haystack", "haystack-ai>=2"), "haystack_agent.py"),
    "haystack-openlit": Framework(("openlit", "haystack-ai>=2", *OTEL), "haystack_openlit.py"),
    "haystack-traceai": Framework(
        # It wraps what runs a pipeline's components, by which agents of Haystack 3 do not call the model.
        ("traceai-haystack", "haystack-ai>=2,<3", *OTEL),
        "haystack_traceai.py",
    ),
    "haystack-traceloop": Framework(
        # It looks for a module that Haystack 3 moved.
        openllmetry("haystack", "haystack-ai>=2,<3", "opentelemetry-instrumentation-openai"),
        "haystack_traceloop.py",
    ),
    "langroid-langfuse": Framework(("langroid", "langfuse>=3", "litellm"), "langroid_langfuse.py"),
    "llama-index-traceai": Framework(
        ("traceai-llamaindex", "llama-index-core", "llama-index-llms-openai", *OTEL), "llama_index_traceai.py"
    ),
    "livekit-agents": Framework(
        ("livekit-agents>=1", "livekit-plugins-openai>=1", *OTEL), "livekit_agent.py"
    ),
    "llama-index": Framework(
        openinference("llama-index", "llama-index-core>=0.14", "llama-index-llms-openai"),
        "llama_index_agent.py",
    ),
    "llama-index-handoff": Framework(
        openinference("llama-index", "llama-index-core>=0.14", "llama-index-llms-openai"),
        "llama_index_handoff.py",
        ("handoff",),
    ),
    "llama-index-mlflow": Framework(
        ("mlflow>=3", "llama-index-core>=0.14", "llama-index-llms-openai", *OTEL), "llama_index_mlflow.py"
    ),
    "llama-index-langtrace": Framework(
        # It imports two packages that it does not ask for.
        (
            "langtrace-python-sdk",
            "llama-index-core>=0.14",
            "llama-index-llms-openai",
            "importlib-metadata",
            "setuptools<81",
            *OTEL,
        ),
        "llama_index_langtrace.py",
        settings={"LANGTRACE_ERROR_REPORTING": "False", **NOWHERE_ELSE},
    ),
    "llama-index-laminar": Framework(
        # It looks whether the package `llama-index` is there; the core alone is not instrumented.
        ("lmnr[llamaindex]", "llama-index>=0.14", "llama-index-llms-openai"),
        "llama_index_laminar.py",
        protocol="grpc",
    ),
    "llama-index-monocle": Framework(
        ("monocle-apptrace", "llama-index-core>=0.14", "llama-index-llms-openai", *OTEL),
        "llama_index_monocle.py",
    ),
    "llama-index-openlit": Framework(
        ("openlit", "llama-index-core>=0.14", "llama-index-llms-openai", *OTEL), "llama_index_openlit.py"
    ),
    "llama-index-otel": Framework(
        ("llama-index-observability-otel", "llama-index-core>=0.14", "llama-index-llms-openai", *OTEL),
        "llama_index_otel.py",
    ),
    "llama-index-traceloop": Framework(
        openllmetry("llamaindex", "llama-index-core>=0.14", "llama-index-llms-openai"),
        "llama_index_traceloop.py",
    ),
    "monocle-langgraph": Framework(
        ("monocle-apptrace", "langgraph", "langchain>=1", "langchain-openai", *OTEL),
        "monocle_langgraph.py",
    ),
    "openai-agents": Framework(
        openinference("openai-agents", "openai-agents"),
        "openai_agents.py",
        WITH_HANDOFF,
        protocol="grpc",
    ),
    "openai-agents-agentops": Framework(
        ("agentops", "openai-agents", *OTEL), "openai_agents_agentops.py", WITH_HANDOFF
    ),
    "openai-agents-laminar": Framework(
        # The SDK's own traces would go to OpenAI.
        ("lmnr", "openai-agents"),
        "openai_agents_laminar.py",
        WITH_HANDOFF,
        protocol="grpc",
        settings=NOWHERE_ELSE,
    ),
    "openai-agents-langtrace": Framework(
        # It imports two packages that it does not ask for.
        ("langtrace-python-sdk", "openai-agents", "importlib-metadata", "setuptools<81", *OTEL),
        "openai_agents_langtrace.py",
        WITH_HANDOFF,
        settings={"LANGTRACE_ERROR_REPORTING": "False", **NOWHERE_ELSE},
    ),
    "openai-agents-langsmith": Framework(
        ("langsmith[otel,openai-agents]", "openai-agents", *OTEL),
        "openai_agents_langsmith.py",
        EVERY,
        settings=LANGSMITH,
    ),
    "openai-agents-logfire": Framework(
        ("logfire", "openai-agents", *OTEL), "openai_agents_logfire.py", WITH_HANDOFF
    ),
    "openai-agents-mlflow": Framework(
        ("mlflow>=3", "openai-agents", *OTEL), "openai_agents_mlflow.py", WITH_HANDOFF
    ),
    "openai-agents-monocle": Framework(
        # The SDK's own traces would go to OpenAI.
        ("monocle-apptrace", "openai-agents", *OTEL),
        "openai_agents_monocle.py",
        WITH_HANDOFF,
        settings=NOWHERE_ELSE,
    ),
    "openai-agents-openlit": Framework(
        ("openlit", "openai-agents", *OTEL), "openai_agents_openlit.py", WITH_HANDOFF
    ),
    "openai-agents-traceai": Framework(
        ("traceai-openai-agents", "openai-agents", *OTEL), "openai_agents_traceai.py", WITH_HANDOFF
    ),
    "openhands": Framework(
        ("openhands-sdk>=1",),
        "openhands_agent.py",
        settings={"OTEL_EXPORTER": "otlp_http"},
        python="3.12",
    ),
    "pipecat": Framework(("pipecat-ai[openai,tracing]>=1", *OTEL), "pipecat_voice.py"),
    "pydantic-ai": Framework(("pydantic-ai-slim[openai]>=2", *OTEL), "pydantic_ai_agent.py"),
    "pydantic-ai-laminar": Framework(
        ("lmnr", "pydantic-ai-slim[openai]>=2"), "pydantic_ai_laminar.py", protocol="grpc"
    ),
    "pydantic-ai-mlflow": Framework(
        ("mlflow>=3", "pydantic-ai-slim[openai]>=2", *OTEL), "pydantic_ai_mlflow.py"
    ),
    "pydantic-ai-openlit": Framework(
        ("openlit", "pydantic-ai-slim[openai]>=2", *OTEL), "pydantic_ai_openlit.py"
    ),
    "pydantic-ai-openinference": Framework(
        openinference("pydantic-ai", "pydantic-ai-slim[openai]>=2"), "pydantic_ai_openinference.py"
    ),
    "semantic-kernel": Framework(
        ("semantic-kernel>=1.30", *OTEL),
        "semantic.py",
        settings={"SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE": "true"},
    ),
    "semantic-kernel-mlflow": Framework(("mlflow>=3", "semantic-kernel>=1.30", *OTEL), "semantic_mlflow.py"),
    "smolagents": Framework(openinference("smolagents", "smolagents[openai]>=1.20"), "smol.py"),
    "smolagents-genai": Framework(
        (
            "smolagents[openai]>=1.20",
            "opentelemetry-instrumentation-genai-smolagents",
            "opentelemetry-instrumentation-genai-openai",
            *OTEL,
        ),
        "smol_genai.py",
        settings=GENAI,
    ),
    "smolagents-openlit": Framework(("openlit", "smolagents[openai]", *OTEL), "smol_openlit.py"),
    "smolagents-mlflow": Framework(("mlflow>=3", "smolagents[openai]>=1.20", *OTEL), "smol_mlflow.py"),
    "smolagents-traceai": Framework(
        # It wraps `Model.__call__`, which agents of 1.15 and later do not use.
        ("traceai-smolagents", "smolagents[openai]>=1.12,<1.15", *OTEL),
        "smol_traceai.py",
    ),
    "strands": Framework(("strands-agents[openai,otel]>=1", *OTEL), "strands_agent.py", protocol="grpc"),
    "strands-openinference": Framework(
        openinference("strands-agents", "strands-agents[openai,otel]>=1"), "strands_openinference.py"
    ),
    "strands-openlit": Framework(("openlit", "strands-agents[openai,otel]>=1", *OTEL), "strands_openlit.py"),
    "trulens-langgraph": Framework(
        (
            "trulens-core>=2",
            "trulens-apps-langgraph>=2",
            "langgraph>=1",
            "langchain>=1",
            "langchain-openai",
            *OTEL,
        ),
        "trulens_langgraph.py",
    ),
}
