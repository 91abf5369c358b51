"""The server of every HTTP port: ASGI under uvicorn with h11, in its own thread.

It listens on an address, or on a socket that is already bound. Each request passes here before the application sees it:
probes have reserved slots, requests from pages that are not listed are refused, and preflight requests of listed pages
are answered.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

import uvicorn

from retrospan.ingest.access.tls import server_context
from retrospan.ingest.http.connection import (
    CONNECTION,
    HEADER_BYTES,
    Connection,
    Crowd,
    most_connections,
)
from retrospan.ingest.http.messages import App, Receive, Scope, Send, drain, headers_of, path_of
from retrospan.ingest.http.site import Site
from retrospan.ingest.http.visitors import Visitors

PROBES = frozenset({"/ping", "/health", "/health/live", "/health/ready", "/health/answering"})
HANDSHAKE_SECONDS = 10.0
#: Sends a refusal in the form of its port: the status and what is wrong.
Refuse = Callable[[Scope, Send, int, str], Awaitable[None]]
_LAST_SECONDS = 2.0
#: How often it looks at its connections; uvicorn's own loop wakes ten times a second, with or without any.
_LOOK_SECONDS = 1.0
_SETTLING_SECONDS = 10.0


class HttpServer:
    """One HTTP port. Start once, stop once."""

    def __init__(
        self,
        app: App,
        site: Site,
        refuse: Refuse,
        *,
        flag: str,
        name: str,
        guarded: bool = False,
        header_bytes: int = HEADER_BYTES,
        address_bytes: int = 0,
        connections: int = 0,
        settled: Callable[[], bool] = lambda: True,
    ) -> None:
        """
        Args:
            site: where it listens; the socket is closed by `stop`.
            flag: the option of `serve` that names the address.
            name: of the thread, and of the server in answers.
            guarded: whether a token is asked for.
            address_bytes: how long a first line with the headers may be of a few requests at once, where that is more.
            connections: how many requests may be in progress; 0: as many as the process's descriptors allow.
            settled: whether what requests began has ended; a stop waits a moment for it.
        Raises:
            ConfigError: a file of the site's `tls` cannot be used.
        """
        self._site = site
        self._flag = flag
        self._name = name
        crowd = Crowd(
            connections or most_connections(),
            site.header_seconds,
            site.unread_seconds,
            header_bytes=header_bytes,
            address_bytes=address_bytes,
        )
        config = uvicorn.Config(
            _Entrance(app, site.visitors(guarded=guarded), refuse),
            loop="asyncio",
            http="h11",
            ws="none",
            interface="asgi3",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            h11_max_incomplete_event_size=max(header_bytes, address_bytes),
        )
        config.load()
        config.ssl = site.tls if isinstance(site.tls, ssl.SSLContext) else server_context(site.tls)
        self.secure = config.ssl is not None
        """Whether it speaks TLS."""
        self._server = _Server(config, crowd, settled)
        self._thread: threading.Thread | None = None

    def start(self) -> int:
        """Listen, and return the port. Raises PortInUse."""
        listener = self._site.bind(self._flag)
        listener.setblocking(False)
        port: int = listener.getsockname()[1]
        self._thread = threading.Thread(
            target=self._server.run, args=([listener],), name=self._name, daemon=True
        )
        self._thread.start()
        return port

    def refuse(self, grace: float) -> None:
        """Stop accepting; requests in progress have `grace` seconds."""
        self._server.config.timeout_graceful_shutdown = max(1, round(grace))
        self._server.leave()

    def stop(self, grace: float) -> None:
        """Stop accepting, give requests in progress `grace` seconds to be answered, then cut what is left."""
        self.refuse(grace)
        if self._thread is not None:
            self._thread.join()


class _Server(uvicorn.Server):
    """uvicorn's server, with connections of our own and deadlines for TLS."""

    def __init__(self, config: uvicorn.Config, crowd: Crowd, settled: Callable[[], bool]) -> None:
        super().__init__(config)
        self._settled = settled
        self._crowd = crowd
        self._loop: asyncio.AbstractEventLoop | None = None
        self._leaving = asyncio.Event()

    def leave(self) -> None:
        """Have it stop, from any thread."""
        self.should_exit = True
        if self._loop is not None:
            with suppress(RuntimeError):  # closed: it has stopped already
                self._loop.call_soon_threadsafe(self._leaving.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        loop = self._loop = asyncio.get_running_loop()
        deadlines: dict[str, Any] = (
            {"ssl_handshake_timeout": HANDSHAKE_SECONDS, "ssl_shutdown_timeout": HANDSHAKE_SECONDS}
            if self.config.ssl is not None
            else {}
        )
        self.servers = [
            await loop.create_server(
                partial(Connection, self._crowd, self.config, self.server_state),
                sock=listener,
                ssl=self.config.ssl,
                backlog=512,
                **deadlines,
            )
            for listener in sockets or []
        ]
        self.started = True

    async def main_loop(self) -> None:
        loop = asyncio.get_running_loop()
        # Each of these is for uvicorn the first of a second: it renews the date that answers carry.
        while not await self.on_tick(0):
            self._crowd.look(loop.time())
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._leaving.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        for connection in list(self._crowd.everybody):
            connection.transport.abort()
        loop = asyncio.get_running_loop()
        now = loop.time()
        while (self._crowd.everybody or self.server_state.tasks) and loop.time() < now + _LAST_SECONDS:
            await asyncio.sleep(0.01)
        while not self._settled() and loop.time() < now + _SETTLING_SECONDS:
            await asyncio.sleep(0.01)


class _Entrance:
    """What every request passes before the application of its port."""

    def __init__(self, app: App, visitors: Visitors, refuse: Refuse) -> None:
        self._app = app
        self._visitors = visitors
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection: Connection = scope["state"][CONNECTION]
        if not connection.enter() and path_of(scope) not in PROBES:
            busy = "too many requests are in progress. Try again in a moment"
            await self._refuse(
                scope, _with(send, [(b"retry-after", b"1"), (b"connection", b"close")]), 503, busy
            )
            return
        headers = headers_of(scope)
        if why := self._visitors.refusal(headers):
            await drain(receive)
            await self._refuse(scope, _with(send, [(b"connection", b"close")]), 403, why)
            return
        allowed = self._visitors.preflight(scope["method"], headers)
        if allowed is not None:
            start = {"type": "http.response.start", "status": 204, "headers": allowed}
            await send(start)
            await send({"type": "http.response.body", "body": b""})
            return
        extra = self._visitors.allowance(headers)
        await self._app(scope, receive, _with(send, extra) if extra else send)


def _with(send: Send, extra: Iterable[tuple[bytes, bytes]]) -> Send:
    """Return the same, with further headers."""

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return sending
