"""The span processor that `instrument()` adds to a provider, and the exporter for `OTEL_TRACES_EXPORTER`."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from retrospan.exporter.delivery.pipeline import Pipeline


class PipelineProcessor(SpanProcessor):
    """Hands every ended, sampled span to the pipeline. Only `force_flush` and `shutdown` wait."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def on_start(self, span: Span, parent_context: Context | None = None) -> None: ...

    def on_end(self, span: ReadableSpan) -> None:
        context = span.context
        if context is not None and context.trace_flags.sampled:
            self._pipeline.accept(span)

    def shutdown(self) -> None:
        self._pipeline.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._pipeline.flush(timeout_millis / 1000)


class PipelineExporter(SpanExporter):
    """The same behind a batch processor of the SDK: `export` returns as soon as the pipeline has taken the spans."""

    def __init__(self, pipeline: Pipeline | None) -> None:
        self._pipeline = pipeline

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        for span in spans if self._pipeline is not None else ():
            assert self._pipeline is not None
            self._pipeline.accept(span)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        if self._pipeline is not None:
            self._pipeline.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._pipeline is None or self._pipeline.flush(timeout_millis / 1000)
