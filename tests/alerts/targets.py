"""Targets for alerts on real sockets: one that listens well, and ones that do not."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Heard:
    """What came to a target: the heads of requests with folded names, and their bodies."""

    port: int
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


def read_request(connection: socket.socket) -> tuple[dict[str, str], bytes]:
    """One request with its body; ({}, b'') when nothing came."""
    kept = b""
    while b"\r\n\r\n" not in kept:
        piece = connection.recv(65536)
        if not piece:
            return {}, b""
        kept += piece
    head, _, body = kept.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {"": first, **{name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}}
    while len(body) < int(headers["content-length"]):
        body += connection.recv(65536)
    return headers, body


def answer(status: str, *more: str) -> Callable[[socket.socket], None]:
    """Answers each request with a status and further lines of the head."""

    def answered(connection: socket.socket) -> None:
        lines = [f"HTTP/1.1 {status}", "Content-Length: 0", *more, "", ""]
        connection.sendall("\r\n".join(lines).encode())

    return answered


def _secured(connection: socket.socket, tls: ssl.SSLContext | None) -> socket.socket:
    return tls.wrap_socket(connection, server_side=True) if tls else connection


@contextmanager
def listening(
    behave: Callable[[socket.socket], None], *, tls: ssl.SSLContext | None = None, port: int = 0
) -> Iterator[Heard]:
    """A server on this machine whose answer to each request is what `behave` does with the connection."""
    listener = socket.create_server(("127.0.0.1", port))
    heard = Heard(listener.getsockname()[1])
    ended = threading.Event()

    def serve(connection: socket.socket) -> None:
        with suppress(OSError), closing(connection), _secured(connection, tls) as opened:
            request = read_request(opened)
            if request[0]:
                heard.requests.append(request)
                behave(opened)

    def accept() -> None:
        while not ended.is_set():
            with suppress(OSError):
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        ended.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)
