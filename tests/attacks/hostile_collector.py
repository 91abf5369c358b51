"""A collector that attacks those who send to it, on a real socket, and then turns honest."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeAlias

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

Attack: TypeAlias = "Callable[[Wire], None]"

# An attack goes on for so long, unless the other side has had enough before.
PATIENCE_SECONDS = 30.0
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, CONTINUATION = 0, 1, 4, 6, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1


class Wire:
    """One connection to a sender."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._reader = connection.makefile("rb")
        self.head = b""
        self.stream = 0

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def drip(self, data: bytes) -> None:
        """A byte ten times a second, the last one again and again."""
        began = time.monotonic()
        for place in range(10**6):
            if time.monotonic() - began > PATIENCE_SECONDS:
                return
            self.send(data[min(place, len(data) - 1) :][:1])
            time.sleep(0.1)

    def flood(self, piece: bytes) -> None:
        """The same again and again, as fast as it is taken."""
        began = time.monotonic()
        while time.monotonic() - began < PATIENCE_SECONDS:
            self.send(piece)

    def wait(self) -> None:
        """Say nothing until the other side goes."""
        self.connection.settimeout(PATIENCE_SECONDS)
        while self.connection.recv(65_536):
            pass

    def request(self) -> bytes | None:
        """The body of the next HTTP request; None when there is none."""
        self.head = b""
        while line := self._reader.readline():
            if line == b"\r\n":
                break
            self.head += line
        if not self.head:
            return None
        lengths = [line for line in self.head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        return self._reader.read(int(lengths[0].partition(b":")[2])) if lengths else b""

    def call(self) -> bytes | None:
        """The message of the next call over gRPC; None when there is none."""
        if not self.stream:
            if self._reader.read(len(_PREFACE)) != _PREFACE:
                return None
            self.send(frame(SETTINGS, 0, 0, b""))
        body = b""
        while len(begin := self._reader.read(9)) == 9:
            length, kind, flags, stream = (
                int.from_bytes(begin[:3], "big"), begin[3], begin[4], int.from_bytes(begin[5:], "big")
            )  # fmt: skip
            content = self._reader.read(length)
            if kind == SETTINGS and not flags & ACK:
                self.send(frame(SETTINGS, ACK, 0, b""))
            elif kind == PING and not flags & ACK:
                self.send(frame(PING, ACK, 0, content))
            elif kind in (DATA, HEADERS):
                self.stream = stream
                body += content if kind == DATA else b""
                if kind == DATA and content:
                    window = struct.pack(">I", len(content))
                    self.send(frame(8, 0, 0, window) + frame(8, 0, stream, window))
                if flags & END_STREAM:
                    return body[5:]
        return None

    def begin_answer(self, *headers: tuple[bytes, bytes]) -> None:
        self.send(
            frame(HEADERS, END_HEADERS, self.stream, b"\x88" + literal(b"content-type", b"application/grpc")
            + b"".join(literal(*each) for each in headers))
        )  # fmt: skip

    def message(self, content: bytes, *, compressed: bool = False, says: int | None = None) -> None:
        data = bytes([compressed]) + struct.pack(">I", len(content) if says is None else says) + content
        for at in range(0, len(data), 16_000):
            self.send(frame(DATA, 0, self.stream, data[at : at + 16_000]))

    def end_answer(self, status: int = 0, *trailers: tuple[bytes, bytes]) -> None:
        block = literal(b"grpc-status", str(status).encode()) + b"".join(literal(*each) for each in trailers)
        self.send(frame(HEADERS, END_HEADERS | END_STREAM, self.stream, block))


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """A frame of HTTP/2."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name: bytes, value: bytes) -> bytes:
    """A header of HTTP/2, neither indexed nor compressed (RFC 7541)."""
    return b"\x00" + _length(name) + _length(value)


def _length(text: bytes) -> bytes:
    if len(text) < 127:
        return bytes([len(text)]) + text
    rest, digits = len(text) - 127, b"\x7f"
    while rest >= 128:
        digits += bytes([rest & 127 | 128])
        rest >>= 7
    return digits + bytes([rest]) + text


class HostileCollector:
    """Attacks the first `times` requests, or connections before a request where `early`; takes all others."""

    def __init__(
        self,
        attack: Attack | None,
        times: int = 3,
        *,
        early: bool = False,
        grpc: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._attack, self._times, self._early, self._grpc, self._tls = attack, times, early, grpc, tls
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.attacked = 0
        self.bodies: list[bytes] = []
        self.heads: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def names(self) -> list[str]:
        """Of the spans that it took, each as often as it came."""
        return [
            span.name
            for body in self.bodies
            for group in _spans_of(body).resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                if self._early and self._turn():
                    self._strike(Wire(connection))
                    return
                plain = (
                    connection if self._tls is None else self._tls.wrap_socket(connection, server_side=True)
                )
                with plain:
                    self._talk(Wire(plain))
        except (OSError, ValueError):
            pass  # the other side has had enough

    def _talk(self, wire: Wire) -> None:
        for body in self._requests(wire):
            if not self._early and self._turn():
                self._strike(wire)
                return
            if self._grpc:
                wire.begin_answer()
                wire.message(b"")
                wire.end_answer()
            else:
                wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            self.bodies.append(body)

    def _requests(self, wire: Wire) -> Iterator[bytes]:
        take: Callable[[], Any] = wire.call if self._grpc else wire.request
        while (body := take()) is not None:
            self.heads.append(wire.head)
            yield body

    def _turn(self) -> bool:
        with self._lock:
            if self.attacked >= self._times:
                return False
            self.attacked += 1
            return True

    def _strike(self, wire: Wire) -> None:
        assert self._attack is not None
        self._attack(wire)


def _spans_of(body: bytes) -> ExportTraceServiceRequest:
    """The request that a body is, empty where it holds log records: there a time stands where spans have an id."""
    try:
        found = ExportTraceServiceRequest.FromString(body)
    except DecodeError:
        return ExportTraceServiceRequest()
    spans = [span for group in found.resource_spans for scope in group.scope_spans for span in scope.spans]
    return found if all(span.trace_id for span in spans) else ExportTraceServiceRequest()
