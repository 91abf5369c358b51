"""OTLP/protobuf to OTLP/JSON, as the OTLP specification writes JSON and not as generic protobuf JSON does.

Trace and span ids are lower hex, names are lowerCamelCase, enums are numbers, 64-bit numbers are strings and
`bytesValue` is base64. The reverse is `json.py`.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from retrospan.schemas.errors import PermanentError

_IDS = ("traceId", "spanId", "parentSpanId")


def traces_to_json(body: bytes) -> bytes:
    """Return a trace request as one line of JSON. Raises PermanentError when JSON cannot hold it."""
    request = _rendered(ExportTraceServiceRequest, body)
    for resource in request.get("resourceSpans", []):
        for scope in resource.get("scopeSpans", []):
            for span in scope.get("spans", []):
                for holder in (span, *span.get("links", [])):
                    _hex_ids(holder)
    return _line(request)


def logs_to_json(body: bytes) -> bytes:
    """Return a log request as one line of JSON. Raises PermanentError when JSON cannot hold it."""
    request = _rendered(ExportLogsServiceRequest, body)
    for resource in request.get("resourceLogs", []):
        for scope in resource.get("scopeLogs", []):
            for record in scope.get("logRecords", []):
                _hex_ids(record)
    return _line(request)


def _rendered(message: type[Message], body: bytes) -> dict[str, Any]:
    try:
        request = message.FromString(body)
    except DecodeError as cause:
        raise PermanentError(
            "JSON cannot hold this: it has text that is not UTF-8, or values nested more than 100 deep. "
            "Use --format protobuf."
        ) from cause
    return MessageToDict(request, use_integers_for_enums=True)


def _hex_ids(holder: dict[str, Any]) -> None:
    for name in _IDS:
        if name in holder:
            holder[name] = base64.b64decode(holder[name]).hex()


def _line(request: dict[str, Any]) -> bytes:
    return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
