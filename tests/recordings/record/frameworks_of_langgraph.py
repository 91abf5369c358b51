"""LangChain's agents on LangGraph, by the instrumentation that they are recorded with."""

from __future__ import annotations

from recordings.record.framework import GENAI, NOWHERE_ELSE, OTEL, Framework, openinference

LANGGRAPH: dict[str, Framework] = {
    "langchain-genai": Framework(
        ("langchain>=1", "langchain-openai", "opentelemetry-instrumentation-genai-langchain", *OTEL),
        "langchain_genai.py",
        settings=GENAI,
    ),
    "langgraph-openinference": Framework(
        openinference("langchain", "langgraph>=1", "langchain>=1", "langchain-openai"),
        "langgraph_agent.py",
    ),
    "langgraph-azure": Framework(
        ("langgraph>=1", "langchain>=1", "langchain-openai", "langchain-azure-ai[opentelemetry]", *OTEL),
        "langgraph_azure.py",
    ),
    "langgraph-supervisor": Framework(
        openinference(
            "langchain", "langgraph-supervisor", "langgraph>=1", "langchain>=1", "langchain-openai"
        ),
        "langgraph_supervised.py",
        ("handoff",),
    ),
    "langgraph-laminar": Framework(
        ("lmnr", "langgraph>=1", "langchain>=1", "langchain-openai"), "langgraph_laminar.py", protocol="grpc"
    ),
    "langgraph-langfuse": Framework(
        ("langfuse>=3", "langgraph>=1", "langchain>=1", "langchain-openai", *OTEL), "langfuse_langgraph.py"
    ),
    "langgraph-langtrace": Framework(
        # It imports two packages that it does not ask for.
        (
            "langtrace-python-sdk",
            "langgraph>=1",
            "langchain>=1",
            "langchain-openai",
            "importlib-metadata",
            "setuptools<81",
            *OTEL,
        ),
        "langgraph_langtrace.py",
        settings={"LANGTRACE_ERROR_REPORTING": "False", **NOWHERE_ELSE},
    ),
    "langgraph-logfire": Framework(
        ("logfire", "langsmith[otel]", "langgraph>=1", "langchain>=1", "langchain-openai", *OTEL),
        "langgraph_logfire.py",
        settings={
            "LANGSMITH_OTEL_ENABLED": "true",
            "LANGSMITH_OTEL_ONLY": "true",
            "LANGSMITH_TRACING": "true",
        },
    ),
    "langgraph-openlit": Framework(
        ("openlit", "langgraph>=1", "langchain>=1", "langchain-openai", *OTEL), "langgraph_openlit.py"
    ),
    "langgraph-langwatch": Framework(
        ("langwatch>=1", "langgraph>=1", "langchain>=1", "langchain-openai", *OTEL), "langgraph_langwatch.py"
    ),
    "langgraph-mlflow": Framework(
        ("mlflow>=3", "langgraph>=1", "langchain>=1", "langchain-openai", *OTEL), "mlflow_langgraph.py"
    ),
    "langgraph-traceai": Framework(
        ("traceai-langchain", "langgraph>=1", "langchain>=1", "langchain-openai", *OTEL),
        "langgraph_traceai.py",
    ),
}
