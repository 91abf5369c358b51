"""A recorded run as if it had happened again: other ids, other times, the same words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

#: Ids of calls, responses and messages, and LangChain's own, as the recordings hold them.
IDS = re.compile(
    r"call_\w+_\d+_\d+_\d+|(?:chatcmpl|resp)-\w+-\d+-\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)


def _other_id(old: bytes, salt: int) -> bytes:
    return bytes((byte * 31 + salt) % 256 for byte in old)


def _rewrite(value: AnyValue) -> None:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        value.string_value = IDS.sub(lambda found: f"other_{found[0][::-1]}", value.string_value)
    elif kind == "array_value":
        for item in value.array_value.values:
            _rewrite(item)
    elif kind == "kvlist_value":
        for pair in value.kvlist_value.values:
            _rewrite(pair.value)


def happened_again(
    traces: Sequence[bytes], logs: Sequence[bytes], shift_ns: int, salt: int = 7
) -> tuple[list[bytes], list[bytes], list[str]]:
    """Return the requests with all ids rewritten and times shifted, and the new trace ids; another salt, other ids."""
    trace_ids: dict[str, None] = {}
    new_traces, new_logs = [], []
    for body in traces:
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    span.trace_id, span.span_id = (
                        _other_id(span.trace_id, salt),
                        _other_id(span.span_id, salt),
                    )
                    span.parent_span_id = _other_id(span.parent_span_id, salt)
                    trace_ids[span.trace_id.hex()] = None
                    span.start_time_unix_nano += shift_ns
                    span.end_time_unix_nano += shift_ns
                    for link in span.links:
                        link.trace_id, link.span_id = (
                            _other_id(link.trace_id, salt),
                            _other_id(link.span_id, salt),
                        )
                    for event in span.events:
                        event.time_unix_nano += shift_ns
                    for pair in span.attributes:
                        _rewrite(pair.value)
        new_traces.append(request.SerializeToString())
    for body in logs:
        logged = ExportLogsServiceRequest.FromString(body)
        for group in logged.resource_logs:
            for scope_logs in group.scope_logs:
                for record in scope_logs.log_records:
                    record.trace_id, record.span_id = (
                        _other_id(record.trace_id, salt),
                        _other_id(record.span_id, salt),
                    )
                    record.observed_time_unix_nano += shift_ns
                    if record.time_unix_nano:
                        record.time_unix_nano += shift_ns
                    _rewrite(record.body)
                    for pair in record.attributes:
                        _rewrite(pair.value)
        new_logs.append(logged.SerializeToString())
    return new_traces, new_logs, list(trace_ids)


def cut_short(traces: Sequence[bytes], spans: int) -> list[bytes]:
    """Return the requests with only the spans that ended first: what arrives of an agent that was killed."""
    requests = [ExportTraceServiceRequest.FromString(body) for body in traces]
    ends = sorted(
        span.end_time_unix_nano
        for request in requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    )
    for request in requests:
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                kept = [span for span in scope.spans if span.end_time_unix_nano <= ends[spans - 1]]
                del scope.spans[:]
                scope.spans.extend(kept)
    return [request.SerializeToString() for request in requests]
