"""R28: HTTP/2 streams that are opened and reset at once, as many as the connection takes."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import otlp_requests as make
import pytest
from fix_collector import Served

STREAMS = 20_000
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEADERS, _RESET, _SETTINGS = 1, 3, 4
_END_HEADERS, _CANCEL = 4, 8
_PATH = b"/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def text(value: bytes) -> bytes:
    assert len(value) < 127
    return bytes([len(value)]) + value


def opened_and_reset(stream: int) -> bytes:
    """The headers of an export (RFC 7541: indexed fields and literals without indexing), and its end."""
    block = b"\x83\x86" + b"\x04" + text(_PATH) + b"\x01" + text(b"localhost")
    block += b"\x0f\x10" + text(b"application/grpc") + b"\x00" + text(b"te") + text(b"trailers")
    reset = struct.pack(">I", _CANCEL)
    return frame(_HEADERS, _END_HEADERS, stream, block) + frame(_RESET, 0, stream, reset)


def resident_bytes(process: int) -> int:
    [line] = [
        line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS")
    ]
    return int(line.split()[1]) * 1024


@pytest.mark.long
@pytest.mark.requirement("R28")
def test_streams_that_are_reset_at_once_hold_nobody_up_and_leave_nothing(served: Served) -> None:
    body = make.traces(make.span()).SerializeToString()
    served.send(traces=[body])
    before = resident_bytes(served.process.pid)
    host, _, port = served.grpc.rpartition(":")
    for _ in range(2):
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(_PREFACE + frame(_SETTINGS, 0, 0, b""))
            try:
                for first in range(1, 2 * STREAMS, 2000):
                    connection.sendall(
                        b"".join(opened_and_reset(each) for each in range(first, first + 2000, 2))
                    )
                    served.send(traces=[body])
            except ConnectionError:
                pass  # the server has had enough of this connection, which is an answer as well
        served.send(traces=[body] * 20)
    served.wait_idle()
    assert resident_bytes(served.process.pid) < before + (200 << 20)
    assert served.rows("SELECT toUInt32(count()) AS n FROM spans") == [{"n": 1}]
