"""http.client, and what sends with it: urllib.request. urllib3, which has classes of its own, is hooked above it."""

from __future__ import annotations

from http import client
from io import BytesIO
from typing import Any

from retrospan.exporter.replay.current import ASKING, admit, current
from retrospan.exporter.replay.exchange import TransportFailed
from retrospan.exporter.replay.patches import patch
from retrospan.exporter.replay.transports.plain import Stalled, read_request, response_bytes, with_body
from retrospan.exporter.replay.wire.form import Reply


def install(name: str) -> None:
    """Answer every connection that is opened from now on. Harmless when installed."""
    patch(client.HTTPConnection, "connect", _connect)
    patch(client.HTTPSConnection, "connect", _connect)


def _connect(original: Any, connection: Any) -> None:
    replaying = current()
    is_own = isinstance(connection, client.HTTPConnection) and not hasattr(connection, "is_verified")
    if replaying is None or ASKING.get() or not is_own or isinstance(connection.sock, _Line):
        original(connection)
        return
    if replaying.lets_through(connection.host, connection.port):
        original(connection)
        return
    connection.sock = _Line(original, connection)


class _Line:
    """Takes the place of a socket: it collects the request, and is the response."""

    def __init__(self, connect: Any, connection: Any) -> None:
        self._connect, self._connection = connect, connection
        self._sent = bytearray()
        self._real: Any = None

    def sendall(self, data: Any) -> None:
        if self._real is not None:
            self._real.sendall(data)
        else:
            self._sent += data

    def makefile(self, mode: str, *args: Any, **named: Any) -> Any:
        if self._real is not None:
            return self._real.makefile(mode, *args, **named)
        try:
            return self._answered(mode, *args, **named)
        except Exception as error:  # noqa: BLE001 - whoever reads the answer gets it
            return _Unanswered(error)

    def _answered(self, mode: str, *args: Any, **named: Any) -> Any:
        replaying, at = current(), self._connection
        scheme = "https" if isinstance(at, client.HTTPSConnection) else "http"
        default = 443 if scheme == "https" else 80
        authority = at.host if at.port == default else f"{at.host}:{at.port}"
        asked = read_request(bytes(self._sent), scheme, authority)
        if replaying is None or asked is None:
            raise client.RemoteDisconnected("a request that is not whole cannot be answered from a record")
        try:
            found = replaying.exchange(asked)
        except TransportFailed as error:
            raise (
                TimeoutError(str(error)) if error.kind == "timeout" else ConnectionResetError(str(error))
            ) from None
        if isinstance(found, Reply):
            self._sent.clear()
            if found.cut is not None and found.cut.kind == "timeout":
                return Stalled(response_bytes(found), found.cut.message)
            return BytesIO(response_bytes(found))
        admit(asked.host)
        sent = bytes(self._sent)
        if found.body is not None:
            sent = with_body(sent, found.body)
        self._connect(at)
        self._real, at.sock = at.sock, self
        self._real.sendall(sent)
        return self._real.makefile(mode, *args, **named)

    def close(self) -> None:
        if self._real is not None:
            self._real.close()

    def __getattr__(self, name: str) -> Any:
        real = self.__dict__.get("_real")
        return getattr(real, name) if real is not None else _nothing


class _Unanswered(BytesIO):
    """A response that raises where it is read. The one that asks for it has no file yet: if it were raised there, since
    Python 3.13 its end would say a second error on standard error."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def readline(self, size: int | None = -1, /) -> bytes:
        raise self._error


def _nothing(*_: Any, **__: Any) -> None:
    """Stand for settings of a socket: settimeout, setsockopt, shutdown."""
