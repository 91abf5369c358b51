"""What export requests say, member by member, so that two ways of sending the same compare equal.

A member is its resource, its scope and itself, in the official classes. Made equal is only what proto3 or OTLP
call equal: an absent message and an empty one. Grouping into requests and repetition go, as members are a set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

Member = tuple[bytes, str, bytes, str, bytes]


def spans_in(bodies: Iterable[bytes]) -> dict[tuple[str, str], set[Member]]:
    """Each content of each span, by trace and span."""
    found: dict[tuple[str, str], set[Member]] = {}
    for body in bodies:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    key = (span.trace_id.hex(), span.span_id.hex())
                    member = (
                        _bytes(resource.resource),
                        resource.schema_url,
                        _bytes(scope.scope),
                        scope.schema_url,
                        _bytes(span),
                    )
                    found.setdefault(key, set()).add(member)
    return found


def logs_in(bodies: Iterable[bytes]) -> set[Member]:
    """Each log record."""
    return {member for body in bodies for member in _logs(body)}


def _logs(body: bytes) -> Iterator[Member]:
    for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
        for scope in resource.scope_logs:
            for record in scope.log_records:
                yield (
                    _bytes(resource.resource),
                    resource.schema_url,
                    _bytes(scope.scope),
                    scope.schema_url,
                    _bytes(record),
                )


def _bytes(message: Message) -> bytes:
    _drop_empty(message)
    return message.SerializeToString(deterministic=True)


def _drop_empty(message: Message) -> None:
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.is_repeated:
            for element in value:
                _drop_empty(element)
            continue
        _drop_empty(value)
        # A member of a oneof says by its presence which it is: [] and {} are values.
        if field.containing_oneof is None and not value.ListFields():
            message.ClearField(field.name)
