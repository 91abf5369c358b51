"""Answers on the SQL port while the process of the warehouse starts: 503 with Retry-After, and the probes.

Both processes have the same listening socket. This one accepts only while the other does not.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import parse_qsl

from retrospan.ingest.access.gate import clickhouse_token
from retrospan.ingest.http.messages import (
    Receive,
    Response,
    Scope,
    Send,
    drain,
    headers_of,
    path_of,
    send_response,
    text,
)
from retrospan.ingest.http.server import HttpServer
from retrospan.ingest.http.site import Site
from retrospan.ingest.status.probes import TEXT, Probes
from retrospan.schemas.errors import Forbidden, Unauthenticated

RETRY_SECONDS = 1
_CONNECTIONS = 256


class StandIn:
    """Started and stopped as often as the warehouse comes and goes."""

    def __init__(
        self,
        site: Site,
        listener: socket.socket,
        probes: Probes,
        failure: Callable[[], str],
        *,
        guarded: bool,
    ) -> None:
        """`failure` says why questions are not answered just now; `guarded`: a token is asked for."""
        self._site = site
        self._listener = listener
        self._probes = probes
        self._failure = failure
        self._guarded = guarded
        self._changing = threading.Lock()
        self._server: HttpServer | None = None

    def start(self) -> None:
        """Begin to accept. Harmless when it does already."""
        with self._changing:
            if self._server is not None:
                return
            self._server = HttpServer(
                self._answer,
                replace(self._site, listener=self._listener.dup()),
                _refuse,
                flag="--sql",
                name="retrospan-stand-in",
                guarded=self._guarded,
                connections=_CONNECTIONS,
            )
            self._server.start()

    def stop(self) -> None:
        """Accept no more; what is under way is answered. Harmless when it does not accept."""
        with self._changing:
            server, self._server = self._server, None
            if server is not None:
                server.stop(1.0)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await drain(receive)
        page: Response | None = None
        path = path_of(scope)
        if scope["method"] in ("GET", "HEAD"):
            query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
            try:
                page = self._probes.page(path, query, clickhouse_token(headers_of(scope)))
            except (Unauthenticated, Forbidden) as error:
                page = text(401 if isinstance(error, Unauthenticated) else 403, f"{error}\n")
        if path.rstrip("/") == "/health/ready":
            page = self._probes.ready(answers=True)
        if page is None:
            why = self._failure() or "the warehouse is starting"
            page = Response(503, f"{why}: try again.\n".encode(), TEXT)
        extra = [(b"retry-after", str(RETRY_SECONDS).encode())] if page.status == 503 else []
        # The connection is closed: the next one is answered by the process of the warehouse, once it is there.
        await send_response(scope, send, page, [(b"connection", b"close"), *extra])


async def _refuse(scope: Scope, send: Send, status: int, message: str) -> None:
    await send_response(scope, send, text(status, message + "\n"))
