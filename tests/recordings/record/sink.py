"""Receives OTLP over gRPC and HTTP and keeps every export request in protobuf byte for byte."""

from __future__ import annotations

import gzip
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

import grpc

from retrospan.ingest.otlp.json import logs_from_json, traces_from_json

SIGNALS = ("traces", "logs", "metrics")
_SERVICES = {
    f"/opentelemetry.proto.collector.{package}.v1.{service}/Export": signal
    for signal, package, service in (
        ("traces", "trace", "TraceService"),
        ("logs", "logs", "LogsService"),
        ("metrics", "metrics", "MetricsService"),
    )
}


#: For exporters that send JSON whatever they are told.
_FROM_JSON = {"traces": traces_from_json, "logs": logs_from_json}


class Sink:
    """Listens on two free ports of this machine. Compressed bodies are kept as they were before compression.

    A request in JSON is kept as the protobuf that the collector makes of it, for recordings are protobuf.
    """

    def __init__(self) -> None:
        self.kept: dict[str, list[bytes]] = {signal: [] for signal in SIGNALS}
        sink = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = _body(self)
                signal = self.path.rpartition("/")[2]
                kind = self.headers.get("Content-Type") or ""
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                if "json" in kind and signal in _FROM_JSON:
                    made = _FROM_JSON[signal](body)
                    body = made.body
                    if made.faults.counts:
                        print(f"lost of {signal} in JSON: {made.faults.counts}", file=sys.stderr)
                elif signal not in SIGNALS or "protobuf" not in kind:
                    self.send_error(415)
                    return
                sink.kept[signal].append(body)
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.http_url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._grpc = grpc.server(ThreadPoolExecutor(4), handlers=[_Exports(self.kept)])
        self.grpc_url = f"http://127.0.0.1:{self._grpc.add_insecure_port('127.0.0.1:0')}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._grpc.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        self._grpc.stop(None).wait()


class _Exports(grpc.GenericRpcHandler):  # type: ignore[misc]
    """The three Export methods, on the bytes as they come."""

    def __init__(self, kept: dict[str, list[bytes]]) -> None:
        self._kept = kept

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        signal = _SERVICES.get(handler_call_details.method)
        if signal is None:
            return None

        def keep(body: bytes, context: object) -> bytes:
            self._kept[signal].append(body)
            return b""

        return grpc.unary_unary_rpc_method_handler(keep)


def _body(request: BaseHTTPRequestHandler) -> bytes:
    """Read what was sent, in one piece or in chunks, as Node's exporters send it."""
    if request.headers.get("Transfer-Encoding") != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length") or 0))
    body = bytearray()
    while size := int(request.rfile.readline().partition(b";")[0], 16):
        body += request.rfile.read(size)
        request.rfile.readline()
    request.rfile.readline()
    return bytes(body)


def length_delimited(bodies: list[bytes]) -> bytes:
    """Join requests, each preceded by its length as a varint."""
    data = bytearray()
    for body in bodies:
        size = len(body)
        while size > 127:
            data.append(size & 127 | 128)
            size >>= 7
        data.append(size)
        data += body
    return bytes(data)
