"""Answers on the SQL port while the process of the warehouse starts: 503 with Retry-After, and the probes.

Both processes have the same listening socket. This one accepts only while the other does not.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

import uvicorn

from retrospan.ingest.access.gate import clickhouse_token
from retrospan.ingest.access.tls import server_context
from retrospan.ingest.answer.probes import TEXT, Page, Probes
from retrospan.ingest.config import TlsSettings
from retrospan.ingest.receive.connection import HEADER_SECONDS, patient
from retrospan.schemas.errors import Forbidden, Unauthenticated

RETRY_SECONDS = 1
_CONNECTIONS = 256


class StandIn:
    """Started and stopped as often as the warehouse comes and goes."""

    def __init__(
        self,
        listener: socket.socket,
        probes: Probes,
        failure: Callable[[], str],
        tls: TlsSettings | None,
    ) -> None:
        """`failure` says why questions are not answered just now."""
        self._listener = listener
        self._probes = probes
        self._failure = failure
        self._tls = server_context(tls)
        self._changing = threading.Lock()
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to accept. Harmless when it does already."""
        with self._changing:
            if self._server is not None:
                return
            self._server = uvicorn.Server(
                uvicorn.Config(
                    self._answer,
                    loop="asyncio",
                    http=patient(HEADER_SECONDS, _CONNECTIONS),
                    ws="none",
                    interface="asgi3",
                    lifespan="off",
                    log_config=None,
                    log_level="critical",
                    access_log=False,
                    server_header=False,
                    timeout_graceful_shutdown=1,
                )
            )
            self._server.config.load()
            self._server.config.ssl = self._tls
            self._thread = threading.Thread(
                target=self._server.run,
                args=([self._listener.dup()],),
                name="retrospan-stand-in",
                daemon=True,
            )
            self._thread.start()

    def stop(self) -> None:
        """Accept no more; what is under way is answered. Harmless when it does not accept."""
        with self._changing:
            server, self._server = self._server, None
            if server is None or self._thread is None:
                return
            server.should_exit = True
            self._thread.join()

    async def _answer(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        headers = {
            name.decode("latin-1").casefold(): value.decode("latin-1") for name, value in scope["headers"]
        }
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        page: Page | None = None
        if scope["method"] in ("GET", "HEAD"):
            try:
                page = self._probes.page(scope["path"], query, clickhouse_token(headers))
            except (Unauthenticated, Forbidden) as error:
                page = Page(401 if isinstance(error, Unauthenticated) else 403, f"{error}\n".encode(), TEXT)
        if scope["path"].rstrip("/") == "/health/ready":
            page = self._probes.ready(answers=True)
        if page is None:
            page = Page(503, f"{self._failure() or 'the warehouse is starting'}: try again.\n".encode(), TEXT)
        extra = [(b"retry-after", str(RETRY_SECONDS).encode())] if page.status == 503 else []
        # The connection is closed: the next one is answered by the process of the warehouse, once it is there.
        await send(
            {
                "type": "http.response.start",
                "status": page.status,
                "headers": [
                    (b"content-type", page.content_type.encode()),
                    (b"content-length", str(len(page.body)).encode()),
                    (b"connection", b"close"),
                    *extra,
                ],
            }
        )
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else page.body})
