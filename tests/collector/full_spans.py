"""Requests in which every field of a span is set, and the comparison of what was sent with what arrived."""

from __future__ import annotations

import os
import socket
import time
import urllib.request

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span, Status

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SCOPES, SPANS = 2, 3


def full_request() -> ExportTraceServiceRequest:
    """SCOPES x SPANS spans of one trace under one resource."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add(schema_url="https://example.org/resource/1")
    group.resource.attributes.add(key="service.name").value.string_value = "full"
    group.resource.attributes.extend(_attributes())
    group.resource.dropped_attributes_count = 1
    trace_id = os.urandom(16)
    for number in range(SCOPES):
        scope = group.scope_spans.add(schema_url=f"https://example.org/scope/{number}")
        scope.scope.name, scope.scope.version = f"scope {number}", "1.2.3"
        scope.scope.attributes.extend(_attributes())
        scope.scope.dropped_attributes_count = 7
        _add_spans(scope, trace_id)
    return request


def _add_spans(scope: ScopeSpans, trace_id: bytes) -> None:
    for number in range(SPANS):
        span = scope.spans.add(
            trace_id=trace_id,
            span_id=os.urandom(8),
            parent_span_id=os.urandom(8),
            trace_state="vendor=value,other=1",
            name=f"chat {number} \u202e \U0001f916 \x00 end",
            kind=(Span.SPAN_KIND_CLIENT, Span.SPAN_KIND_INTERNAL, Span.SPAN_KIND_UNSPECIFIED)[number],
            start_time_unix_nano=1_790_000_000_123_456_789 + number,
            end_time_unix_nano=1_790_000_001_987_654_321 + number,
            flags=0x101,
            dropped_attributes_count=2,
            dropped_events_count=3,
            dropped_links_count=4,
        )
        span.attributes.extend(_attributes())
        span.attributes.add(key="prompt").value.string_value = "All work and no play. " * 20_000
        for place in range(3):
            event = span.events.add(name=f"event {place}", time_unix_nano=1_790_000_000_500_000_000 + place)
            event.attributes.extend(_attributes())
            event.dropped_attributes_count = 5
        link = span.links.add(trace_id=os.urandom(16), span_id=os.urandom(8), trace_state="a=b")
        link.attributes.extend(_attributes())
        link.dropped_attributes_count, link.flags = 6, 0x100
        code = (Status.STATUS_CODE_ERROR, Status.STATUS_CODE_OK, Status.STATUS_CODE_UNSET)[number]
        span.status.code = code
        span.status.message = "it did not work" if code == Status.STATUS_CODE_ERROR else ""


def _attributes() -> list[KeyValue]:
    """One of each kind, in an order that is not a sorting of the keys."""
    made = [
        KeyValue(key="z.text", value=AnyValue(string_value="\u00e9\n\t\"'\\ ")),
        KeyValue(key="a.true", value=AnyValue(bool_value=True)),
        KeyValue(key="a.false", value=AnyValue(bool_value=False)),
        KeyValue(key="m.whole", value=AnyValue(int_value=-(2**63))),
        KeyValue(key="b.double", value=AnyValue(double_value=1.0)),
        KeyValue(key="b.tiny", value=AnyValue(double_value=5e-324)),
        KeyValue(key="y.bytes", value=AnyValue(bytes_value=b"\x00\xff\xfe")),
        KeyValue(key="e.text", value=AnyValue(string_value="")),
        KeyValue(key="e.nothing", value=AnyValue()),
    ]
    array = KeyValue(key="c.array")
    array.value.array_value.values.add().int_value = 2**53 + 1
    array.value.array_value.values.add().array_value.values.add().string_value = "deep"
    table = KeyValue(key="c.table")
    table.value.kvlist_value.values.add(key="inner").value.double_value = -0.0
    return [*made, array, table]


def send_grpc(address: str, request: ExportTraceServiceRequest) -> None:
    """One export, waited for until somebody listens."""
    with grpc.insecure_channel(address) as channel:
        channel.unary_unary(EXPORT)(request.SerializeToString(), timeout=60, wait_for_ready=True)


def send_http(address: str, request: ExportTraceServiceRequest) -> None:
    """One export in protobuf."""
    post = urllib.request.Request(
        f"http://{address}/v1/traces", request.SerializeToString(), {"Content-Type": "application/x-protobuf"}
    )
    with urllib.request.urlopen(post, timeout=60) as reply:
        assert reply.status == 200


def wait_listening(address: str, seconds: float = 60.0) -> None:
    """Until somebody accepts connections there."""
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=30).close()
            return
        except OSError:
            assert time.monotonic() < deadline, f"nobody listens at {address}"
            time.sleep(0.05)


def by_span(requests: list[ExportTraceServiceRequest]) -> dict[str, list[str]]:
    """Each span by its ids, with its resource, its scope and itself in text; more than one if it came again."""
    found: dict[str, list[str]] = {}
    for request in requests:
        for group in request.resource_spans:
            for scope in group.scope_spans:
                for span in scope.spans:
                    around = f"{group.schema_url} {group.resource} {scope.schema_url} {scope.scope}"
                    found.setdefault(f"{span.trace_id.hex()} {span.span_id.hex()}", []).append(
                        f"{around} {span}"
                    )
    return found


def assert_whole(sent: list[ExportTraceServiceRequest], arrived: list[ExportTraceServiceRequest]) -> None:
    """Every span that was sent arrived with everything around it, and nothing else did; sending it again does no harm."""
    wanted, found = by_span(sent), by_span(arrived)
    assert found.keys() == wanted.keys()
    for key, [text] in wanted.items():
        assert set(found[key]) == {text}
