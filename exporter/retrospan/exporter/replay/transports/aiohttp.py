"""aiohttp: its connector gives a connection on which the reply lies already, so that its own parser reads it."""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from typing import Any

from retrospan.exporter.replay.current import admit, current
from retrospan.exporter.replay.exchange import Exchange, Live, TransportFailed, lower
from retrospan.exporter.replay.patches import patch_async
from retrospan.exporter.replay.transports.plain import read_request, response_bytes
from retrospan.exporter.replay.wire.form import Cut, Reply

#: How long a connection that breaks off waits for its reader before it looks again.
_LOOKS_AGAIN_S = 0.002


def install(name: str) -> None:
    """Answer requests of every session, also of those that are there already. Harmless when installed."""
    patch_async(import_module("aiohttp.connector").BaseConnector, "connect", _connect)


async def _connect(original: Any, connector: Any, request: Any, *args: Any, **named: Any) -> Any:
    replaying = current()
    url = request.url
    if replaying is None or replaying.lets_through(url.host or "", url.port):
        return await original(connector, request, *args, **named)
    body = _body_of(request)
    if body is None and not replaying.makes_record and replaying.may_connect(url.host or "", url.port):
        return await original(connector, request, *args, **named)
    found = None
    if body is not None:
        headers = lower(request.headers.items())
        try:
            found = replaying.exchange(Exchange(request.method.upper(), str(url), headers, body))
        except TransportFailed as error:
            raise _failed(error) from None
    if isinstance(found, Live):
        admit(url.host)
        if found.body is not None:
            _put(request, found.body)
        return await original(connector, request, *args, **named)
    loop = asyncio.get_running_loop()
    protocol = import_module("aiohttp.client_proto").ResponseHandler(loop=loop)
    line = _Line(protocol, str(url.scheme), str(url.raw_host if url.is_default_port() else url.authority))
    line.reply = found
    protocol.connection_made(line)
    return import_module("aiohttp.connector").Connection(connector, request.connection_key, protocol, loop)


def _body_of(request: Any) -> bytes | None:
    """Return the body of a request, None where it is still to come."""
    body = request.body
    value = getattr(body, "_value", body)
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else None


def _put(request: Any, body: bytes) -> None:
    """Give a request another body."""
    request.body._value, request.body._size = body, len(body)
    request.headers["Content-Length"] = str(len(body))


def _failed(error: TransportFailed) -> Exception:
    kind = "ServerTimeoutError" if error.kind == "timeout" else "ClientConnectionError"
    found: Exception = getattr(sys.modules["aiohttp"], kind)(str(error))
    return found


class _Line(asyncio.Transport):
    """Takes the place of a connection: when the request is whole, the reply is fed to the protocol."""

    #: The reply, where it is known before the request is sent.
    reply: Reply | None = None

    def __init__(self, protocol: Any, scheme: str, authority: str) -> None:
        super().__init__()
        self._protocol, self._scheme, self._authority = protocol, scheme, authority
        self._sent = bytearray()
        self._closed = False
        self._answered = False

    def write(self, data: Any) -> None:
        if self._answered:
            return
        self._sent += data
        asked = read_request(bytes(self._sent), self._scheme, self._authority)
        if asked is None:
            return
        self._answered = True
        try:
            reply = self.reply or self._ask(asked)
        except Exception as error:  # noqa: BLE001 - to whoever waits for the response
            self._protocol.set_exception(error)
            return
        loop = asyncio.get_running_loop()
        loop.call_soon(self._protocol.data_received, response_bytes(reply))
        if reply.cut is not None:
            loop.call_soon(self._break_off, loop, reply.cut)

    def _break_off(self, loop: asyncio.AbstractEventLoop, cut: Cut) -> None:
        """End the connection once everything was read: aiohttp gives out nothing more when it is told of an error."""
        payload = self._protocol._payload
        if self._closed:
            return
        if payload is None or payload._waiter is None:
            loop.call_later(_LOOKS_AGAIN_S, self._break_off, loop, cut)
        elif cut.kind == "timeout":
            self._protocol._on_read_timeout()
        else:
            self._protocol.connection_lost(ConnectionResetError(cut.message))

    def _ask(self, asked: Exchange) -> Reply:
        """Return the reply to a request whose body came in pieces."""
        replaying = current()
        if replaying is None:
            raise ConnectionResetError("the replay has ended")
        try:
            found = replaying.exchange(asked)
        except TransportFailed as error:
            raise _failed(error) from None
        if isinstance(found, Live):
            raise replaying.refuse(f"{asked.method} {asked.url}, whose body comes in pieces,")
        return found

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def is_closing(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True

    def abort(self) -> None:
        self._closed = True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def is_reading(self) -> bool:
        return not self._closed
