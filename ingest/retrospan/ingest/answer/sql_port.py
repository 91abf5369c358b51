"""Port 8123: SQL over HTTP as ClickHouse speaks it, and the collector's health, metrics and commands.

Each query passes the guard and runs on its own connection, under limits of time, memory and threads that no request can
lift, with `readonly=1`; the connection is closed afterwards. If there are tokens, queries need the right `read`,
commands `admin` and the numbers of the collector `metrics`; `/ping` and the status of `/health` are open to everyone.
Nothing here touches the connections of loader and interpreter, so a query cannot delay intake.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ParamSpec, TypeVar

from retrospan.ingest.access.fair_executor import FairExecutor
from retrospan.ingest.access.gate import Gate
from retrospan.ingest.access.remote import RemoteGate
from retrospan.ingest.access.tokens import Grant
from retrospan.ingest.answer import native
from retrospan.ingest.answer.admin import Admin
from retrospan.ingest.answer.admission import Admission
from retrospan.ingest.answer.apart import apart
from retrospan.ingest.answer.desk import BrokenOff, Desk, Places, Query
from retrospan.ingest.answer.encodings import Packing, most_body_bytes, opened, packed, packing_of
from retrospan.ingest.answer.failures import (
    AUTHENTICATION_FAILED,
    REQUIRED_PASSWORD,
    SERVER,
    failure,
    last_words,
)
from retrospan.ingest.answer.formats import content_type
from retrospan.ingest.answer.questions import Question, Understanding, with_rows
from retrospan.ingest.answer.readers import ReaderOf
from retrospan.ingest.answer.running import RunningQuery
from retrospan.ingest.answer.running_queries import asking, kill_of
from retrospan.ingest.answer.sessions import Sessions
from retrospan.ingest.answer.unknown_columns import UNKNOWN_IDENTIFIER, hinted
from retrospan.ingest.http.connection import CONNECTION, HEADER_BYTES, Connection
from retrospan.ingest.http.messages import (
    Gone,
    Receive,
    Request,
    Response,
    Scope,
    Send,
    read_request,
    send_response,
    text,
)
from retrospan.ingest.http.server import HttpServer
from retrospan.ingest.http.site import Site
from retrospan.ingest.logs import log_failure
from retrospan.ingest.settings.config import Limits
from retrospan.ingest.status.counting import QueryCounters
from retrospan.ingest.warehouse.error_codes import ACCESS_DENIED
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import (
    BadRequest,
    Forbidden,
    RetrospanError,
    SlowRequest,
    SqlError,
    Unauthenticated,
    WarehouseUnavailable,
)
from retrospan.schemas.store import Store

P = ParamSpec("P")
T = TypeVar("T")
#: How long a page that asks the engine may take.
_PAGE_SECONDS = 10.0
#: What the parameters of an address may have, together with its headers.
ADDRESS_BYTES = (1 << 20) + HEADER_BYTES


class SqlPort:
    """Answers on the SQL port. `health` and `metrics` are asked per request."""

    def __init__(
        self,
        warehouse: Warehouse,
        site: Site,
        *,
        limits: Limits,
        admin: Admin,
        health: Callable[[], Mapping[str, object]],
        metrics: Callable[[], str],
        gate: Gate | RemoteGate | None = None,
        reader_of: ReaderOf | None = None,
        ready: Callable[[], bool] = lambda: True,
        stuck: Callable[[str], None] = lambda query: None,
    ) -> None:
        """Without a `gate` everybody may ask; without `reader_of` everybody sees all that the warehouse holds.

        `ready` says whether what is sent now would be kept; it is asked by probes and may not wait for the engine.
        `stuck` is told of a query that still runs five seconds after its limit or after it was to stop.

        Raises:
            ConfigError: a file of the site's `tls` cannot be used.
        """
        gate = gate or Gate()
        self._admission = Admission(gate)
        self._warehouse = warehouse
        self._limits = limits
        self._admin = admin
        self._health = health
        self._metrics = metrics
        self._ready = ready
        self._body_seconds = site.body_seconds
        self._kept_bytes = partial(most_body_bytes, text_bytes=limits.query_text_bytes)
        self.places = Places(limits)
        """For queries of this process, whatever the port."""
        self._counting = self.places.counting
        reader_of = reader_of or (lambda tenant: warehouse.connect())
        self._desk = Desk(
            self.places,
            FairExecutor(limits.queries, "retrospan-query"),
            FairExecutor(2, "retrospan-stop"),
            reader_of,
            stuck,
        )
        self._sessions = Sessions()
        self._checks = FairExecutor(4, "retrospan-check")
        self._pages = FairExecutor(4, "retrospan-page")
        self._server = HttpServer(
            self._answer,
            site,
            _refuse,
            flag="--sql",
            name="sql-port",
            guarded=gate.guarded,
            address_bytes=ADDRESS_BYTES,
            settled=lambda: not self._desk.running,
        )
        self._understanding = Understanding(warehouse, limits, self._counting.refused)

    @property
    def counters(self) -> QueryCounters:
        """What it has answered since it was created."""
        return self._counting.counters

    def start(self) -> int:
        """Learn what the engine offers, listen, and return the port. If the engine is away, that is learned later.

        Raises:
            PortInUse: somebody else listens there.
        """
        try:
            self.learn()
        except WarehouseUnavailable:
            pass  # each query tries again, and says so
        return self._server.start()

    def learn(self) -> None:
        """Read the engine's functions and the installed views again; call it after views changed."""
        self._understanding.learn()

    def stop(self, grace: float) -> None:
        """Stop listening; running queries get `grace` seconds."""
        self._server.stop(grace)
        left = len(self._desk.running)
        self._desk.stop()
        for pool in (self._checks, self._pages):
            pool.shutdown(wait=not left)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            request = await read_request(scope, receive, self._kept_bytes, self._body_seconds)
        except Gone:
            return
        except SlowRequest as error:
            late = text(408, f"{error}\n")
            await send_response(scope, send, late, [(b"connection", b"close")])
            return
        except BadRequest as error:
            await send_response(
                scope, send, text(400, f"{error}. Send them in a form (multipart/form-data).\n")
            )
            return
        asked = _Asked(request, scope["state"].get(CONNECTION))
        try:
            response = await self._responded(asked)
            await send_response(scope, send, response)
        finally:
            if asked.running is not None:
                asked.running.leave()

    async def _responded(self, asked: _Asked) -> Response:
        try:
            return await self._routed(asked)
        except SqlError as error:
            return packed(failure(error), asked.packing)
        except Unauthenticated as error:
            code = REQUIRED_PASSWORD if error.missing else AUTHENTICATION_FAILED
            return failure(SqlError(_sentence(error), code=code))
        except Forbidden as error:
            return failure(SqlError(_sentence(error), code=ACCESS_DENIED))
        except RetrospanError as error:
            return text(503, f"{error}\n")
        except TimeoutError:
            return text(503, f"the warehouse did not answer within {_PAGE_SECONDS:g} s\n")
        except Exception as error:  # noqa: BLE001 - whoever asked must hear of it
            log_failure("a request to the SQL port", error)
            return text(500, f"an internal error: {type(error).__name__}\n")

    async def _routed(self, asked: _Asked) -> Response:
        request = asked.request
        path = request.path.rstrip("/") or "/"
        if path.startswith("/admin/v1/"):
            await _within(self._checks, self._admission.admit, request, "admin")
            return self._admin.answer(request, path.removeprefix("/admin/v1/"))
        if request.method not in ("GET", "HEAD", "POST"):
            return text(405, f"{request.method} is not supported. Use GET or POST.\n")
        if path == "/ping":
            return text(200, "Ok.\n")
        if path == "/health/live":
            return text(200, "live\n")
        if path in ("/health/ready", "/health/answering"):
            return text(200, "ready\n") if self._ready() else text(503, "not ready: /health says why\n")
        if path == "/health":
            return await _within(self._pages, self._health_page, request)
        if path == "/metrics":
            await _within(self._checks, self._admission.admit, request, "metrics")
            page = await _within(self._pages, self._metrics)
            return Response(200, page.encode(), "text/plain; version=0.0.4; charset=utf-8")
        if path.startswith("/v1/"):
            return text(404, "this is the SQL port. OTLP over HTTP goes to port 4318, over gRPC to 4317.\n")
        if path not in ("/", "/query"):
            return text(
                404, f"no page {path[:100]}. Known: /?query=…, /ping, /health, /metrics, /admin/v1/…\n"
            )
        return await self._query(asked)

    def _health_page(self, request: Request) -> Response:
        state = self._health()
        if not self._admission.may_see_details(request):
            state = {"status": state.get("status")}
        body = json.dumps(state, indent=2).encode() + b"\n"
        return Response(503 if state.get("status") == "failing" else 200, body, "application/json")

    async def _query(self, asked: _Asked) -> Response:
        grant, request = await _within(self._checks, self._entered, asked)
        if (kill := kill_of(request)) is not None:
            request = asking(request, self._desk.running.kill(kill, grant))
        told = self._sessions.told(request, grant.name)
        if told is None:
            return packed(text(200, ""), asked.packing)
        question = await _within(self._checks, self._understood, told, grant)
        if question is None:
            return text(200, "Ok.\n")
        headers = {
            "X-ClickHouse-Format": question.output_format,
            "X-ClickHouse-Query-Id": asked.request.query.get("query_id") or str(uuid.uuid4()),
            "X-ClickHouse-Server-Display-Name": SERVER,
            "X-ClickHouse-Timezone": "UTC",
            "X-ClickHouse-Exception-Tag": secrets.token_hex(8),
        }
        kind = content_type(question.output_format)
        if question.is_hello:
            hello = native.hello(self._understanding.version, SERVER)
            return packed(Response(200, hello, kind, headers), asked.packing)
        started = time.monotonic()
        query = self._query_of(question, headers["X-ClickHouse-Query-Id"])
        answer = await self._desk.ask(asked, query, grant)
        if answer.stream is not None:
            stream = _ended(answer.stream, headers["X-ClickHouse-Exception-Tag"])
            return packed(Response(200, b"", kind, headers, stream), asked.packing)
        elapsed = int((time.monotonic() - started) * 1e9)
        summary = {"result_bytes": str(len(answer.whole)), "elapsed_ns": str(elapsed)}
        headers["X-ClickHouse-Summary"] = json.dumps(summary)
        return packed(Response(200, answer.whole, kind, headers), asked.packing)

    def _query_of(self, question: Question, query_id: str) -> Query:
        def write(store: Store, descriptor: int) -> None:
            statement, parameters = with_rows(store, question)
            store.keep(question.settings)
            asked = question.as_asked or statement
            try:
                try:
                    store.write(descriptor, statement.sql, parameters, question.output_format)
                except SqlError as error:
                    if error.code != UNKNOWN_IDENTIFIER or question.as_asked is None:
                        raise
                    # Found before anything was written. Readers know their own words, and not those of a view in its place.
                    store.write(descriptor, asked.sql, question.parameters, question.output_format)
            except SqlError as error:
                raise hinted(error, asked.sql) from error.__cause__

        sql = question.statement.sql
        return Query(
            write,
            float(question.settings["max_execution_time"]),
            f"a query could not be stopped: {sql[:200]!r}",
            query_id,
            sql,
        )

    def _entered(self, asked: _Asked) -> tuple[Grant, Request]:
        """Return who asks, and the request as it was before it was packed. Both in one go: each turn of a thread costs."""
        grant = self._admission.admit(asked.request, "read")
        asked.packing = packing_of(asked.request.query, asked.request.headers)
        return grant, opened(asked.request, self._limits.query_text_bytes)

    def _understood(self, request: Request, grant: Grant) -> Question | None:
        """Return what is asked. Raises SqlError."""
        self._understanding.prepare()
        question = self._understanding.understood(request, shows_internals="admin" in grant.rights)
        return apart(question) if question is not None and grant.apart else question


@dataclass(slots=True)
class _Asked:
    """A request, by whom, and the query that runs for it."""

    request: Request
    connection: Connection | None
    running: RunningQuery | None = None
    packing: Packing = field(default_factory=lambda: Packing(in_blocks=False, encoding=""))
    """What is done to the answer. An error of who may ask is sent as it is, as by ClickHouse."""


async def _ended(stream: AsyncIterator[bytes], tag: str) -> AsyncIterator[bytes]:
    """Yield an answer that has begun; an error ends it in the way that clients look for."""
    try:
        async for piece in stream:
            yield piece
    except RetrospanError as error:
        yield last_words(error if isinstance(error, SqlError) else SqlError(str(error)), tag)
        raise BrokenOff from error


def _sentence(error: RetrospanError) -> str:
    return f"{error}".removesuffix(".") + "."


async def _refuse(scope: Scope, send: Send, status: int, message: str) -> None:
    await send_response(scope, send, text(status, message + "\n"))


async def _within(pool: FairExecutor, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a call in a thread of the pool returns. Raises TimeoutError after ten seconds."""
    async with asyncio.timeout(_PAGE_SECONDS):
        return await asyncio.wrap_future(pool.submit(call, *args, **kwargs))
