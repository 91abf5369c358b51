"""What an agent says while it works, in OTLP: that its spans began, events as log records, and the spans when they end."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from retrospan.schemas import attributes as names
from retrospan.schemas import semconv

SECOND = 10**9
Said = Mapping[str, Any]


def attributes(said: Said) -> list[KeyValue]:
    """Return attributes as OTLP has them."""
    return [KeyValue(key=key, value=_value(value)) for key, value in said.items()]


def _value(value: object) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(string_value=str(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """An event of the conventions, in whichever form."""

    name: str
    at: int
    said: Said
    event_id: str = ""

    def as_event(self) -> Span.Event:
        own = {names.EVENT_ID: self.event_id} if self.event_id else {}
        return Span.Event(name=self.name, time_unix_nano=self.at, attributes=attributes({**self.said, **own}))

    def as_log(self, span: Told) -> LogRecord:
        own = {names.EVENT_ID: self.event_id} if self.event_id else {}
        run = {names.RUN_ID: span.run_id} if span.run_id else {}
        return record(self.name, self.at, {**self.said, **own, **run}, span)


@dataclass(slots=True, kw_only=True)
class Told:
    """A span: what is known of it from the beginning, and what it says when it ends."""

    number: int
    name: str
    at: int
    said: Said
    parent: int = 0
    trace: int = 1
    until: int = 0
    run_id: str = ""
    process: str = ""
    facts: list[Fact] = field(default_factory=list)
    more: Said = field(default_factory=dict)  # attributes that it has only when it ends
    links: Sequence[Mapping[str, Any]] = ()

    @property
    def trace_id(self) -> bytes:
        return self.trace.to_bytes(16)

    @property
    def span_id(self) -> bytes:
        return self.number.to_bytes(8)

    def _own(self) -> dict[str, Any]:
        return {**self.said, **({names.RUN_ID: self.run_id} if self.run_id else {})}

    def begun(self, other: Said | None = None) -> LogRecord:
        """Return that it has begun; `other` are attributes that are not what they should be."""
        said = {
            **self._own(),
            names.BEGUN_NAME: self.name,
            names.BEGUN_KIND: 1,
            names.BEGUN_PARENT: self.parent.to_bytes(8).hex() if self.parent else "",
            names.BEGUN_REMOTE: False,
            **({names.BEGUN_LINKS: json.dumps(list(self.links))} if self.links else {}),
            **({names.PROCESS_ID: self.process, semconv.PROCESS_PID: 7} if self.process else {}),
        }
        return record(names.BEGUN, self.at, {**said, **(other or {})}, self)

    def ended(self, events: Sequence[Span.Event] = ()) -> Span:
        span = Span(
            trace_id=self.trace_id,
            span_id=self.span_id,
            parent_span_id=self.parent.to_bytes(8) if self.parent else b"",
            name=self.name,
            kind=Span.SPAN_KIND_INTERNAL,
            flags=0x100,
            start_time_unix_nano=self.at,
            end_time_unix_nano=self.until,
            attributes=attributes({**self._own(), **self.more}),
            events=events,
        )
        for link in self.links:
            span.links.add(
                trace_id=bytes.fromhex(link["trace_id"]),
                span_id=bytes.fromhex(link["span_id"]),
                attributes=attributes(link.get("attributes", {})),
            )
        return span


def record(name: str, at: int, said: Said, span: Told | None = None) -> LogRecord:
    """Return a log record with an event name, of a span or of none."""
    return LogRecord(
        event_name=name,
        time_unix_nano=at,
        observed_time_unix_nano=at,
        severity_number=9,  # type: ignore[arg-type]  # INFO
        attributes=attributes(said),
        trace_id=span.trace_id if span else b"",
        span_id=span.span_id if span else b"",
    )


def alive(process: str, interval: float = 30.0) -> LogRecord:
    return record(names.ALIVE, time.time_ns(), {names.PROCESS_ID: process, names.ALIVE_INTERVAL: interval})


def killed(process: str) -> LogRecord:
    return record(names.KILLED, time.time_ns(), {names.PROCESS_ID: process, semconv.PROCESS_PID: 7})


def logs_request(*records: LogRecord, scope_name: str = "retrospan.recording") -> bytes:
    """Return a request with these log records, of one service."""
    request = ExportLogsServiceRequest()
    group = request.resource_logs.add()
    group.resource.attributes.extend(attributes({semconv.SERVICE_NAME: "tests"}))
    scope = group.scope_logs.add()
    scope.scope.name = scope_name
    scope.log_records.extend(records)
    return request.SerializeToString()


def spans_request(*spans: Span) -> bytes:
    """Return a request with these spans, of the same service."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.extend(attributes({semconv.SERVICE_NAME: "tests"}))
    scope = group.scope_spans.add()
    scope.scope.name = "retrospan.recording"
    scope.spans.extend(spans)
    return request.SerializeToString()
