"""A receiver that takes no log records gets spans all the same, and log records leave memory for spans."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from exporter.conftest import MakePipeline
from exporter.receiver import Receiver, Reply
from exporter.test_delivery import lines, record

from retrospan.exporter.delivery import notices


@pytest.mark.parametrize("status", [404, 405, 415])
def test_a_receiver_that_takes_no_log_records_gets_spans_all_the_same(
    pipeline: MakePipeline, receiver: Receiver, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    receiver.answer_logs = lambda body: Reply(status)
    built, provider = pipeline()
    for number in range(5):
        record(provider, f"span {number}")
        assert built.flush(10)
    assert receiver.names() == [f"span {number}" for number in range(5)]
    counts = built.counts()
    assert counts.lost == {} and counts.records.lost == {notices.NO_LOGS: counts.records.accepted}
    assert (
        len(receiver.got_logs) == 1 and len([line for line in lines(caplog) if "no log records" in line]) == 1
    )
    assert built.shutdown(5) and len(lines(caplog)) == 1


def test_over_grpc_a_receiver_without_the_service_for_logs_gets_spans(pipeline: MakePipeline) -> None:
    taken: list[bytes] = []

    def export(request: bytes, context: Any) -> bytes:
        taken.append(request)
        return b""

    service = "opentelemetry.proto.collector.trace.v1.TraceService"
    handler = grpc.method_handlers_generic_handler(
        service, {"Export": grpc.unary_unary_rpc_method_handler(export)}
    )
    server = grpc.server(ThreadPoolExecutor(2), [handler])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        built, provider = pipeline(endpoint=f"http://127.0.0.1:{port}", protocol="grpc", insecure=True)
        record(provider, "one", "two")
        assert built.flush(20)
        counts = built.counts()
        assert (counts.delivered, counts.records.lost) == (2, {notices.NO_LOGS: counts.records.accepted})
        assert b"one" in b"".join(taken)
        built.shutdown(5)
    finally:
        server.stop(None)


def test_a_wrong_address_is_not_taken_for_a_receiver_without_log_records(
    pipeline: MakePipeline, receiver: Receiver
) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(404)
    built, provider = pipeline()
    record(provider, "one")
    assert not built.flush(1)
    assert built.counts().records.lost == {} and built.counts().records.waiting
    receiver.answer = receiver.answer_logs = lambda body: Reply()
    assert built.flush(10)
    assert len(receiver.records()) == built.counts().records.delivered > 0


def test_log_records_take_half_of_the_memory_at_most(pipeline: MakePipeline, receiver: Receiver) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    built, provider = pipeline(memory_bytes=1_000_000)
    tracer = provider.get_tracer("theirs")
    spans = [tracer.start_span(f"open {n}", attributes={"payload": "p" * 10_000}) for n in range(200)]
    assert built._backlog._used <= 500_000 + 20_000
    lost = built.counts().records.lost
    assert lost.keys() == {notices.MEMORY_FULL}
    for span in spans[:30]:
        span.end()
    assert built.counts().lost == {}, "what they left is for spans"
