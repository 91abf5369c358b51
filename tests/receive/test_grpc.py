"""OTLP/gRPC over real sockets: codes, trailers, limits, and the stock exporters."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Protocol

import grpc
import otlp_requests as make
import pytest
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry._logs import LogRecord as ApiLogRecord
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from retrospan.ingest.receive.grpc import GrpcReceiver
from retrospan.ingest.settings.setting_values import Address
from retrospan.schemas.errors import PortInUse

from .conftest import REQUEST_BYTES, Station

TRACES, LOGS, METRICS = (
    f"/opentelemetry.proto.collector.{signal}.v1.{service}/Export"
    for signal, service in (("trace", "TraceService"), ("logs", "LogsService"), ("metrics", "MetricsService"))
)


class Call(Protocol):
    def __call__(self, method: str, body: bytes, *, gzip: bool = False) -> bytes: ...


@pytest.fixture
def call(station: Station) -> Iterator[Call]:
    with grpc.insecure_channel(
        f"127.0.0.1:{station.grpc_port}", options=[("grpc.max_send_message_length", -1)]
    ) as channel:

        def send(method: str, body: bytes, *, gzip: bool = False) -> bytes:
            compression = grpc.Compression.Gzip if gzip else grpc.Compression.NoCompression
            answer: bytes = channel.unary_unary(method)(body, timeout=30, compression=compression)
            return answer

        yield send


def refusal(call: Call, method: str, body: bytes, *, gzip: bool = False) -> Any:
    with pytest.raises(grpc.RpcError) as refused:
        call(method, body, gzip=gzip)
    return refused.value


@pytest.mark.parametrize("gzip", [False, True])
def test_traces_and_logs_are_durable_when_answered_and_success_is_empty(
    station: Station, call: Call, gzip: bool
) -> None:
    traces = make.traces(make.span(), make.span()).SerializeToString()
    logs = make.logs(LogRecord(severity_text="INFO")).SerializeToString()
    assert call(TRACES, traces, gzip=gzip) == b""
    assert [record.traces for record in station.records()] == [traces]
    assert call(LOGS, logs, gzip=gzip) == b""
    assert station.records()[1].logs == logs


def test_an_empty_request_succeeds(station: Station, call: Call) -> None:
    assert call(TRACES, b"") == b""
    assert call(LOGS, b"") == b""
    assert station.records() == []


def test_partial_success_names_count_and_reason(station: Station, call: Call) -> None:
    body = make.traces(make.span(), make.span(trace_id=b"x")).SerializeToString()
    partial = ExportTraceServiceResponse.FromString(call(TRACES, body)).partial_success
    assert partial.rejected_spans == 1
    assert partial.error_message == "1 of 2 spans rejected: trace id has 1 bytes, not 16 (1)"
    body = make.logs(LogRecord(), LogRecord(span_id=b"x")).SerializeToString()
    assert ExportLogsServiceResponse.FromString(call(LOGS, body)).partial_success.rejected_log_records == 1


def test_what_cannot_be_read_is_an_invalid_argument_with_details(station: Station, call: Call) -> None:
    refused = refusal(call, TRACES, b"\xff\xff\xff")
    assert refused.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "cannot be read as protobuf" in refused.details()
    trailers = dict(refused.trailing_metadata())
    assert "google.rpc.retryinfo-bin" not in trailers
    status = Status.FromString(trailers["grpc-status-details-bin"])
    assert (status.code, status.message) == (3, refused.details())
    assert status.details[0].type_url == "type.googleapis.com/google.rpc.BadRequest"


def test_a_full_log_says_when_to_try_again_in_both_ways(station: Station, call: Call) -> None:
    station.full()
    refused = refusal(call, TRACES, make.traces(make.span()).SerializeToString())
    assert refused.code() == grpc.StatusCode.UNAVAILABLE
    trailers = dict(refused.trailing_metadata())
    assert RetryInfo.FromString(trailers["google.rpc.retryinfo-bin"]).retry_delay.seconds == 1
    status = Status.FromString(trailers["grpc-status-details-bin"])
    info = RetryInfo()
    assert status.details[0].Unpack(info)
    assert info.retry_delay.seconds == 1
    assert station.intake.counters.spans_refused == 1


def test_metrics_and_unknown_services_are_unimplemented(station: Station, call: Call) -> None:
    refused = refusal(call, METRICS, b"")
    assert refused.code() == grpc.StatusCode.UNIMPLEMENTED
    assert "OTEL_METRICS_EXPORTER=none" in refused.details()
    assert refusal(call, "/some.Other/Call", b"").code() == grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("gzip", [False, True])
def test_too_large_a_message_is_refused_before_and_after_decompression(
    station: Station, call: Call, gzip: bool
) -> None:
    refused = refusal(call, TRACES, bytes(REQUEST_BYTES + 1), gzip=gzip)
    assert refused.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    # The library refuses what is too large on the wire, and hands nothing of it over.
    reasons = [reject.reason for record in station.records() for reject in record.rejects]
    assert reasons == ([refused.details()] if gzip else [])
    assert call(TRACES, make.traces(make.span()).SerializeToString()) == b""


def test_concurrent_calls_are_all_stored(station: Station, call: Call) -> None:
    bodies = [make.traces(make.span(str(number))).SerializeToString() for number in range(200)]
    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(lambda body: call(TRACES, body), bodies)) == [b""] * 200
    assert sorted(record.traces or b"" for record in station.records()) == sorted(bodies)


def test_the_stock_exporter_delivers(station: Station) -> None:
    provider = TracerProvider()
    exporter = OTLPSpanExporter(endpoint=f"http://127.0.0.1:{station.grpc_port}", insecure=True)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    for number in range(5):
        with provider.get_tracer("tests").start_as_current_span(f"span {number}"):
            pass
    assert provider.force_flush()
    provider.shutdown()
    assert [name for record in station.records() for name in make.names(record.traces)] == [
        f"span {number}" for number in range(5)
    ]


def test_the_stock_log_exporter_delivers(station: Station) -> None:
    provider = LoggerProvider(shutdown_on_exit=False)
    exporter = OTLPLogExporter(endpoint=f"http://127.0.0.1:{station.grpc_port}", insecure=True)
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    provider.get_logger("tests").emit(ApiLogRecord(body="hello", event_name="gen_ai.choice", timestamp=5))
    assert provider.force_flush()
    provider.shutdown()
    [record] = station.records()
    assert b"gen_ai.choice" in (record.logs or b"")
    assert station.intake.counters.log_records_acknowledged == 1


def test_the_stock_exporter_comes_back_after_a_full_disk(station: Station) -> None:
    provider = TracerProvider()
    exporter = OTLPSpanExporter(endpoint=f"http://127.0.0.1:{station.grpc_port}", insecure=True)
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
def test_connections_beyond_the_limit_are_closed_and_the_others_are_served(station: Station) -> None:
    receiver = GrpcReceiver(station.intake, Address("127.0.0.1", 0), connections=3)
    station.stopping.callback(receiver.stop, 5)
    place = ("127.0.0.1", receiver.start())
    with grpc.insecure_channel(f"{place[0]}:{place[1]}") as channel, ExitStack() as stack:
        send = channel.unary_unary(TRACES)
        send(make.traces(make.span()).SerializeToString(), timeout=30)
        idle = [stack.enter_context(socket.create_connection(place, timeout=30)) for _ in range(3)]
        # A server of HTTP/2 speaks first; the last one hears nothing.
        assert [bool(each.recv(1)) for each in idle] == [True, True, False]
        assert send(make.traces(make.span()).SerializeToString(), timeout=30) == b""


def test_a_connection_that_says_nothing_is_closed(station: Station, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrospan.ingest.receive.grpc.SILENT_MILLISECONDS", 100)
    with socket.create_connection(("127.0.0.1", station.grpc_port), timeout=60) as silent:
        said = b""
        while part := silent.recv(1000):
            said += part
        assert b"handshake timeout" in said


def test_a_taken_port_is_named_with_its_owner(station: Station) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        receiver = GrpcReceiver(station.intake, Address("127.0.0.1", port))
        with pytest.raises(
            PortInUse, match=rf"127.0.0.1:{port} is in use by pid \d+ \(.+\)\. Stop it, or"
        ) as refused:
            receiver.start()
        assert "--grpc 127.0.0.1:0" in str(refused.value)
        receiver.stop(0)
