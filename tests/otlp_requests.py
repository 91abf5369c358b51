"""OTLP requests for tests, built with the official classes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span


def span(name: str = "chat", *, trace_id: bytes | None = None, span_id: bytes | None = None) -> Span:
    """A span with one attribute, under fresh ids unless given."""
    made = Span(
        trace_id=os.urandom(16) if trace_id is None else trace_id,
        span_id=os.urandom(8) if span_id is None else span_id,
        name=name,
        start_time_unix_nano=1_790_000_000_000_000_000,
        end_time_unix_nano=1_790_000_001_000_000_000,
    )
    attribute = made.attributes.add(key="gen_ai.operation.name")
    attribute.value.string_value = "chat"
    return made


def traces(*spans: Span) -> ExportTraceServiceRequest:
    """A request with one resource and one scope."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add(schema_url="https://example.org/schema")
    resource.resource.attributes.add(key="service.name").value.string_value = "tests"
    scope = resource.scope_spans.add()
    scope.scope.name = "tests.scope"
    scope.spans.extend(spans)
    return request


def record(
    event: str = "",
    at: int = 0,
    said: Mapping[str, object] | None = None,
    *,
    body: str | None = None,
    trace_id: bytes = b"",
    span_id: bytes = b"",
) -> LogRecord:
    """A log record at some nanoseconds; `said` are its attributes, numbers as doubles and all else as text."""
    made = LogRecord(time_unix_nano=at, trace_id=trace_id, span_id=span_id, event_name=event)
    if body is not None:
        made.body.string_value = body
    for key, value in (said or {}).items():
        attribute = made.attributes.add(key=key).value
        if isinstance(value, float):
            attribute.double_value = value
        else:
            attribute.string_value = str(value)
    return made


def logs(*records: LogRecord) -> ExportLogsServiceRequest:
    """A log request with one resource and one scope."""
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    scope.log_records.extend(records)
    return request


def names(body: bytes | None) -> list[str]:
    """The names of a trace request's spans, in order."""
    request = ExportTraceServiceRequest.FromString(body or b"")
    return [
        each.name for group in request.resource_spans for scope in group.scope_spans for each in scope.spans
    ]


def with_raw_span(request: ExportTraceServiceRequest, raw: bytes) -> bytes:
    """The request's bytes, with a span of arbitrary bytes in a resource of its own."""
    scope_spans = _field(2, raw)
    resource_spans = _field(2, scope_spans)
    return request.SerializeToString() + _field(1, resource_spans)


def nested(depth: int) -> bytes:
    """An AnyValue of arrays in arrays, as bytes: deeper than the official classes read."""
    value = _field(1, b"x")
    for _ in range(depth):
        value = _field(5, _field(1, value))
    return value


def raw_attribute(key: bytes, value: bytes) -> bytes:
    """A span's attribute field."""
    return _field(9, _field(1, key) + _field(2, value))


def raw_span(name: bytes, attributes: Sequence[bytes] = ()) -> bytes:
    """A span's bytes with valid ids and whatever name."""
    return _field(1, os.urandom(16)) + _field(2, os.urandom(8)) + _field(5, name) + b"".join(attributes)


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _length(len(content)) + content


def _length(size: int) -> bytes:
    out = bytearray()
    while size >= 0x80:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out)
