"""aiohttp: its connector gives a connection on which the reply lies already, so that its own parser reads it."""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from typing import Any

from retrospan.exporter.replay.current import admit, current
from retrospan.exporter.replay.exchange import TransportFailed
from retrospan.exporter.replay.patches import patch_async
from retrospan.exporter.replay.transports.plain import read_request, response_bytes, with_body
from retrospan.exporter.replay.wire.form import Reply


def install(name: str) -> None:
    """Answer requests of every session, also of those that are there already. Harmless when installed."""
    patch_async(import_module("aiohttp.connector").BaseConnector, "connect", _connect)


async def _connect(original: Any, connector: Any, request: Any, *args: Any, **named: Any) -> Any:
    replaying = current()
    url = request.url
    if replaying is None or replaying.may_connect(url.host or "", url.port):
        return await original(connector, request, *args, **named)
    loop = asyncio.get_running_loop()
    protocol = import_module("aiohttp.client_proto").ResponseHandler(loop=loop)
    line = _Line(protocol, str(url.scheme), str(url.raw_host if url.is_default_port() else url.authority))
    line.dial = lambda: original(connector, request, *args, **named)
    protocol.connection_made(line)
    return import_module("aiohttp.connector").Connection(connector, request.connection_key, protocol, loop)


class _Line(asyncio.Transport):
    """Takes the place of a connection: when the request is whole, the reply is fed to the protocol."""

    dial: Any = None

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
        replaying = current()
        if asked is None or replaying is None:
            return
        self._answered = True
        try:
            found = replaying.exchange(asked)
        except TransportFailed as error:
            kind = "ServerTimeoutError" if error.kind == "timeout" else "ClientConnectionError"
            self._protocol.set_exception(getattr(sys.modules["aiohttp"], kind)(str(error)))
            return
        except Exception as error:  # noqa: BLE001 - refused: to whoever waits for the response
            self._protocol.set_exception(error)
            return
        loop = asyncio.get_running_loop()
        if isinstance(found, Reply):
            loop.call_soon(self._protocol.data_received, response_bytes(found))
            return
        admit(asked.host)
        sent = bytes(self._sent)
        if found.body is not None:
            sent = with_body(sent, found.body)
        self._task = loop.create_task(self._go_out(sent))

    async def _go_out(self, sent: bytes) -> None:
        """Send the request on a connection of the connector's own, and pass on what comes back."""
        try:
            connection = await self.dial()
        except Exception as error:  # noqa: BLE001 - to whoever waits for the response
            self._protocol.set_exception(error)
            return
        transport = connection.transport
        transport.set_protocol(self._protocol)
        self._protocol.transport = transport
        transport.write(sent)

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
