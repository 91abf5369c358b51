"""The same request over gRPC and HTTP, in protobuf and JSON, and the answer in one form."""

from __future__ import annotations

import gzip
import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import grpc
from google.protobuf.json_format import MessageToDict
from google.rpc.error_details_pb2 import BadRequest, RetryInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from receive.conftest import Station

Way = Literal["gRPC", "HTTP protobuf", "HTTP JSON"]
WAYS: tuple[Way, ...] = ("gRPC", "HTTP protobuf", "HTTP JSON")
Signal = Literal["traces", "logs"]
CONTENT_TYPES = {"HTTP protobuf": "application/x-protobuf", "HTTP JSON": "application/json"}
SERVICES = {
    "traces": "trace.v1.TraceService",
    "logs": "logs.v1.LogsService",
    "metrics": "metrics.v1.MetricsService",
}
Request = ExportTraceServiceRequest | ExportLogsServiceRequest


@dataclass(frozen=True)
class Answer:
    """An answer, however it came. `code` is gRPC's name or HTTP's number."""

    code: str
    content_type: str = ""
    empty: bool = True
    rejected: int = 0
    message: str = ""
    status: int | None = None
    details: tuple[str, ...] = ()
    retry_seconds: float | None = None
    retry_trailer: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    size: int = 0


def encoded(request: Request, way: Way) -> bytes:
    """The request's bytes as this way carries them."""
    if way != "HTTP JSON":
        return request.SerializeToString()
    document = MessageToDict(request)
    _hex_ids(document)
    return json.dumps(document).encode()


def _hex_ids(value: object) -> None:
    """OTLP's JSON writes ids in hex where protobuf's writes base64."""
    import base64

    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("traceId", "spanId", "parentSpanId"):
                value[key] = base64.b64decode(inner).hex()
            else:
                _hex_ids(inner)
    elif isinstance(value, list):
        for inner in value:
            _hex_ids(inner)


@contextmanager
def channel(station: Station) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(
        f"127.0.0.1:{station.grpc_port}", options=[("grpc.max_send_message_length", -1)]
    ) as opened:
        yield opened


def send(
    station: Station,
    way: Way,
    signal: str,
    body: bytes,
    *,
    compressed: bool = False,
    path: str | None = None,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One request; `compressed` lets gRPC's library or gzip compress it."""
    if way == "gRPC":
        return _call(
            station, path or f"/opentelemetry.proto.collector.{SERVICES[signal]}/Export", body, compressed
        )
    sent = {
        "Content-Type": CONTENT_TYPES[way],
        **({"Content-Encoding": "gzip"} if compressed else {}),
        **(headers or {}),
    }
    connection = http.client.HTTPConnection("127.0.0.1", station.http_port, timeout=60)
    try:
        content = gzip.compress(body) if compressed else body
        connection.request(
            method, path or f"/v1/{signal}", content, {name: value for name, value in sent.items() if value}
        )
        reply = connection.getresponse()
        content = reply.read()
        found = {name.lower(): value for name, value in reply.getheaders()}
    finally:
        connection.close()
    return _of_http(reply.status, found, content, signal)


def _call(station: Station, method: str, body: bytes, compressed: bool) -> Answer:
    with channel(station) as opened:
        compression = grpc.Compression.Gzip if compressed else grpc.Compression.NoCompression
        try:
            reply: bytes = opened.unary_unary(method)(body, timeout=60, compression=compression)
        except grpc.RpcError as error:
            refused: Any = error
            trailers = dict(refused.trailing_metadata() or ())
            status = Status.FromString(trailers.get("grpc-status-details-bin", b""))
            trailer = trailers.get("google.rpc.retryinfo-bin")
            delay = RetryInfo.FromString(trailer).retry_delay.seconds if trailer else None
            details, asked = _detailed(status)
            return Answer(
                refused.code().name,
                empty=False,
                message=refused.details() or "",
                status=status.code if status.code else None,
                details=details,
                retry_seconds=asked,
                retry_trailer=delay,
            )
    return _accepted("OK", "", reply, "LogsService" in method)


def _accepted(code: str, content_type: str, reply: bytes, logs: bool) -> Answer:
    if logs:
        logs_partial = ExportLogsServiceResponse.FromString(reply).partial_success
        rejected, message = logs_partial.rejected_log_records, logs_partial.error_message
    else:
        partial = ExportTraceServiceResponse.FromString(reply).partial_success
        rejected, message = partial.rejected_spans, partial.error_message
    return Answer(code, content_type, not reply, rejected, message, size=len(reply))


def _of_http(code: int, headers: Mapping[str, str], content: bytes, signal: str) -> Answer:
    content_type = headers.get("content-type", "")
    if code == 200 and content_type == CONTENT_TYPES["HTTP protobuf"]:
        return _accepted("200", content_type, content, signal == "logs")
    if code == 200:
        document = json.loads(content)
        partial = document.get("partialSuccess", {})
        rejected = int(partial.get("rejectedLogRecords" if signal == "logs" else "rejectedSpans", 0))
        return Answer(
            "200", content_type, document == {}, rejected, partial.get("errorMessage", ""), size=len(content)
        )
    if content_type == CONTENT_TYPES["HTTP protobuf"]:
        status = Status.FromString(content)
        number, message = status.code, status.message
        details, asked = _detailed(status)
    else:
        document = json.loads(content)
        number, message = document["code"], document["message"]
        details, asked = _detailed_json(document)
    return Answer(
        str(code),
        content_type,
        empty=False,
        message=message,
        status=number,
        details=details,
        retry_seconds=asked,
        headers=headers,
        size=len(content),
    )


def _detailed(status: Any) -> tuple[tuple[str, ...], float | None]:
    """The kinds of a status's details, and the delay that they ask for."""
    asked: float | None = None
    for each in status.details:
        info = RetryInfo()
        if each.Unpack(info):
            asked = info.retry_delay.seconds
        else:
            assert each.Unpack(BadRequest())
    return tuple(each.type_url.rpartition(".")[2] for each in status.details), asked


def _detailed_json(document: dict[str, Any]) -> tuple[tuple[str, ...], float | None]:
    details: list[dict[str, Any]] = document.get("details", [])
    asked = [float(each["retryDelay"].rstrip("s")) for each in details if "retryDelay" in each]
    return tuple(each["@type"].rpartition(".")[2] for each in details), asked[0] if asked else None
