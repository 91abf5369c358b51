"""Spans as a program of the tests sends them: a real provider of the SDK, whose finished spans are kept in a list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from retrospan.schemas.attributes import EVENT_ID


class Sent(SpanExporter):
    """What was sent, in the order in which the spans ended."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += spans
        return SpanExportResult.SUCCESS

    def named(self, name: str) -> ReadableSpan:
        """The one span of that name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def in_order(self) -> list[ReadableSpan]:
        return sorted(self.spans, key=lambda span: span.start_time or 0)


def said(span: ReadableSpan, key: str) -> Any:
    """The value of an attribute; its JSON read where it is that."""
    value = (span.attributes or {}).get(key)
    if isinstance(value, str) and value[:1] in "{[":
        return json.loads(value)
    return value


def events(span: ReadableSpan, name: str) -> list[dict[str, Any]]:
    """The attributes of the span's events of that name, without the ids of ours."""
    found = [dict(event.attributes or {}) for event in span.events if event.name == name]
    for each in found if name.startswith("retrospan.") else ():
        assert re.fullmatch("[0-9a-f]{16}", str(each.pop(EVENT_ID)))
    return found


def trace_id(span: ReadableSpan) -> int:
    return span.context.trace_id if span.context else 0


def span_id(span: ReadableSpan) -> int:
    return span.context.span_id if span.context else 0


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sent]:
    """A provider of the SDK as the process's own, for one test."""
    kept = Sent()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield kept
    provider.shutdown()


@pytest.fixture
def no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in which nobody has set up OpenTelemetry."""
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
