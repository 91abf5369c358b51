"""A receiver of OTLP over HTTP on a real socket, whose answers a test decides."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


TAKEN = Reply()


@dataclass(frozen=True)
class Got:
    """A request as it came: `at` is the monotonic time."""

    body: bytes
    headers: Mapping[str, str]
    at: float
    reply: Reply

    def parsed(self) -> ExportTraceServiceRequest:
        return ExportTraceServiceRequest.FromString(self.body)


class Receiver:
    """`answer` decides on each request of spans, `answer_logs` on those of log records; by default everything is
    taken. `got` and `got_logs` are what came."""

    def __init__(self, port: int = 0) -> None:
        self.answer: Callable[[bytes], Reply] = lambda body: TAKEN
        self.answer_logs: Callable[[bytes], Reply] = lambda body: TAKEN
        self.got: list[Got] = []
        self.got_logs: list[Got] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                logs = self.path.endswith("/v1/logs")
                reply = receiver.answer_logs(body) if logs else receiver.answer(body)
                kept = receiver.got_logs if logs else receiver.got
                kept.append(Got(body, dict(self.headers), time.monotonic(), reply))
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, format: str, *args: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1/traces"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def requests(self) -> list[Got]:
        """The requests that held spans and were taken."""
        return [got for got in self.got if got.body and got.reply.status == 200]

    def spans(self) -> list[Span]:
        """The spans that were taken, in the order in which they came."""
        return [
            span
            for got in self.requests()
            for group in got.parsed().resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]

    def records(self, event: str = "") -> list[LogRecord]:
        """The log records that were taken, of one event if it is named, in the order in which they came."""
        found = [
            record
            for got in self.got_logs
            if got.body and got.reply.status == 200
            for group in ExportLogsServiceRequest.FromString(got.body).resource_logs
            for scope in group.scope_logs
            for record in scope.log_records
        ]
        return [record for record in found if event in ("", record.event_name)]

    def names(self) -> list[str]:
        return [span.name for span in self.spans()]

    def until(self, holds: Callable[[], bool], seconds: float = 60.0) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"did not come to hold in {seconds} s: {self.names()[-5:]}"
            time.sleep(0.01)


def attributes(pairs: Any) -> dict[str, Any]:
    """Attributes of a message as Python's values."""
    found: dict[str, Any] = {}
    for pair in pairs:
        kind = pair.value.WhichOneof("value")
        found[pair.key] = getattr(pair.value, kind) if kind else None
    return found
