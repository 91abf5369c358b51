"""OTLP/HTTP over real sockets: codes, bodies, encodings, limits, and the stock exporter."""

from __future__ import annotations

import gzip
import json
import selectors
import socket
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import cast

import otlp_requests as make
import pytest
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

from retrospan.ingest.http.site import Site
from retrospan.ingest.receive.http import HttpReceiver
from retrospan.ingest.settings.setting_values import Address
from retrospan.schemas.errors import PortInUse

from .conftest import BUDGET_BYTES, REQUEST_BYTES, Answer, Station

PROTOBUF, JSON = "application/x-protobuf", "application/json"
SPAN_JSON = (
    b'{"resourceSpans":[{"scopeSpans":[{"spans":['
    b'{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"from json"}]}]}]}'
)
LOG_JSON = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"hello"}}]}]}]}'


def raw_deflate(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(body) + compressor.flush()


ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda body: body,
    "identity": lambda body: body,
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "GZIP": lambda body: gzip.compress(body[:7]) + gzip.compress(body[7:]) + bytes(9),
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
}


def status_of(answer: Answer, content_type: str) -> tuple[int, str]:
    """The google.rpc.Status of a refusal, whose type must be the request's."""
    assert answer.headers["content-type"] == content_type
    if content_type == PROTOBUF:
        status = Status.FromString(answer.body)
        return status.code, status.message
    document = json.loads(answer.body)
    return document["code"], document["message"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_carries_the_same_request(station: Station, encoding: str) -> None:
    body = make.traces(make.span()).SerializeToString()
    answer = station.post("/v1/traces", ENCODINGS[encoding](body), encoding=encoding)
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"", PROTOBUF)
    assert [record.traces for record in station.records()] == [body]


def test_json_becomes_protobuf_and_is_answered_in_json(station: Station) -> None:
    answer = station.post(
        "/v1/traces", gzip.compress(SPAN_JSON), content_type=f"{JSON}; charset=utf-8", encoding="gzip"
    )
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"{}", JSON)
    assert make.names(station.records()[0].traces) == ["from json"]
    answer = station.post("/v1/logs", LOG_JSON, content_type=JSON)
    assert (answer.status, answer.body) == (200, b"{}")
    assert b"hello" in (station.records()[1].logs or b"")


@pytest.mark.parametrize(
    "path", ["/v1/traces", "/v1/traces/", "/v1/traces/v1/traces", "/otlp/v1/traces", "/v1/traces?x=1"]
)
def test_any_path_that_ends_in_the_signal_is_good(station: Station, path: str) -> None:
    assert station.post(path, make.traces(make.span()).SerializeToString()).status == 200
    assert len(station.records()) == 1


def test_partial_success_is_200_in_both_formats(station: Station) -> None:
    body = make.traces(make.span(), make.span(trace_id=bytes(16))).SerializeToString()
    answer = station.post("/v1/traces", body)
    partial = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert (answer.status, partial.rejected_spans) == (200, 1)
    assert partial.error_message == "1 of 2 spans rejected: trace id is all zero (1)"
    answer = station.post("/v1/traces", SPAN_JSON.replace(b"5b8e", b"5b8"), content_type=JSON)
    assert answer.status == 200
    assert json.loads(answer.body)["partialSuccess"]["rejectedSpans"] == "1"
    body = make.logs(LogRecord(trace_id=b"x")).SerializeToString()
    assert station.post("/v1/logs", body).status == 200
    answer = station.post("/v1/logs", LOG_JSON.replace(b'"hello"', b"5"), content_type=JSON)
    assert json.loads(answer.body)["partialSuccess"]["rejectedLogRecords"] == "1"


@pytest.mark.parametrize("content_type", [PROTOBUF, JSON])
def test_what_cannot_be_read_is_400(station: Station, content_type: str) -> None:
    answer = station.post("/v1/traces", b"\xffnonsense", content_type=content_type)
    assert answer.status == 400
    code, message = status_of(answer, content_type)
    assert code == 3
    assert "cannot be read" in message or "not JSON" in message
    [record] = station.records()
    assert record.traces is None
    assert len(record.rejects) == 1


@pytest.mark.parametrize("content_type", [PROTOBUF, JSON])
@pytest.mark.parametrize("path", ["/", "/v1", "/v1/trace", "/v1/metrics", "/v1/tracesx", "/%1b[31m"])
def test_other_paths_are_404(station: Station, content_type: str, path: str) -> None:
    answer = station.post(path, b"", content_type=content_type)
    assert answer.status == 404
    assert status_of(answer, content_type)[0] == 5


def test_a_wrong_path_is_reported_once(station: Station) -> None:
    for _ in range(3):
        station.post("/", b"")
    station.post("/%1b[31m", b"")
    assert len(station.said) == 2
    assert "\x1b" not in station.said[1]
    assert f"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{station.http_port}" in station.said[0]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_other_methods_are_405(station: Station, method: str) -> None:
    answer = station.post("/v1/traces", b"", method=method, content_type=JSON)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert status_of(answer, JSON)[0] == 12


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/grpc", "application/xml"])
def test_other_types_are_415(station: Station, content_type: str) -> None:
    answer = station.post("/v1/traces", b"x", content_type=content_type)
    assert answer.status == 415
    assert "application/x-protobuf" in status_of(answer, JSON)[1]


@pytest.mark.parametrize("encoding", ["snappy", "br", "gzip, gzip"])
def test_other_encodings_are_415(station: Station, encoding: str) -> None:
    answer = station.post("/v1/traces", b"x", encoding=encoding)
    assert answer.status == 415
    assert status_of(answer, PROTOBUF)[0] == 3


@pytest.mark.parametrize(
    "body",
    [
        b"no gzip at all",
        gzip.compress(b"x" * 1000)[:-9],
        gzip.compress(b"") + b"trailing rubbish",
        gzip.compress(b"")[:5],
        gzip.compress(b"") * 5000,
    ],
    # Named: gzip writes the second of the clock into its header, and a test's id must not depend on that.
    ids=["no gzip at all", "torn", "rubbish behind", "header torn", "empty members"],
)
def test_broken_gzip_is_400(station: Station, body: bytes) -> None:
    answer = station.post("/v1/traces", body, encoding="gzip")
    assert answer.status == 400
    assert "gzip" in status_of(answer, PROTOBUF)[1]


@pytest.mark.parametrize(("path", "name"), [("/v1/logs", "resourceLogs"), ("/v1/traces", "resourceSpans")])
def test_json_without_anything_that_is_collected_is_a_warning_and_on_record(
    station: Station, path: str, name: str
) -> None:
    body = SPAN_JSON if path == "/v1/logs" else SPAN_JSON.replace(b"resourceSpans", b"resource_spans")
    answer = station.post(path, body, content_type=JSON)
    told = json.loads(answer.body)["partialSuccess"]
    assert answer.status == 200
    assert f"has no '{name}'" in told["errorMessage"]
    assert [number for key, number in told.items() if key.startswith("rejected")] == ["0"]
    [record] = station.records()
    [reject] = record.rejects
    assert (reject.spans, reject.reason, reject.sample) == (0, told["errorMessage"], body[:512])


@pytest.mark.parametrize(
    ("body", "encoding", "status"),
    [
        (b"no gzip at all", "gzip", 400),
        (gzip.compress(bytes(REQUEST_BYTES + 1), mtime=0), "gzip", 413),
        (b"anything", "br", 415),
    ],
    ids=["400", "413", "415"],
)
def test_a_body_that_cannot_be_inflated_is_on_record(
    station: Station, body: bytes, encoding: str, status: int
) -> None:
    answer = station.post("/v1/logs", body, encoding=encoding)
    assert answer.status == status
    [record] = station.records()
    [reject] = record.rejects
    assert (reject.signal, reject.spans, reject.sample) == ("logs", 0, body[:512])
    assert reject.reason == status_of(answer, PROTOBUF)[1]
    counters = station.intake.counters
    assert (counters.requests, counters.requests_refused) == (1, 1)
    assert counters.requests_undecodable == (status == 400)


def test_what_is_refused_before_its_body_leaves_no_record(station: Station) -> None:
    assert station.post("/v1/traces", b"x", content_type="text/plain").status == 415
    assert station.post("/v1/traces", bytes(REQUEST_BYTES + 1)).status == 413
    assert (station.records(), station.intake.counters.requests_refused) == ([], 2)


@pytest.mark.parametrize("rubbish", [b"junk", b"rubbish" * 100, b"\0" * 1000 + b"\1"])
def test_what_follows_a_whole_gzip_stream_is_named(station: Station, rubbish: bytes) -> None:
    whole = gzip.compress(make.traces(make.span()).SerializeToString())
    answer = station.post("/v1/traces", whole + rubbish, encoding="gzip")
    assert answer.status == 400
    assert f"is gzip up to byte {len(whole)} of {len(whole) + len(rubbish)}" in status_of(answer, PROTOBUF)[1]


def test_a_stop_does_not_wait_for_work_beyond_the_grace(station: Station) -> None:
    working, go_on = threading.Event(), threading.Event()

    def hanging(*_: object, **__: object) -> None:
        working.set()
        go_on.wait()

    station.intake.traces = hanging  # type: ignore[method-assign, assignment]
    receiver = HttpReceiver(station.intake, Site(Address("127.0.0.1", 0)))
    with socket.create_connection(("127.0.0.1", receiver.start()), timeout=30) as sender:
        head = "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n"
        sender.sendall(f"{head}content-length: 0\r\n\r\n".encode())
        assert working.wait(60)
        stopping = threading.Thread(target=receiver.stop, args=(0.0,), daemon=True)
        stopping.start()
        stopping.join(60)
        try:
            assert not stopping.is_alive(), "it waits for work that does not end"
        finally:
            go_on.set()


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (bytes(REQUEST_BYTES + 1), ""),
        (bytes(REQUEST_BYTES * 2), ""),
        (gzip.compress(bytes(REQUEST_BYTES + 1)), "gzip"),
        (gzip.compress(bytes(200_000_000)), "gzip"),
        (gzip.compress(bytes(REQUEST_BYTES // 2)) * 3, "gzip"),
        (zlib.compress(bytes(REQUEST_BYTES + 1)), "deflate"),
    ],
    ids=["plain", "plain, twice", "gzip", "gzip bomb", "gzip members", "deflate"],
)
def test_too_large_before_or_after_decompression_is_413(station: Station, body: bytes, encoding: str) -> None:
    answer = station.post("/v1/traces", body, encoding=encoding)
    assert answer.status == 413
    assert status_of(answer, PROTOBUF)[0] == 8
    assert station.intake.counters.requests_refused == 1


@pytest.mark.parametrize("content_type", [PROTOBUF, JSON])
def test_a_full_log_is_503_with_a_time_to_come_back(station: Station, content_type: str) -> None:
    station.full()
    body = SPAN_JSON if content_type == JSON else make.traces(make.span()).SerializeToString()
    answer = station.post("/v1/traces", body, content_type=content_type)
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert status_of(answer, content_type)[0] == 14
    if content_type == PROTOBUF:
        info = RetryInfo()
        assert Status.FromString(answer.body).details[0].Unpack(info)
        assert info.retry_delay.seconds == 1
    else:
        assert json.loads(answer.body)["details"][0]["retryDelay"] == "1s"


def test_a_grpc_client_on_this_port_is_told_once(station: Station) -> None:
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", station.http_port), timeout=30) as connection:
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 404")
    [hint] = station.said
    assert "gRPC exporter" in hint
    assert "4317" in hint


def test_a_body_that_does_not_arrive_is_given_up(station: Station) -> None:
    station.body_seconds = 0.2
    with socket.create_connection(("127.0.0.1", station.http_port), timeout=30) as connection:
        connection.sendall(
            b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 408")


def test_bodies_on_their_way_in_share_a_bound_of_memory(station: Station) -> None:
    head = (
        b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
        b"Content-Length: %d\r\n\r\n" % REQUEST_BYTES
    )
    with ExitStack() as open_ones:
        waiting: list[socket.socket] = []
        # More than all of the budget, of which a part is for bodies that arrive.
        for _ in range(BUDGET_BYTES // REQUEST_BYTES):
            address = ("127.0.0.1", station.http_port)
            connection = open_ones.enter_context(socket.create_connection(address, timeout=30))
            connection.sendall(head + bytes(REQUEST_BYTES - 1))
            waiting.append(connection)
        with selectors.DefaultSelector() as answered:
            for connection in waiting:
                answered.register(connection, selectors.EVENT_READ)
            refused = cast("socket.socket", answered.select(30)[0][0].fileobj)
        assert refused.recv(100).startswith(b"HTTP/1.1 503")
    # All have hung up: their bytes are given back, or this would be refused as well.
    body = make.traces(make.span("x" * (REQUEST_BYTES - 1000))).SerializeToString()
    deadline = time.monotonic() + 60
    while station.post("/v1/traces", body).status != 200:
        assert time.monotonic() < deadline


def test_a_client_that_hangs_up_leaves_nothing(station: Station) -> None:
    with socket.create_connection(("127.0.0.1", station.http_port), timeout=30) as connection:
        connection.sendall(
            b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"
        )
    assert station.post("/v1/traces", make.traces(make.span()).SerializeToString()).status == 200
    assert len(station.records()) == 1


def test_the_stock_exporter_delivers(station: Station) -> None:
    provider = TracerProvider()
    exporter = OTLPSpanExporter(endpoint=f"http://127.0.0.1:{station.http_port}/v1/traces")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("tests").start_as_current_span("over http"):
        pass
    provider.shutdown()
    assert make.names(station.records()[0].traces) == ["over http"]


@pytest.mark.requirement("R29")
def test_the_stock_exporter_comes_back_after_a_full_disk(station: Station) -> None:
    provider = TracerProvider()
    exporter = OTLPSpanExporter(endpoint=f"http://127.0.0.1:{station.http_port}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    station.full()
    with provider.get_tracer("tests").start_as_current_span("late"):
        pass
    with ThreadPoolExecutor(1) as pool:
        flushed = pool.submit(provider.force_flush)
        while not station.intake.counters.spans_refused:
            assert not flushed.done()
        station.disk.free = None
        assert flushed.result(30)
    provider.shutdown()
    assert make.names(station.records()[-1].traces) == ["late"]


@pytest.mark.linux
def test_a_taken_port_is_named_with_its_owner(station: Station) -> None:
    receiver = HttpReceiver(station.intake, Site(Address("127.0.0.1", station.http_port)))
    with pytest.raises(PortInUse, match=r"is in use by pid \d+ .*--http 127.0.0.1:0"):
        receiver.start()
    receiver.stop(0)
