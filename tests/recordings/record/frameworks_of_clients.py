"""The clients of models that are recorded in Python, with a loop of their own for tools, by name."""

from __future__ import annotations

from recordings.record.framework import (
    GEMINI,
    LANGSMITH,
    NOWHERE_ELSE,
    OTEL,
    STREAM,
    Framework,
    openinference,
    openllmetry,
)

CLIENTS: dict[str, Framework] = {
    "anthropic-langtrace": Framework(
        # It imports two packages that it does not ask for.
        ("langtrace-python-sdk", "anthropic", "importlib-metadata", "setuptools<81", *OTEL),
        "anthropic_langtrace.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
        settings={"LANGTRACE_ERROR_REPORTING": "False", **NOWHERE_ELSE},
    ),
    "anthropic-langsmith": Framework(
        ("langsmith[otel]", "anthropic", *OTEL),
        "anthropic_langsmith.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
        settings=LANGSMITH,
    ),
    "anthropic-logfire": Framework(
        ("logfire", "anthropic", *OTEL),
        "anthropic_logfire.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
    ),
    "anthropic-mlflow": Framework(
        ("mlflow>=3", "anthropic", *OTEL),
        "anthropic_mlflow.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
    ),
    "anthropic-monocle": Framework(
        ("monocle-apptrace", "anthropic", *OTEL),
        "anthropic_monocle.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
    ),
    "anthropic-openlit": Framework(
        ("openlit", "anthropic", *OTEL),
        "anthropic_openlit.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
    ),
    "anthropic-sdk": Framework(
        ("anthropic>=2", *OTEL),
        "anthropic_sdk.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
        settings={"ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE": "content"},
    ),
    "anthropic-traceai": Framework(
        # It looks for a module that version 1 of the client dropped.
        ("traceai-anthropic", "anthropic<1", *OTEL),
        "anthropic_traceai.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
    ),
    "anthropic-traceloop": Framework(
        openllmetry("anthropic", "anthropic"),
        "anthropic_traceloop.py",
        request_model="claude-sonnet-4-5",
        response_model="claude-sonnet-4-5-20250929",
    ),
    "azure-ai-inference": Framework(
        ("azure-ai-inference", "azure-core-tracing-opentelemetry", *OTEL), "azure_inference.py"
    ),
    "google-genai-agentops": Framework(
        ("agentops", "google-genai>=1", *OTEL),
        "google_genai_agentops.py",
        request_model=GEMINI,
        response_model=GEMINI,
    ),
    "google-genai-openinference": Framework(
        openinference("google-genai", "google-genai>=1"),
        "google_genai.py",
        request_model=GEMINI,
        response_model=GEMINI,
    ),
    "google-genai-langsmith": Framework(
        ("langsmith[otel]", "google-genai>=1", *OTEL),
        "google_genai_langsmith.py",
        request_model=GEMINI,
        response_model=GEMINI,
        settings=LANGSMITH,
    ),
    "google-genai-openlit": Framework(
        ("openlit", "google-genai>=1", *OTEL),
        "google_genai_openlit.py",
        request_model=GEMINI,
        response_model=GEMINI,
    ),
    "google-genai-mlflow": Framework(
        ("mlflow>=3", "google-genai>=1", *OTEL),
        "google_genai_mlflow.py",
        request_model=GEMINI,
        response_model=GEMINI,
    ),
    "google-genai-traceloop": Framework(
        openllmetry("google-generativeai", "google-genai>=1"),
        "google_genai_traceloop.py",
        request_model=GEMINI,
        response_model=GEMINI,
    ),
    "groq-laminar": Framework(
        ("lmnr", "groq"),
        "groq_laminar.py",
        request_model="llama-3.3-70b-versatile",
        response_model="llama-3.3-70b-versatile",
        protocol="grpc",
    ),
    "groq-mlflow": Framework(
        ("mlflow>=3", "groq", *OTEL),
        "groq_mlflow.py",
        request_model="llama-3.3-70b-versatile",
        response_model="llama-3.3-70b-versatile",
    ),
    "groq-openlit": Framework(
        ("openlit", "groq", *OTEL),
        "groq_openlit.py",
        request_model="llama-3.3-70b-versatile",
        response_model="llama-3.3-70b-versatile",
    ),
    "groq-openinference": Framework(
        openinference("groq", "groq"),
        "groq_loop.py",
        request_model="llama-3.3-70b-versatile",
        response_model="llama-3.3-70b-versatile",
    ),
    "groq-traceai": Framework(
        ("traceai-groq", "groq", *OTEL),
        "groq_traceai.py",
        request_model="llama-3.3-70b-versatile",
        response_model="llama-3.3-70b-versatile",
    ),
    "groq-traceloop": Framework(
        openllmetry("groq", "groq"),
        "groq_traceloop.py",
        request_model="llama-3.3-70b-versatile",
        response_model="llama-3.3-70b-versatile",
    ),
    "instructor-openinference": Framework(
        openinference("instructor", "instructor", "openai", "openinference-instrumentation-openai"),
        "instructor_loop.py",
    ),
    "instructor-openlit": Framework(("openlit", "instructor", "openai", *OTEL), "instructor_openlit.py"),
    "instructor-traceai": Framework(
        ("traceai-instructor", "instructor", "openai", *OTEL), "instructor_traceai.py"
    ),
    "langtrace": Framework(
        # It imports two packages that it does not ask for.
        ("langtrace-python-sdk", "openai", "importlib-metadata", "setuptools<81", *OTEL),
        "openai_langtrace.py",
        settings={"LANGTRACE_ERROR_REPORTING": "False", **NOWHERE_ELSE},
    ),
    "litellm-langfuse": Framework(("litellm>=1.70", "mcp", *OTEL), "litellm_langfuse.py"),
    "litellm-openinference": Framework(
        openinference("litellm", "litellm>=1.70", "mcp"), "litellm_openinference.py"
    ),
    "litellm-mlflow": Framework(("mlflow>=3", "litellm>=1.70", *OTEL), "litellm_mlflow.py"),
    "litellm-openlit": Framework(("openlit", "litellm>=1.70", *OTEL), "litellm_openlit.py"),
    "litellm-otel": Framework(("litellm>=1.70", "mcp", *OTEL), "litellm_loop.py"),
    "litellm-otel.request-span": Framework(
        ("litellm>=1.70", "mcp", *OTEL),
        "litellm_loop.py",
        settings={"USE_OTEL_LITELLM_REQUEST_SPAN": "true"},
    ),
    "mirascope": Framework(("mirascope[openai,anthropic,google,ops]>=2", *OTEL), "mirascope_loop.py"),
    "mistralai-openinference": Framework(
        openinference("mistralai", "mistralai"),
        "mistral_loop.py",
        request_model="mistral-small-latest",
        response_model="mistral-small-latest",
    ),
    "mistralai-openlit": Framework(
        # It looks for a module that version 2 of the client moved.
        ("openlit", "mistralai<2", *OTEL),
        "mistral_openlit.py",
        request_model="mistral-small-latest",
        response_model="mistral-small-latest",
    ),
    "mistralai-sdk": Framework(
        ("mistralai>=3", *OTEL),
        "mistral_sdk.py",
        request_model="mistral-small-latest",
        response_model="mistral-small-latest",
        settings={"MISTRAL_SDK_TELEMETRY": "global"},
    ),
    "mistralai-traceai": Framework(
        # It looks for a module that version 2 of the client moved.
        ("traceai-mistralai", "mistralai<2", *OTEL),
        "mistral_traceai.py",
        request_model="mistral-small-latest",
        response_model="mistral-small-latest",
    ),
    "mistralai-traceloop": Framework(
        # It looks for a module that version 2 of the client moved.
        openllmetry("mistralai", "mistralai<2"),
        "mistral_traceloop.py",
        request_model="mistral-small-latest",
        response_model="mistral-small-latest",
    ),
    "ollama-openlit": Framework(
        ("openlit", "ollama", *OTEL),
        "ollama_openlit.py",
        request_model="llama3.2",
        response_model="llama3.2",
    ),
    "ollama-traceloop": Framework(
        ("ollama", "traceloop-sdk", "opentelemetry-instrumentation-ollama", *OTEL),
        "ollama_traceloop.py",
        request_model="llama3.2",
        response_model="llama3.2",
    ),
    "openai-agenta": Framework(
        # The instrumentation of calls that Agenta documents is OpenLLMetry's.
        ("agenta", "openai", "opentelemetry-instrumentation-openai", *OTEL),
        "openai_agenta.py",
    ),
    "openai-agentops": Framework(("agentops", "openai", *OTEL), "openai_agentops.py"),
    "openai-azure-projects": Framework(
        ("azure-ai-projects>=2", "openai", "azure-core-tracing-opentelemetry", *OTEL),
        "openai_azure_projects.py",
        settings={
            "AZURE_EXPERIMENTAL_ENABLE_GENAI_TRACING": "true",
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
        },
    ),
    "openai-chat-openinference": Framework(openinference("openai", "openai"), "openai_chat.py"),
    "openai-chat-openinference.stream": Framework(
        openinference("openai", "openai"), "openai_chat.py", settings=STREAM
    ),
    "openai-langwatch": Framework(("langwatch>=1", "openai", *OTEL), "openai_langwatch.py"),
    "openai-langsmith": Framework(
        ("langsmith[otel]", "openai", *OTEL), "openai_langsmith.py", settings=LANGSMITH
    ),
    "openai-monocle": Framework(("monocle-apptrace", "openai", *OTEL), "openai_monocle.py"),
    "openai-responses-openinference": Framework(openinference("openai", "openai"), "openai_responses.py"),
    "openai-responses-openinference.stream": Framework(
        openinference("openai", "openai"), "openai_responses.py", settings=STREAM
    ),
    "openai-responses-traceloop": Framework(
        # Its SDK imports httpx, for which it does not ask.
        ("openai", "traceloop-sdk", "opentelemetry-instrumentation-openai", "httpx", *OTEL),
        "openai_responses_traceloop.py",
    ),
    "openai-traceai": Framework(("traceai-openai", "openai", *OTEL), "openai_traceai.py"),
    "openai-tracekit": Framework(
        # It imports httpx, which version 3 of the client dropped, and names an argument that version 2 of wrapt renamed.
        ("llm-tracekit-openai", "openai<3", "wrapt<2", *OTEL),
        "openai_tracekit.py",
        settings={"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"},
    ),
    "plain-http": Framework(OTEL, "plain_http.py"),
    "together-openlit": Framework(("openlit", "together>=1", *OTEL), "together_openlit.py"),
    "together-traceloop": Framework(
        ("together>=1", "traceloop-sdk", "opentelemetry-instrumentation-together", *OTEL),
        "together_traceloop.py",
    ),
}
