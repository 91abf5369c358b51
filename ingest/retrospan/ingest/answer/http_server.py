"""A small threaded HTTP/1.1 server for the port that answers questions.

One thread per connection, because a query blocks one anyway. Bounded: connections, header and body sizes,
idle time. Requests whose Host is not this machine's, or whose Origin is another page's, are refused, so that
no web page can read a local warehouse by DNS rebinding or write to it through a visitor's browser. Where a token is
asked for, any Host will do: a page that rebinds a name has no token.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from retrospan.ingest.receive.port import port_in_use
from retrospan.ingest.setting_values import Address

IDLE_SECONDS = 60.0
HANDSHAKE_SECONDS = 10.0
CONNECTIONS = 128
_DRAINED_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `body` is complete unless `overlong`."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    overlong: bool


@dataclass(frozen=True, slots=True)
class Response:
    """One response. A `stream` is sent in chunks as it comes, after `body`."""

    status: int
    body: bytes = b""
    content_type: str = "text/plain; charset=UTF-8"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    stream: Iterable[bytes] | None = None


Answer = Callable[[Request], Response]


def text(status: int, message: str) -> Response:
    """A plain text response."""
    return Response(status, message.encode())


class HttpServer:
    """Listens at an address and answers each request with `answer`, in a thread of its connection."""

    def __init__(
        self,
        address: Address,
        answer: Answer,
        *,
        body_bytes: int,
        tls: ssl.SSLContext | None = None,
        any_host: bool = False,
        listener: socket.socket | None = None,
    ) -> None:
        """With `tls`, plain text is refused. `any_host`: the caller asks for a token, the Host proves nothing more."""
        self._tls = tls
        self._any_host = any_host
        self._listener = listener
        self._address = address
        self._answer = answer
        self._body_bytes = body_bytes
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> int:
        """Listen, and return the port.

        Raises:
            PortInUse: somebody else listens there.
        """
        try:
            server = _Server(
                self._address, self._answer, self._body_bytes, self._tls, self._any_host, self._listener
            )
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise port_in_use(self._address, flag="--sql") from error
            raise
        self._server = server
        self._thread = threading.Thread(
            target=server.serve_forever, args=(0.1,), name="sql-port", daemon=True
        )
        self._thread.start()
        return int(server.server_address[1])

    def stop(self, grace: float) -> None:
        """Stop listening, let running requests end within `grace` seconds, then cut what is left."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._thread.join()
        self._server.finish(grace)
        self._server.server_close()
        self._server = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(
        self,
        address: Address,
        answer: Answer,
        body_bytes: int,
        tls: ssl.SSLContext | None,
        any_host: bool,
        listener: socket.socket | None,
    ) -> None:
        self._listener = listener
        self._tls = tls
        self._any_host = any_host
        # Reached from elsewhere, this machine has addresses that nobody told us; only names can be rebound.
        self._any_address = not address.loopback
        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self.answer = answer
        self.body_bytes = body_bytes
        self.hosts = frozenset({"localhost", address.host.casefold()})
        self._open: dict[socket.socket, bool] = {}
        self._changed = threading.Condition()
        super().__init__((address.host, address.port), _Handler)

    def server_bind(self) -> None:
        # The inherited method asks the resolver for this host's name, which can take seconds.
        if self._listener is not None:
            self.socket.close()
            self.socket = self._listener
        else:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def verify_request(self, request: object, client_address: object) -> bool:
        with self._changed:
            return len(self._open) < CONNECTIONS

    def handle_error(self, request: object, client_address: object) -> None:
        """A connection that broke off is the client's affair; errors of ours become responses before this."""

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Runs in the connection's own thread, so a slow handshake holds up nobody."""
        if self._tls is None:
            super().finish_request(request, client_address)
            return
        self.busy(request, False)
        try:
            request.settimeout(HANDSHAKE_SECONDS)
            try:
                secured = self._tls.wrap_socket(request, server_side=True)
            except (OSError, ValueError):
                return  # plain text, a client without the right certificate, or one that went away
            finally:
                self.busy(request, None)
            with secured:
                super().finish_request(secured, client_address)
        finally:
            request.close()

    def busy(self, connection: socket.socket, busy: bool | None) -> None:
        """Note that a connection is answering (True), idle (False), gone (None)."""
        with self._changed:
            if busy is None:
                self._open.pop(connection, None)
            else:
                self._open[connection] = busy
            self._changed.notify_all()

    def finish(self, grace: float) -> None:
        """Wait for requests being answered, then close every connection and wait for their threads to notice."""
        with self._changed:
            self._changed.wait_for(lambda: not any(self._open.values()), grace)
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            self._changed.wait_for(lambda: not self._open, 5.0)

    def refusal(self, headers: Mapping[str, str], target: SplitResult) -> str | None:
        """Why this request may not be answered at all; None when it may."""
        host = target.netloc or headers.get("host", "")
        if not (self._any_host or self._ours(host) or (self._any_address and _is_address(host))):
            return (
                f"host {host[:100]!r} is not a name of this collector. "
                "Use 127.0.0.1, localhost or the address it was told to listen at."
            )
        origin = headers.get("origin")
        if origin is not None and not self._is_own_page(origin, host):
            return f"requests from pages of {origin[:100]!r} are refused."
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return "requests from other pages are refused."
        return None

    def _ours(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").casefold()
        except ValueError:
            return False
        if name in self.hosts:
            return True
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False

    def _is_own_page(self, origin: str, host: str) -> bool:
        try:
            found = urlsplit(origin).netloc
        except ValueError:
            return False
        return self._ours(found) or (bool(found) and found.casefold() == host.casefold())


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False
    return True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "retrospan"
    sys_version = ""
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True

    @property
    def _port(self) -> _Server:
        assert isinstance(self.server, _Server)
        return self.server

    def setup(self) -> None:
        super().setup()
        self._port.busy(self.connection, False)

    def finish(self) -> None:
        try:
            super().finish()
        finally:
            self._port.busy(self.connection, None)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are counted in /metrics, not logged."""

    def do_GET(self) -> None:
        self._respond()

    def do_HEAD(self) -> None:
        self._respond()

    def do_POST(self) -> None:
        self._respond()

    def do_PUT(self) -> None:
        self._respond()

    def do_DELETE(self) -> None:
        self._respond()

    def do_OPTIONS(self) -> None:
        self._respond()

    def _respond(self) -> None:
        self._port.busy(self.connection, True)
        try:
            self._send(self._answered())
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        finally:
            self._port.busy(self.connection, False)

    def _answered(self) -> Response:
        headers = {name.casefold(): value for name, value in self.headers.items()}
        try:
            target = urlsplit(self.path)
            body, overlong = self._body(headers)
        except ValueError as error:
            self.close_connection = True
            return text(400, f"{error}\n")
        if why := self._port.refusal(headers, target):
            return text(403, why + "\n")
        query = dict(parse_qsl(target.query, keep_blank_values=True, errors="surrogateescape"))
        return self._port.answer(Request(self.command, target.path, query, headers, body, overlong))

    def _body(self, headers: Mapping[str, str]) -> tuple[bytes, bool]:
        """The body up to the limit; what is beyond is read and dropped, so that the client hears the answer."""
        if headers.get("transfer-encoding", "").casefold() == "chunked":
            return self._chunked()
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            raise ValueError(f"Content-Length {length[:40]!r} is not a number.")
        kept = self._exactly(min(int(length), self._port.body_bytes))
        rest = int(length) - len(kept)
        self._drop(rest)
        return kept, rest > 0

    def _chunked(self) -> tuple[bytes, bool]:
        kept = bytearray()
        total = 0
        while True:
            size = self.rfile.readline(100).split(b";")[0].strip()
            try:
                length = int(size, 16)
            except ValueError as error:
                raise ValueError("a chunk without its size.") from error
            if length == 0:
                break
            wanted = max(0, min(length, self._port.body_bytes - len(kept)))
            kept += self._exactly(wanted)
            self._drop(length - wanted)
            total += length
            self.rfile.readline(3)
        while self.rfile.readline(8192).strip():  # trailers
            pass
        return bytes(kept), total > len(kept)

    def _exactly(self, length: int) -> bytes:
        data = self.rfile.read(length)
        if len(data) < length:
            raise ConnectionError("the request broke off")
        return data

    def _drop(self, length: int) -> None:
        if length > _DRAINED_BYTES:
            self.close_connection = True
            return
        while length > 0:
            length -= len(self._exactly(min(length, 1 << 20)))

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        self.send_header("Content-Type", response.content_type)
        self.send_header("X-Content-Type-Options", "nosniff")
        for name, value in response.headers.items():
            # A value that came from the client may not begin a header of its own.
            self.send_header(name, value.replace("\r", " ").replace("\n", " "))
        if response.stream is None:
            self.send_header("Content-Length", str(len(response.body)))
        else:
            self.send_header("Transfer-Encoding", "chunked")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command == "HEAD":
            return
        if response.stream is None:
            self.wfile.write(response.body)
            return
        for piece in response.stream:
            if piece:
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")
