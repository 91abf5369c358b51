"""OTLP's request messages as the receiver reads them: wire-compatible, and total over what senders really send.

They are made at import from the official descriptors, with three changes:
- every `string` is `bytes`: text that is not UTF-8 is kept, where the official classes refuse the whole request;
- an attribute's value is read two levels deep, as the warehouse does; deeper arrays and maps are `bytes`, so
  nesting cannot exhaust the parser;
- the envelope of a request stops at spans and log records as `bytes`, for `salvage.py`.

Parsing with them is the validation of a request; nothing is ever serialised from these messages themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

_OTLP = "opentelemetry.proto"
_COMMON = f".{_OTLP}.common.v1"
_FILES = (common_pb2, resource_pb2, trace_pb2, logs_pb2, trace_service_pb2, logs_service_pb2)
#: Messages whose fields of message type stay bytes, where only the envelope is read.
_ENVELOPE_KEEPS = ("resource_spans", "scope_spans", "resource_logs", "scope_logs")


class LenientSpan(Protocol):
    """The parts of a span that the receiver checks."""

    trace_id: bytes
    span_id: bytes


@dataclass(slots=True)
class Ids:
    """The same of a span that is read in pieces."""

    trace_id: bytes = b""
    span_id: bytes = b""


def _official(*, envelope: bool) -> DescriptorPool:
    """Return a pool of its own, holding the changed descriptors under the official names."""
    pool = DescriptorPool()
    for module in _FILES:
        file = FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)  # type: ignore[no-untyped-call, unused-ignore]
        del file.service[:]
        for message in file.message_type:
            _loosen(message)
            if envelope:
                _stop_at_members(message)
        if module is common_pb2 and not envelope:
            _limit_depth(file)
        pool.Add(file)  # type: ignore[attr-defined, unused-ignore]
    return pool


def _loosen(message: DescriptorProto) -> None:
    for field in message.field:
        if field.type == FieldDescriptorProto.TYPE_STRING:
            field.type = FieldDescriptorProto.TYPE_BYTES
    for nested in message.nested_type:
        _loosen(nested)


def _stop_at_members(message: DescriptorProto) -> None:
    for field in message.field:
        if field.type == FieldDescriptorProto.TYPE_MESSAGE and field.name not in _ENVELOPE_KEEPS:
            field.type = FieldDescriptorProto.TYPE_BYTES
            field.ClearField("type_name")


def _limit_depth(file: FileDescriptorProto) -> None:
    """Let arrays and maps hold inner values, whose own arrays and maps are bytes."""
    messages = {message.name: message for message in file.message_type}
    inner_value, inner_member = DescriptorProto(), DescriptorProto()
    inner_value.CopyFrom(messages["AnyValue"])
    inner_value.name = "InnerValue"
    _stop_at_members(inner_value)
    inner_member.CopyFrom(messages["KeyValue"])
    inner_member.name = "InnerKeyValue"
    for field in inner_member.field:
        if field.name == "value":
            field.type_name = f"{_COMMON}.InnerValue"
    for owner, inner in (("ArrayValue", "InnerValue"), ("KeyValueList", "InnerKeyValue")):
        messages[owner].field[0].type_name = f"{_COMMON}.{inner}"
    file.message_type.extend([inner_value, inner_member])


def _class(pool: DescriptorPool, name: str) -> Any:
    return GetMessageClass(pool.FindMessageTypeByName(f"{_OTLP}.{name}"))


_POOL = _official(envelope=False)
_ENVELOPES = _official(envelope=True)

_TRACES = _class(_POOL, "collector.trace.v1.ExportTraceServiceRequest")
_LOGS = _class(_POOL, "collector.logs.v1.ExportLogsServiceRequest")


def parse_traces(body: bytes) -> Any:
    """Read a whole trace request; raises google.protobuf.message.DecodeError."""
    return _TRACES.FromString(body)


def parse_logs(body: bytes) -> Any:
    """Read a whole log request; raises google.protobuf.message.DecodeError."""
    return _LOGS.FromString(body)


def _numbers(name: str) -> dict[str, int]:
    return {value.name: value.number for value in _POOL.FindEnumTypeByName(f"{_OTLP}.{name}").values}


SPAN_KINDS = _numbers("trace.v1.Span.SpanKind")
STATUS_CODES = _numbers("trace.v1.Status.StatusCode")
SEVERITIES = _numbers("logs.v1.SeverityNumber")

#: One member at a time, for salvage.
Span: Any = _class(_POOL, "trace.v1.Span")
LogRecord: Any = _class(_POOL, "logs.v1.LogRecord")
Resource: Any = _class(_POOL, "resource.v1.Resource")
Scope: Any = _class(_POOL, "common.v1.InstrumentationScope")
ScopeSpans: Any = _class(_POOL, "trace.v1.ScopeSpans")
ScopeLogs: Any = _class(_POOL, "logs.v1.ScopeLogs")
TracesEnvelope: Any = _class(_ENVELOPES, "collector.trace.v1.ExportTraceServiceRequest")
LogsEnvelope: Any = _class(_ENVELOPES, "collector.logs.v1.ExportLogsServiceRequest")
