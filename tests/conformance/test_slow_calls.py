"""R28 over gRPC: calls whose message does not come give their thread back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import grpc
import otlp_requests as make
import pytest

from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.receive.grpc import THREADS, GrpcReceiver
from retrospan.ingest.receive.intake import Intake
from retrospan.ingest.settings.setting_values import Address

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


@pytest.mark.requirement("R28")
def test_calls_without_a_message_hold_nobody_up(tmp_path: Path) -> None:
    log = WriteAheadLog.open(tmp_path / "log", low_water_bytes=0)
    receiver = GrpcReceiver(Intake(log), Address("127.0.0.1", 0), message_seconds=300, contended_seconds=0.2)
    port = receiver.start()
    done = threading.Event()

    def nothing() -> Iterator[bytes]:
        done.wait(120)
        yield from ()

    with ExitStack() as stack:
        stack.callback(log.close)
        stack.callback(receiver.stop, 5)
        options = [("grpc.use_local_subchannel_pool", 1)]
        silent = []
        for _ in range(2 * THREADS):
            channel = stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{port}", options=options))
            silent.append(channel.stream_unary(EXPORT).future(nothing(), timeout=120))
        channel = stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{port}", options=options))
        for _ in range(3):
            assert (
                channel.unary_unary(EXPORT)(make.traces(make.span()).SerializeToString(), timeout=60) == b""
            )
        # Those of the first round gave way to the others.
        assert sum(call.done() for call in silent) >= THREADS
        codes = {call.code() for call in silent if call.done()}
        assert codes == {grpc.StatusCode.CANCELLED}
        done.set()
