"""The least a receiver in Python can do and still promise: `python -m bench.floor FILE`.

A gRPC server that parses each request with the official classes, counts its spans, appends the bytes to one file,
makes them durable, and only then answers. Requests that wait at the same time share one fdatasync. It prints
`ready HOST:PORT`, and ends on SIGTERM.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

THREADS = 16
_SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"
_WRITEV_PARTS = 512


class GroupCommit:
    """One file that many threads append to: a thread takes what waits, writes it, syncs once, answers all."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
        self._waiting: list[tuple[bytes, Future[None]]] = []
        self._work = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def append(self, body: bytes) -> None:
        """Return when the bytes are on disk."""
        durable: Future[None] = Future()
        with self._work:
            self._waiting.append((body, durable))
            self._work.notify()
        durable.result()

    def _run(self) -> None:
        while True:
            with self._work:
                self._work.wait_for(lambda: self._waiting)
                taken, self._waiting = self._waiting, []
            parts = [part for body, _ in taken for part in (struct.pack("<I", len(body)), body)]
            for start in range(0, len(parts), _WRITEV_PARTS):
                _write_all(self._file, parts[start : start + _WRITEV_PARTS])
            os.fdatasync(self._file)
            for _, durable in taken:
                durable.set_result(None)


def _write_all(file: int, parts: list[bytes]) -> None:
    written = os.writev(file, parts)
    rest = b"".join(parts)[written:] if written < sum(map(len, parts)) else b""
    while rest:
        rest = rest[os.write(file, rest) :]


def main(path: str) -> None:
    """Serve until SIGTERM."""
    commit = GroupCommit(path)
    spans = 0

    def export(body: bytes, context: object) -> bytes:
        nonlocal spans
        request = ExportTraceServiceRequest.FromString(body)
        spans += sum(len(scope.spans) for part in request.resource_spans for scope in part.scope_spans)
        commit.append(body)
        return b""

    server: Any = grpc.server(ThreadPoolExecutor(THREADS), options=[("grpc.max_receive_message_length", -1)])
    handler = grpc.method_handlers_generic_handler(
        _SERVICE, {"Export": grpc.unary_unary_rpc_method_handler(export)}
    )
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    print(f"ready 127.0.0.1:{port}", flush=True)
    ended.wait()
    server.stop(1).wait()


if __name__ == "__main__":
    main(sys.argv[1])
