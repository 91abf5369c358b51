"""The span processor that `instrument()` adds to a provider, and the exporter for `OTEL_TRACES_EXPORTER`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from retrospan.exporter.delivery.notices import note
from retrospan.exporter.delivery.pipeline import Pipeline
from retrospan.exporter.delivery.pulse import SCOPE
from retrospan.exporter.delivery.records import BegunRecord, LogRecord
from retrospan.exporter.recording.scopes import claims_in
from retrospan.exporter.recording.telling import TELLER
from retrospan.schemas.attributes import BEGUN


class PipelineProcessor(SpanProcessor):
    """Hands every ended, sampled span of this process to the pipeline, and says of each that it has begun; of those that
    recording opens once they have their attributes. Only `force_flush` and `shutdown` wait."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        try:
            context = span.get_span_context()
            if context is None or not context.trace_flags.sampled:
                return
            # By this, recording finds the way to the pipeline of whatever span is current.
            setattr(span, TELLER, self)
            self._pipeline.pulse.began(context.span_id, span.resource)
            scope = span.instrumentation_scope
            if scope is None or scope.name != SCOPE.name:
                self._claim(span, parent_context)
                self.began(span)
        except Exception as error:  # noqa: BLE001 - a guest
            note("the beginning of a span could not be recorded", error)

    def on_end(self, span: ReadableSpan) -> None:
        context = span.context
        if context is None or not context.trace_flags.sampled:
            return
        if self._pipeline.pulse.ended(context.span_id):
            self._pipeline.accept(span)

    def began(self, span: ReadableSpan) -> None:
        """Say that a span has begun, with the attributes that it has now."""
        context = span.get_span_context()
        assert context is not None
        self._pipeline.accept(
            BegunRecord(
                BEGUN,
                {**(span.attributes or {}), **self._pipeline.pulse.about},
                span.start_time or 0,
                span.resource,
                span.instrumentation_scope,
                context.trace_id,
                context.span_id,
                name=span.name,
                kind=span.kind,
                parent=span.parent,
                links=span.links,
            )
        )

    def said(self, span: ReadableSpan, event: str, attributes: Mapping[str, Any], at: int) -> None:
        """Send what was said of a span that has not ended."""
        context = span.get_span_context()
        assert context is not None
        ids = (context.trace_id, context.span_id)
        self._pipeline.accept(LogRecord(event, attributes, at, span.resource, SCOPE, *ids))

    @staticmethod
    def _claim(span: Span, parent_context: Context | None) -> None:
        """Put a span of another instrumentation into the run of its context. The agent and the conversation only where
        nothing in this process is above it: below, the framework itself may say another."""
        claims = claims_in(parent_context, whole=span.parent is None or span.parent.is_remote)
        known = span.attributes or {}
        missing = {key: value for key, value in claims.items() if key not in known}
        if missing:
            span.set_attributes(missing)

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
