"""Tokens at the OTLP ports: real sockets, and the stock exporters with their header variable."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator

import grpc
import otlp_requests as make
import pytest
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter

from .conftest import LOGS, METRICS, TRACES, Door

BODY = make.traces(make.span()).SerializeToString()
UNAUTHENTICATED, FORBIDDEN = ("UNAUTHENTICATED", 16, 401), ("PERMISSION_DENIED", 7, 403)
CASES = [
    (None, UNAUTHENTICATED),
    ("Bearer", UNAUTHENTICATED),
    ("Writer-1", UNAUTHENTICATED),
    ("Basic OldVyaXRlci0x", UNAUTHENTICATED),
    ("Bearer writer-1", UNAUTHENTICATED),
    ("Bearer nobodys", UNAUTHENTICATED),
    ("Bearer Old-1", UNAUTHENTICATED),
    ("Bearer Reader-1", FORBIDDEN),
    ("Bearer Admin-1", FORBIDDEN),
]


@pytest.mark.parametrize(("authorization", "expected"), CASES)
@pytest.mark.requirement("R35")
def test_over_grpc(door: Door, authorization: str | None, expected: tuple[str, int, int]) -> None:
    metadata = [("authorization", authorization)] if authorization else []
    code, said, trailers = door.call(BODY, *metadata)
    assert code == expected[0]
    assert Status.FromString(trailers["grpc-status-details-bin"]).code == expected[1]
    assert "google.rpc.retryinfo-bin" not in trailers
    for token in ("Old-1", "Reader-1", "Admin-1", "riter-1", "nobodys", "OldVy"):
        assert token not in said
    assert door.records() == [] and door.intake.counters.requests_refused == 1


@pytest.mark.parametrize(("authorization", "expected"), CASES)
@pytest.mark.parametrize("kind", ["application/x-protobuf", "application/json"])
@pytest.mark.requirement("R35")
def test_over_http(door: Door, authorization: str | None, expected: tuple[str, int, int], kind: str) -> None:
    named = {"authorization": authorization} if authorization else {}
    status, body, headers = door.post(BODY, **named, **{"Content-Type": kind})
    assert (status, headers["content-type"]) == (expected[2], kind)
    code = json.loads(body)["code"] if kind == "application/json" else Status.FromString(body).code
    assert code == expected[1]
    assert headers.get("www-authenticate") == ('Bearer realm="retrospan"' if expected[2] == 401 else None)
    assert "retry-after" not in headers
    for token in (b"Old-1", b"Reader-1", b"Admin-1", b"writer-1", b"nobodys"):
        assert token not in body
    assert door.records() == [] and door.intake.counters.requests_refused == 1


@pytest.mark.requirement("R35")
def test_the_right_token_sends_and_one_in_the_address_does_not(door: Door) -> None:
    assert door.call(BODY, ("authorization", "Bearer Writer-1"))[0] == "OK"
    assert door.post(BODY, authorization="bearer Writer-1")[0] == 200
    assert door.post(BODY, "/v1/traces?token=Writer-1&access_token=Writer-1")[0] == 401
    assert door.post(BODY, "/Writer-1/v1/traces")[0] == 401
    assert len(door.records()) == 2


def test_logs_are_asked_for_a_token_too_and_metrics_are_not_there(door: Door) -> None:
    body = make.logs(LogRecord(time_unix_nano=1)).SerializeToString()
    assert door.post(body, "/v1/logs")[0] == 401
    assert door.post(body, "/v1/logs", authorization="Bearer Writer-1")[0] == 200
    with grpc.insecure_channel(f"127.0.0.1:{door.grpc_port}") as channel:
        for method, code in (
            (LOGS, "UNAUTHENTICATED"),
            (METRICS, "UNIMPLEMENTED"),
            (TRACES, "UNAUTHENTICATED"),
        ):
            with pytest.raises(grpc.RpcError) as refused:
                channel.unary_unary(method)(body, timeout=30)
            assert refused.value.code().name == code
    assert len(door.records()) == 1


def test_who_may_not_send_is_told_so_before_the_request_is_there(door: Door) -> None:
    head = (
        b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
        b"Content-Length: 100000000\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", door.http_port), timeout=30) as client:
        client.sendall(head + bytes((1 << 20) + 1))
        assert client.recv(100).startswith(b"HTTP/1.1 401")

    answered = threading.Event()

    def never_sent() -> Iterator[bytes]:
        assert answered.wait(60)
        yield BODY

    with grpc.insecure_channel(f"127.0.0.1:{door.grpc_port}") as channel:
        call = channel.stream_unary(TRACES)
        with pytest.raises(grpc.RpcError) as refused:
            call(never_sent(), timeout=30)
        answered.set()
    assert refused.value.code().name == "UNAUTHENTICATED"


@pytest.mark.requirement("R37")
def test_the_tenant_is_that_of_the_token_whatever_else_says_another(door: Door) -> None:
    span = make.span()
    span.attributes.add(key="tenant.id").value.string_value = "other"
    request = make.traces(span)
    for name in ("tenant", "tenant.id", "retrospan.tenant"):
        request.resource_spans[0].resource.attributes.add(key=name).value.string_value = "other"
    body = request.SerializeToString()
    spoof = [(name, "other") for name in ("tenant", "x-tenant", "x-scope-orgid", "x-retrospan-tenant")]
    assert door.call(body, ("authorization", "Bearer Writer-1"), *spoof)[0] == "OK"
    assert door.post(body, **dict(spoof), authorization="Bearer Writer-1")[0] == 200
    assert [record.tenant for record in door.records()] == ["default", "default"]


@pytest.mark.requirement("R37")
def test_a_second_tenant_is_refused_with_the_reason(door: Door) -> None:
    assert door.call(BODY, ("authorization", "Bearer Other-1"))[0] == "OK"
    code, said, _ = door.call(BODY, ("authorization", "Bearer Writer-1"))
    assert code == "PERMISSION_DENIED" and "keeps one tenant in its data directory" in said
    assert door.post(BODY, authorization="Bearer Writer-1")[0] == 403
    status, _, _ = door.post(b"no gzip", authorization="Bearer Writer-1", **{"Content-Encoding": "gzip"})
    assert status == 403, "what cannot be read is put on record for nobody else either"
    assert [record.tenant for record in door.records()] == ["other"]


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_stock_exporters_send_the_token_of_their_variable(
    door: Door, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer Writer-1")
    exporter: SpanExporter
    if protocol == "grpc":
        exporter = GrpcExporter(endpoint=f"127.0.0.1:{door.grpc_port}", insecure=True)
    else:
        exporter = HttpExporter(endpoint=f"http://127.0.0.1:{door.http_port}/v1/traces")
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("stock").start_as_current_span("sent"):
        pass
    provider.shutdown()
    assert door.intake.counters.spans_acknowledged == 1
