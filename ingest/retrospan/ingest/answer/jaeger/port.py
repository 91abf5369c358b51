"""The port that speaks Jaeger's query API: same server, tokens, tenants and limits as the SQL port.

An answer is made as that of a query is: it stops when its client hangs up or its time is over, and both take the same
places. An error after its first megabyte cuts the connection.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl

from retrospan.ingest.access.fair_executor import FairExecutor
from retrospan.ingest.access.gate import Gate
from retrospan.ingest.access.remote import RemoteGate
from retrospan.ingest.answer.admission import Admission
from retrospan.ingest.answer.desk import BrokenOff, Desk, Places, Query
from retrospan.ingest.answer.jaeger import classic, otlp
from retrospan.ingest.answer.jaeger.lookups import Lookups
from retrospan.ingest.answer.jaeger.routes import V3, Answer, NotImplementedHere, answer_to
from retrospan.ingest.answer.readers import ReaderOf, bounded, bounds
from retrospan.ingest.answer.running import RunningQuery
from retrospan.ingest.http.connection import CONNECTION, Connection
from retrospan.ingest.http.messages import (
    BODY_SECONDS,
    Gone,
    Receive,
    Request,
    Response,
    Scope,
    Send,
    path_of,
    read_request,
    send_response,
    text,
)
from retrospan.ingest.http.server import HttpServer
from retrospan.ingest.http.site import Site
from retrospan.ingest.logs import log_failure
from retrospan.ingest.settings.config import Limits
from retrospan.schemas.errors import (
    TIMEOUT_EXCEEDED,
    TOO_MANY_QUERIES,
    BadRequest,
    Forbidden,
    NotFound,
    RetrospanError,
    SlowRequest,
    SqlError,
    Unauthenticated,
    WarehouseUnavailable,
)
from retrospan.schemas.store import ROW_SETTINGS, Store

_ADMISSION_SECONDS = 10.0
_JSON = "application/json"
_METHODS = ("GET", "HEAD")


class JaegerPort:
    """Start once, stop once."""

    def __init__(
        self,
        site: Site,
        *,
        limits: Limits,
        reader_of: ReaderOf,
        places: Places | None = None,
        gate: Gate | RemoteGate | None = None,
        stuck: Callable[[str], None] = lambda query: None,
    ) -> None:
        """
        Args:
            site: where it listens.
            reader_of: gives a connection that sees what is a tenant's.
            places: those of the other ports of this process.
            gate: says whose a token is; without it everybody may ask.
            stuck: told of a question that cannot be stopped.
        Raises:
            ConfigError: a file of the site's `tls` cannot be used.
        """
        gate = gate or Gate()
        self._admission = Admission(gate)
        self._limits = limits
        places = places or Places(limits)
        self._desk = Desk(
            places,
            FairExecutor(limits.queries, "retrospan-jaeger"),
            FairExecutor(2, "retrospan-jaeger-stop"),
            reader_of,
            stuck,
        )
        self._checks = FairExecutor(4, "retrospan-jaeger-check")
        self._server = HttpServer(
            self._answer,
            site,
            _refuse,
            flag="--jaeger",
            name="jaeger-port",
            guarded=gate.guarded,
            settled=lambda: not self._desk.running,
        )

    def start(self) -> int:
        """Listen, and return the port. Raises PortInUse."""
        return self._server.start()

    def stop(self, grace: float) -> None:
        """Stop listening; answers under way get `grace` seconds."""
        self._server.stop(grace)
        left = len(self._desk.running)
        self._desk.stop()
        self._checks.shutdown(wait=not left)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            request = await read_request(scope, receive, 0, BODY_SECONDS)
        except Gone:
            return
        except SlowRequest as error:
            late = _told(path_of(scope), 408, str(error))
            await send_response(scope, send, late, [(b"connection", b"close")])
            return
        words = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="replace")
        asked = _Asked(request, words, scope["state"].get(CONNECTION))
        try:
            response = await self._responded(asked)
            await send_response(scope, send, response)
        finally:
            if asked.running is not None:
                asked.running.leave()

    async def _responded(self, asked: _Asked) -> Response:
        path = asked.request.path
        try:
            return await self._routed(asked)
        except Exception as error:  # noqa: BLE001 - whoever asked must hear of it
            status, message, headers = _failure(error)
            return _told(path, status, message, headers)

    async def _routed(self, asked: _Asked) -> Response:
        request = asked.request
        path = request.path.rstrip("/") or "/"
        if path == "/":
            return text(200, "Jaeger's query API of Retrospan: /api/services, /api/traces, /api/v3/…\n")
        async with asyncio.timeout(_ADMISSION_SECONDS):
            grant = await asyncio.wrap_future(self._checks.submit(self._admission.admit, request, "read"))
        answer = answer_to(path, asked.words)
        if request.method not in _METHODS:
            return _told(
                path, 405, f"{request.method[:20]} is not supported. Use GET", {"Allow": "GET, HEAD"}
            )
        found = await self._desk.ask(asked, self._query_of(asked, answer), grant)
        stream = _cut(found.stream) if found.stream is not None else None
        return Response(200, found.whole, _JSON, stream=stream)

    def _query_of(self, asked: _Asked, answer: Answer) -> Query:
        def write(store: Store, descriptor: int) -> None:
            store.keep({**ROW_SETTINGS, **bounded(bounds(self._limits))})
            for piece in answer(Lookups(store)):
                rest = memoryview(piece)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]

        path = asked.request.path[:200]
        return Query(
            write,
            self._limits.query_seconds,
            f"a question of Jaeger's API could not be stopped: {path!r}",
            told=path,
        )


@dataclass(slots=True)
class _Asked:
    request: Request
    words: list[tuple[str, str]]
    connection: Connection | None
    running: RunningQuery | None = None


async def _cut(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield an answer that has begun; an error cuts the connection."""
    try:
        async for piece in stream:
            yield piece
    except RetrospanError as error:
        raise BrokenOff(str(error)) from error


def _failure(error: Exception) -> tuple[int, str, dict[str, str]]:
    """Return status, message and headers of what went wrong."""
    message = str(error)
    if isinstance(error, BadRequest):
        return 400, message, {}
    if isinstance(error, NotFound):
        return 501 if isinstance(error, NotImplementedHere) else 404, message, {}
    if isinstance(error, Unauthenticated):
        return 401, message, {"WWW-Authenticate": 'Bearer realm="retrospan"'}
    if isinstance(error, Forbidden):
        return 403, message, {}
    if isinstance(error, SqlError):
        if error.code == TOO_MANY_QUERIES:
            return 503, message, {"Retry-After": "1"}
        return 504 if error.code == TIMEOUT_EXCEEDED else 500, message, {}
    if isinstance(error, TimeoutError):
        return 503, f"tokens could not be checked within {_ADMISSION_SECONDS:g} s", {"Retry-After": "1"}
    if isinstance(error, RetrospanError):
        return 503, message, {"Retry-After": "1"} if isinstance(error, WarehouseUnavailable) else {}
    log_failure("a request to the Jaeger port", error)
    return 500, f"an internal error: {type(error).__name__}", {}


def _told(path: str, status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error as the clients of this path read one."""
    render = otlp.error if path.startswith(V3) else classic.error
    return Response(status, render(status, message), _JSON, headers or {})


async def _refuse(scope: Scope, send: Send, status: int, message: str) -> None:
    await send_response(scope, send, _told(path_of(scope), status, message))
