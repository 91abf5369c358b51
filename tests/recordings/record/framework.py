"""What is said of a framework that can be recorded: what to install, which driver runs it, what to tell it."""

from __future__ import annotations

from dataclasses import dataclass, field

OTEL = ("opentelemetry-sdk", "opentelemetry-exporter-otlp")
COMMON = ("normal", "loop", "tool_error", "parallel", "multiturn", "llm_error")
WITH_HANDOFF = (*COMMON, "handoff")
WITH_BIG = (*COMMON, "big")
EVERY = (*COMMON, "big", "handoff")


@dataclass(frozen=True)
class Framework:
    """One instrumentation of one framework."""

    packages: tuple[str, ...]
    """What to install, the framework itself first: `--at` pins that one. Floors where a resolver would go back.

    A `pom.xml` says itself what to install; these are the packages whose versions a manifest names.
    """
    driver: str
    """File in drivers/: a script for Python or Node, the `pom.xml` of a project in Java, the `go.mod` of one in Go, or the
    `Cargo.toml` of one in Rust."""
    scenarios: tuple[str, ...] = COMMON
    request_model: str = "gpt-4o-mini"
    response_model: str = "gpt-4o-mini-2024-07-18"
    protocol: str = "http/protobuf"
    settings: dict[str, str] = field(default_factory=dict)
    """Environment variables that the instrumentation needs to send contents."""

    python: str = ""
    """The version of Python that it needs, where that is not the one this runs with."""

    answers_apart: bool = False
    """Whether it asks for the answer in one more request, after the loop of tool calls."""


def openinference(name: str, *packages: str) -> tuple[str, ...]:
    return (*packages, f"openinference-instrumentation-{name}", *OTEL)


def openllmetry(name: str, *packages: str) -> tuple[str, ...]:
    return (*packages, f"opentelemetry-instrumentation-{name}", *OTEL)


GEMINI = "gemini-2.5-flash"
GENAI = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_only",
}
LANGSMITH = {"LANGSMITH_TRACING": "true", "LANGSMITH_TRACING_MODE": "otel", "LANGSMITH_API_KEY": "none"}
#: For Node's SDK, which else says which machine it is.
NO_MACHINE = {"OTEL_NODE_RESOURCE_DETECTORS": "env"}
#: For drivers that ask for streams on request.
STREAM = {"KIT_STREAM": "true"}
#: For what calls home beside the spans: it finds nobody there.
NOWHERE_ELSE = {"HTTPS_PROXY": "http://127.0.0.1:9"}
