"""R20: bodies that are far larger than they look. They are refused, and the process does not grow by them."""

from __future__ import annotations

import gzip
import sys
import urllib.error
import urllib.request
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import otlp_requests as make
import pytest
from fix_collector import Served

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LIMIT = 64 << 20


def bombs() -> dict[str, tuple[str, bytes]]:
    """A name → an encoding and a body in it."""
    zeros = gzip.compress(bytes(200 << 20), 9)
    return {
        "gzip": ("gzip", zeros),
        "gzip in gzip": ("gzip", gzip.compress(zeros)),
        "many members": ("gzip", gzip.compress(bytes(1 << 20), 9) * 400),
        "zstd": ("zstd", zstd.compress(bytes(200 << 20))),
        "many frames": ("zstd", zstd.compress(bytes(1 << 20)) * 400),
        "deflate": ("deflate", zlib.compress(bytes(200 << 20), 9)),
    }


def peak_bytes(process: int) -> int:
    [line] = [
        line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmHWM")
    ]
    return int(line.split()[1]) * 1024


def post(collector: Served, encoding: str, body: bytes) -> int:
    request = urllib.request.Request(
        f"http://{collector.http}/v1/traces",
        body,
        {"Content-Type": "application/x-protobuf", "Content-Encoding": encoding},
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.long
@pytest.mark.requirement("R20")
def test_bombs_are_refused_and_memory_stays_within_some_requests(served: Served) -> None:
    served.send(traces=[make.traces(make.span()).SerializeToString()])
    served.wait_idle()
    # The highest that memory ever was, from here on.
    Path(f"/proc/{served.process.pid}/clear_refs").write_text("5")
    before = peak_bytes(served.process.pid)
    made = bombs()
    for name, (encoding, body) in made.items():
        assert len(body) < 1 << 20, "it looks small"
        assert post(served, encoding, body) == (400 if name == "gzip in gzip" else 413), name
    with grpc.insecure_channel(served.grpc) as channel, pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary(EXPORT)(bytes(200 << 20), timeout=120, compression=grpc.Compression.Gzip)
    assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert peak_bytes(served.process.pid) < before + 6 * LIMIT
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: post(served, *made["gzip"]), range(64)))
    # 503: so many bodies at a time are too many, and may come again.
    assert set(answers) <= {413, 503} and 413 in answers
    assert peak_bytes(served.process.pid) < before + 16 * LIMIT
    served.send(traces=[make.traces(make.span()).SerializeToString()])
