"""MLflow's tracing, exported over OTLP: `mlflow.*`. The general rules read it whole."""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Page, Producer, Source
from retrospan.ingest.interpret.spans.span import Span


def _speaks(span: Span) -> bool:
    return span.scope.startswith("mlflow.")


_PAGE = Page(
    title="MLflow",
    recognised="a scope that starts with `mlflow.`",
    sources=(
        Source("operation", ("mlflow.spanType",)),
        Source("model", ("mlflow.llm.model",)),
        Source("messages", ("mlflow.spanInputs", "mlflow.spanOutputs")),
        Source("tool definitions", ("mlflow.chat.tools",)),
        Source("tool's name", ("mlflow.spanFunctionName",)),
        Source("arguments and result", ("mlflow.spanInputs", "mlflow.spanOutputs")),
        Source("tokens", ("mlflow.chat.tokenUsage",)),
        Source("failure", ("the span's status", "the event exception")),
    ),
    producers=(
        Producer(
            "OpenAI's client, with mlflow.openai.autolog()",
            "pip install mlflow opentelemetry-exporter-otlp-proto-http\n"
            "export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4318/v1/traces\n"
            "export OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf",
            lacks=(
                "a conversation: the session set in MLflow is not exported",
                "the id of a tool call on the tool's span: it is found by name, arguments and order",
            ),
        ),
    ),
)  # fmt: skip
DIALECT = Dialect(
    name="mlflow",
    speaks=_speaks,
    page=_PAGE,
    switches=(),
)
