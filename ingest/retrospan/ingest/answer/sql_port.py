"""Port 8123: SQL over HTTP as ClickHouse speaks it, and the collector's health, metrics and commands.

Each query passes the guard and runs on a connection of its own, under limits of time, memory and threads that
no request can lift, with `readonly=1`; the connection is closed after it. Where there are tokens, asking needs the
right `read` and commands need `admin`; `/ping` and the status of `/health` are for everybody. Nothing here touches the
connections of loader and interpreter, so a query cannot hold up intake.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace

from retrospan.ingest.access.gate import Gate, clickhouse_token
from retrospan.ingest.access.remote import RemoteGate
from retrospan.ingest.access.tls import server_context
from retrospan.ingest.access.tokens import Right
from retrospan.ingest.answer import native
from retrospan.ingest.answer.admin import Admin
from retrospan.ingest.answer.clauses import check_value
from retrospan.ingest.answer.formats import content_type
from retrospan.ingest.answer.guard import ACCESS_DENIED, UNKNOWN_DATABASE, UNKNOWN_PARAMETER, Guard, Statement
from retrospan.ingest.answer.http_server import HttpServer, Request, Response, text
from retrospan.ingest.answer.inlining import inlined, own_functions
from retrospan.ingest.answer.lexer import SYNTAX_ERROR
from retrospan.ingest.answer.readers import BLOCK_ROWS, READERS
from retrospan.ingest.answer.vocabulary import DATABASE, LOWERED, Vocabulary, harmless
from retrospan.ingest.config import Limits, TlsSettings
from retrospan.ingest.setting_values import Address
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import (
    Forbidden,
    RetrospanError,
    SqlError,
    Unauthenticated,
    WarehouseUnavailable,
)
from retrospan.schemas.store import Escaped, Settings, Store

TOO_MANY_QUERIES = 202
QUERY_TOO_LARGE = 307
REQUIRED_PASSWORD = 194
AUTHENTICATION_FAILED = 516
_WAIT_SECONDS = 2.0
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,119}")
_SERVER = "retrospan"
_TIMEOUT_CODES = (159,)
# ClickHouse's own mapping of its codes, as far as a reader can meet them; everything else is 500.
_STATUS = {
    **dict.fromkeys((6, 26, 27, 38, 41, 43, 53, 62, 70, 72, 386, 456, 457, 636), 400),
    **dict.fromkeys((16, 46, 47, 50, 60, 63, 73, 81, 115), 404),
    **dict.fromkeys((164, 497), 403),
    **dict.fromkeys((REQUIRED_PASSWORD, AUTHENTICATION_FAILED), 401),
    159: 408,
    QUERY_TOO_LARGE: 413,
    TOO_MANY_QUERIES: 503,
}
_NAMES = {
    27: "CANNOT_PARSE_INPUT_ASSERTION_FAILED",
    36: "BAD_ARGUMENTS",
    46: "UNKNOWN_FUNCTION",
    62: "SYNTAX_ERROR",
    81: "UNKNOWN_DATABASE",
    115: "UNKNOWN_SETTING",
    164: "READONLY",
    194: "REQUIRED_PASSWORD",
    202: "TOO_MANY_SIMULTANEOUS_QUERIES",
    307: "QUERY_IS_TOO_LARGE",
    456: "UNKNOWN_QUERY_PARAMETER",
    497: "ACCESS_DENIED",
    516: "AUTHENTICATION_FAILED",
}


ReaderOf = Callable[[str], Store]
"""Gives a connection that sees what is a tenant's."""


@dataclass(slots=True)
class QueryCounters:
    """What the port has answered since start."""

    queries: int = 0
    refused: int = 0
    failed: int = 0
    timed_out: int = 0
    turned_away: int = 0
    seconds: float = 0.0
    result_bytes: int = 0


class SqlPort:
    """Answers on the SQL port. `health` and `metrics` are asked per request."""

    def __init__(
        self,
        warehouse: Warehouse,
        address: Address,
        *,
        limits: Limits,
        admin: Admin,
        health: Callable[[], Mapping[str, object]],
        metrics: Callable[[], str],
        gate: Gate | RemoteGate | None = None,
        tls: TlsSettings | None = None,
        reader_of: ReaderOf | None = None,
        ready: Callable[[], bool] = lambda: True,
        listener: socket.socket | None = None,
    ) -> None:
        """Without a `gate` everybody may ask; without `reader_of` everybody sees all that the warehouse holds.

        `ready` says whether what is sent now would be kept; it is asked by probes and may not wait for the engine.

        Raises:
            ConfigError: a file of `tls` cannot be used.
        """
        self._gate = gate or Gate()
        self._warehouse = warehouse
        self._limits = limits
        self._admin = admin
        self._health = health
        self._metrics = metrics
        self._ready = ready
        self._slots = threading.BoundedSemaphore(limits.queries)
        self._counting = threading.Lock()
        self._server = HttpServer(
            address,
            self._answer,
            body_bytes=limits.query_text_bytes,
            tls=server_context(tls),
            any_host=self._gate.guarded,
            listener=listener,
        )
        self._reader_of: ReaderOf = reader_of or (lambda tenant: warehouse.connect())
        self._guard: Guard | None = None
        self._learning = threading.Lock()
        self._version = ""
        self.counters = QueryCounters()

    def start(self) -> int:
        """Learn what the engine offers, listen, and return the port. An engine that is away is learned from later.

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
        store = self._warehouse.connect()
        try:
            version = str(store.rows("SELECT version()")[0][0])
            self._guard, self._version = Guard(Vocabulary.read(store)), version
        finally:
            store.close()

    def stop(self, grace: float) -> None:
        """Stop listening; running queries get `grace` seconds."""
        self._server.stop(grace)

    def _answer(self, request: Request) -> Response:
        try:
            return self._routed(request)
        except SqlError as error:
            return _failure(error)
        except Unauthenticated as error:
            code = REQUIRED_PASSWORD if error.missing else AUTHENTICATION_FAILED
            return _failure(SqlError(f"{error}.", code=code))
        except Forbidden as error:
            return _failure(SqlError(f"{error}.", code=ACCESS_DENIED))
        except RetrospanError as error:
            return text(503, f"{error}\n")

    def _routed(self, request: Request) -> Response:
        path = request.path.rstrip("/") or "/"
        if path.startswith("/admin/v1/"):
            self._admit(request, "admin")
            return self._admin.answer(request, path.removeprefix("/admin/v1/"))
        if request.method not in ("GET", "HEAD", "POST"):
            return text(405, f"{request.method} is not spoken here. Use GET or POST.\n")
        if path == "/ping":
            return text(200, "Ok.\n")
        if path == "/health/live":
            return text(200, "live\n")
        if path == "/health/ready":
            return text(200, "ready\n") if self._ready() else text(503, "not ready: /health says why\n")
        if path == "/health":
            state = self._health()
            if not self._may_read(request):
                state = {"status": state.get("status")}
            body = json.dumps(state, indent=2).encode() + b"\n"
            return Response(503 if state.get("status") == "failing" else 200, body, "application/json")
        if path == "/metrics":
            self._admit(request, "read")
            return Response(200, self._metrics().encode(), "text/plain; version=0.0.4; charset=utf-8")
        if path.startswith("/v1/"):
            return text(404, "this is the SQL port. OTLP over HTTP goes to port 4318, over gRPC to 4317.\n")
        if path not in ("/", "/query"):
            return text(
                404, f"no page {path[:100]}. Known: /?query=…, /ping, /health, /metrics, /admin/v1/…\n"
            )
        tenant = self._admit(request, "read")
        with self._learning:
            if self._guard is None:
                self.learn()
        return self._query(request, tenant)

    def _admit(self, request: Request, right: Right) -> str:
        """Return the tenant if the request's token has this right. Raises Unauthenticated and Forbidden."""
        if self._gate.guarded and "password" in request.query:
            # Addresses are kept in histories and logs: a token there is as good as published.
            raise Unauthenticated(
                "a token in the address is refused; send the header Authorization: Bearer TOKEN"
            )
        return self._gate.admit(clickhouse_token(request.headers), right).tenant

    def _may_read(self, request: Request) -> bool:
        """Whether details may be shown; a probe without a token is no failure to count."""
        if self._gate.guarded and clickhouse_token(request.headers) is None:
            return False
        try:
            self._admit(request, "read")
        except (Unauthenticated, Forbidden):
            return False
        return True

    def _query(self, request: Request, tenant: str) -> Response:
        sql = self._sql(request)
        if not sql.strip() and not request.body:
            return text(200, "Ok.\n")
        database = request.query.get("database") or request.headers.get("x-clickhouse-database") or DATABASE
        if database not in (DATABASE, "default"):
            raise SqlError(f"database {database[:60]} is not served. Use {DATABASE}.", code=UNKNOWN_DATABASE)
        parameters = _parameters(request.query)
        statement = self._executed(sql, parameters)
        output_format = self._format(
            statement.output_format
            or request.query.get("default_format")
            or request.headers.get("x-clickhouse-format")
            or "TabSeparated"
        )
        query_id = request.query.get("query_id") or str(uuid.uuid4())
        started = time.monotonic()
        if (
            output_format == "Native"
            and "client_protocol_version" in request.query
            and native.is_hello(statement.sql)
        ):
            data = native.hello(self._version, _SERVER)
        else:
            data = self._run(statement, parameters, output_format, request.query, tenant)
        elapsed = time.monotonic() - started
        with self._counting:
            self.counters.queries += 1
            self.counters.seconds += elapsed
            self.counters.result_bytes += len(data)
        headers = {
            "X-ClickHouse-Format": output_format,
            "X-ClickHouse-Query-Id": query_id,
            "X-ClickHouse-Server-Display-Name": _SERVER,
            "X-ClickHouse-Timezone": "UTC",
            "X-ClickHouse-Summary": json.dumps(
                {"result_bytes": str(len(data)), "elapsed_ns": str(int(elapsed * 1e9))}
            ),
        }
        return Response(200, data, content_type(output_format), headers)

    def _sql(self, request: Request) -> str:
        """The statement: `query` of the URL, then the body.

        A body that cannot be read is most often the data of an INSERT: the guard then judges what can be read,
        so that the client hears that 8123 is read-only.
        """
        asked = request.query.get("query", "")
        if request.headers.get("content-encoding", "identity") != "identity":
            self._checked(asked or "INSERT")
            raise SqlError("send the query uncompressed.", code=SYNTAX_ERROR)
        try:
            body = request.body.decode()
        except UnicodeDecodeError as error:
            self._checked(asked or request.body.partition(b"\n")[0].decode(errors="replace"))
            raise SqlError("the query is not UTF-8.", code=SYNTAX_ERROR) from error
        if request.overlong:
            self._checked(asked or "SELECT")
            raise SqlError(f"a query may have {self._limits.query_text_bytes:,} bytes.", code=QUERY_TOO_LARGE)
        return f"{asked}\n{body}" if asked and body else asked or body

    def _executed(self, sql: str, parameters: Mapping[str, str]) -> Statement:
        """The statement as the engine gets it: what the guard let through last, views put in place before."""
        statement = self._checked(sql, parameters)
        text = inlined(statement.sql)
        if text == statement.sql:
            return statement
        return replace(statement, sql=self._checked(text, parameters, own_functions()).sql)

    def _format(self, name: str) -> str:
        assert self._guard is not None, "no query is read before the engine was learned from"
        return self._guard.check_format(name)

    def _checked(
        self, sql: str, parameters: Mapping[str, str] | None = None, own: Container[str] = ()
    ) -> Statement:
        assert self._guard is not None, "no query is read before the engine was learned from"
        try:
            return self._guard.check(sql, parameters, own)
        except SqlError:
            with self._counting:
                self.counters.refused += 1
            raise

    def _run(
        self,
        statement: Statement,
        parameters: Mapping[str, Escaped],
        output_format: str,
        url: Mapping[str, str],
        tenant: str,
    ) -> bytes:
        if not self._slots.acquire(timeout=_WAIT_SECONDS):
            with self._counting:
                self.counters.turned_away += 1
            raise SqlError(
                f"{self._limits.queries} queries are running already. Try again in a moment.",
                code=TOO_MANY_QUERIES,
            )
        try:
            store = self._reader_of(tenant)
            try:
                store.keep(self._settings(statement, url))
                return store.query(statement.sql, parameters, output_format=output_format)
            except (SqlError, WarehouseUnavailable) as error:
                # A limit that was hit (time, memory) is no refusal to the store; to a client it is ClickHouse's error.
                found = re.search(r"Code: (\d+).*", str(error), re.DOTALL)
                if found is None and isinstance(error, WarehouseUnavailable):
                    raise
                code = int(found[1]) if found else None
                with self._counting:
                    self.counters.failed += 1
                    self.counters.timed_out += code in _TIMEOUT_CODES
                raise SqlError(found[0] if found else str(error), code=code) from error
            finally:
                store.close()
        finally:
            self._slots.release()

    def _settings(self, statement: Statement, url: Mapping[str, str]) -> dict[str, str | int]:
        """The reader's harmless settings, then our limits or lower ones, then readonly."""
        limits = self._limits
        bounds: dict[str, float] = {
            "max_block_size": BLOCK_ROWS,
            "max_execution_time": limits.query_seconds,
            "max_memory_usage": limits.query_memory_bytes,
            "max_threads": limits.query_threads,
            "max_result_rows": limits.query_result_rows,
            "max_result_bytes": limits.query_result_bytes,
        }
        asked: dict[str, str] = {
            name: value for name, value in url.items() if harmless(name) or name in LOWERED
        }
        asked |= {name: str(value) for name, value in statement.settings.items()}
        chosen: dict[str, str | int] = {}
        for name, value in asked.items():
            check_value(name, value)
            if name not in LOWERED:
                chosen[name] = int(value) if value.isdecimal() else value
            elif value.isdecimal() and int(value) > 0:
                # 0 means without limit in ClickHouse: it lifts nothing here.
                bounds[name] = min(int(value), bounds.get(name, int(value)))
        chosen |= {name: f"{bound:g}" if bound < 1e5 else int(bound) for name, bound in bounds.items()}
        modes: Settings = {"result_overflow_mode": "throw", "timeout_overflow_mode": "throw", "readonly": 1}
        return {**chosen, **READERS, **modes}


def _parameters(url: Mapping[str, str]) -> dict[str, Escaped]:
    """The values for `{name:Type}`, from the address. Raises SqlError for a name that is none."""
    found: dict[str, Escaped] = {}
    for key, value in url.items():
        if key.startswith("param_"):
            name = key.removeprefix("param_")
            if not _PARAMETER.fullmatch(name):
                raise SqlError(f"{name[:60]!r} is not a name of a parameter.", code=UNKNOWN_PARAMETER)
            found[name] = Escaped(value)
    return found


def _failure(error: SqlError) -> Response:
    """An error as ClickHouse sends it."""
    code = error.code or 0
    message = str(error)
    if not message.startswith("Code:"):
        name = f" ({_NAMES[code]})" if code in _NAMES else ""
        message = f"Code: {code}. DB::Exception: {message}{name}"
    headers = {
        "X-ClickHouse-Exception-Code": str(code),
        "X-ClickHouse-Server-Display-Name": _SERVER,
        "X-ClickHouse-Timezone": "UTC",
    }
    if code == TOO_MANY_QUERIES:
        headers["Retry-After"] = "1"
    if code in (REQUIRED_PASSWORD, AUTHENTICATION_FAILED):
        headers["WWW-Authenticate"] = 'Bearer realm="retrospan"'
    return Response(_STATUS.get(code, 500), message.encode(errors="replace") + b"\n", headers=headers)
