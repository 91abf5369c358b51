"""ClickHouse on a server, over HTTP with clickhouse-connect.

What this module closes off, so that nobody else need know it:
  - the client repeats an insert whose connection was cut, and rows without a token would be there twice: data is handed
    over as a stream, which it does not repeat. Who inserts decides whether trying again is safe;
  - a setting that the server does not know would fail the statement: it is left out;
  - the server has no file of ours on its disk: the schema of the log's records travels with the insert;
  - the client writes parameters into a statement that has no place for them: they do
    not get there;
  - HTTP keeps no session: settings are sent with every statement.
"""

from __future__ import annotations

import io
import logging
import re
import threading
import uuid
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol, TypeVar

from retrospan.ingest.settings.server_address import ServerAddress
from retrospan.ingest.warehouse.accompanying import bound, schema_settings
from retrospan.ingest.warehouse.error_codes import MEMORY_LIMIT_EXCEEDED, PASSING_OF_A_SERVER, error_code
from retrospan.ingest.warehouse.streamed import StreamedAnswer
from retrospan.schemas.engines import SERVER, Form, cluster, replicated_database
from retrospan.schemas.errors import MissingExtra, OutOfMemory, SqlError, WarehouseUnavailable
from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.store import Parameters, Settings, Store

CONNECT_SECONDS = 5.0
_Result = TypeVar("_Result")


class _Client(Protocol):
    """What is used of clickhouse-connect's client."""

    server_settings: Any
    database: Any

    def raw_query(
        self, query: str, *, parameters: Any, settings: Any, fmt: str | None, use_database: bool
    ) -> bytes: ...
    def raw_stream(
        self, query: str, *, parameters: Any, settings: Any, fmt: str | None, use_database: bool
    ) -> Any: ...
    def raw_insert(self, table: str, *, insert_block: Any, settings: Any, fmt: str) -> Any: ...
    def close(self) -> None: ...


class ServerWarehouse:
    """The ClickHouse at one address. Clients that are given back are kept for the next connection."""

    def __init__(
        self,
        address: ServerAddress,
        *,
        cluster_name: str = "",
        timeout_seconds: float = 120.0,
        limits: Settings | None = None,
        log_number: int = 0,
        ca: Path | None = None,
    ) -> None:
        """
        Args:
            cluster_name: the cluster on which tables are made; '' for this server alone.
            timeout_seconds: how long one statement may take before it counts as lost.
            limits: settings of every connection.
            log_number: the number of the log whose records are inserted, below 2^24.
            ca: a file of authorities to trust, beyond those of the system.
        """
        self.address = address
        self._cluster_name = cluster_name
        self._timeout_seconds = timeout_seconds
        self._log_number = log_number
        self._limits: dict[str, str | int] = {**(limits or {}), "log_comment": str(log_number)}
        self._ca = ca
        self._lock = threading.Lock()
        self._idle: list[_Client] = []
        self._all: list[_Client] = []
        self._form: Form | None = None
        self._closed = False

    @property
    def form(self) -> Form:
        """How tables are made here: looked up once. Raises WarehouseUnavailable when the server does not answer."""
        if self._form is None:
            with closing(self.connect()) as store:
                self._form = self._found_form(store)
        return self._form

    def as_user(self, address: ServerAddress) -> ServerWarehouse:
        """Return the same server for another login."""
        other = ServerWarehouse(
            address, cluster_name=self._cluster_name, timeout_seconds=self._timeout_seconds, ca=self._ca
        )
        other._form = self._form
        return other

    def _found_form(self, store: Store) -> Form:
        engine = store.rows(
            "SELECT engine FROM system.databases WHERE name = {database:String}", {"database": DATABASE}
        )
        if engine and engine[0][0] == "Replicated":
            return replicated_database()
        if not self._cluster_name:
            return SERVER
        shards = store.rows(
            "SELECT max(shard_num) FROM system.clusters WHERE cluster = {cluster:String}",
            {"cluster": self._cluster_name},
        )
        number = int(str(shards[0][0])) if shards else 0
        if not number:
            raise WarehouseUnavailable(
                f"{self.address} has no cluster {self._cluster_name!r}. SHOW CLUSTERS lists them; server.cluster "
                "names one of them, or is left out for a single server."
            )
        return cluster(self._cluster_name, shards=number)

    def connect(self, limits: Settings | None = None) -> ServerStore:
        """Take a connection; the database is made when it is missing.

        Raises:
            MissingExtra: clickhouse-connect is not installed.
            WarehouseUnavailable: the server does not answer, or does not let us in.
        """
        with self._lock:
            if self._closed:
                raise WarehouseUnavailable("The warehouse is closed.")
            client = self._idle.pop() if self._idle else None
        if client is None:
            client = self._opened()
        settings = {**self._limits, **(self._form.settings if self._form else {}), **(limits or {})}
        return ServerStore(client, self._give_back, settings, str(self.address), self._stop)

    def close(self) -> None:
        """Close every client, also those in use. Safe to call twice."""
        with self._lock:
            self._closed = True
            clients, self._all, self._idle = self._all, [], []
        for client in clients:
            client.close()

    def _opened(self) -> _Client:
        client = _checked(self._new_client, str(self.address))
        try:
            self._make_database(client)
        except BaseException:
            client.close()
            raise
        client.database = DATABASE
        with self._lock:
            self._all.append(client)
        return client

    def _new_client(self) -> _Client:
        try:
            import clickhouse_connect
            from clickhouse_connect.driver.httputil import get_pool_manager
        except ImportError as cause:
            raise MissingExtra("server", module="clickhouse-connect") from cause
        # What goes wrong is reported once, by whoever asked.
        for name in ("urllib3.connectionpool", "clickhouse_connect"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        address = self.address
        # A connection that breaks is never tried again below us: the loader knows what may be repeated.
        pool: Any = get_pool_manager(ca_cert=str(self._ca) if self._ca else None, maxsize=2, retries=0)
        client: _Client = clickhouse_connect.get_client(
            host=address.host,
            port=address.port,
            username=address.user,
            password=address.password,
            interface="https" if address.secure else "http",
            secure=address.secure,
            database="system",
            connect_timeout=int(CONNECT_SECONDS),
            send_receive_timeout=max(1, round(self._timeout_seconds)),
            query_retries=0,
            compress=False,
            autogenerate_session_id=False,
            pool_mgr=pool,
        )
        return client

    def _make_database(self, client: _Client) -> None:
        store = ServerStore(client, lambda _: None, {}, str(self.address))
        if not store.rows(f"EXISTS DATABASE {DATABASE}")[0][0]:
            on_cluster = f" ON CLUSTER `{self._cluster_name}`" if self._cluster_name else ""
            store.command(f"CREATE DATABASE IF NOT EXISTS {DATABASE}{on_cluster}")

    def _stop(self, query_id: str) -> None:
        """Have a statement of this user ended; one that has ended already does not count."""
        with closing(self.connect()) as store:
            store.command(f"KILL QUERY WHERE query_id = '{query_id}' ASYNC")

    def _give_back(self, client: _Client) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(client)
                return
        client.close()


class ServerStore(Store):
    """One connection. Belongs to one thread at a time."""

    #: Parameters are part of the address, which a server reads up to 1 MiB of.
    longest_parameter = 256 << 10

    def __init__(
        self,
        client: _Client,
        give_back: Callable[[_Client], None],
        settings: Settings,
        place: str,
        stop: Callable[[str], None] = lambda query_id: None,
    ) -> None:
        """`stop` ends the statement with that id, on a connection of its own."""
        self._stop = stop
        self._answer: StreamedAnswer | None = None
        self._query_id = ""
        self._client: _Client | None = client
        self._give_back = give_back
        self._settings: dict[str, str | int] = dict(settings)
        self._place = place
        self._broken = False

    def keep(self, settings: Settings) -> None:
        """Set these for every further statement of this connection."""
        self._settings.update(settings)

    def command(
        self, statement: str, parameters: Parameters | None = None, settings: Settings | None = None
    ) -> None:
        """Run one statement that returns nothing. The settings hold for this statement only."""
        self._ask(statement, parameters, settings, None)

    def query(
        self,
        statement: str,
        parameters: Parameters | None = None,
        settings: Settings | None = None,
        output_format: str = "JSONEachRow",
    ) -> bytes:
        """Run one SELECT and return its result as ClickHouse renders it in the format."""
        return self._ask(statement, parameters, settings, output_format)

    def write(
        self,
        descriptor: int,
        statement: str,
        parameters: Parameters | None = None,
        output_format: str = "TabSeparated",
    ) -> None:
        """Run one SELECT and write its result to the descriptor of a pipe, as it comes from the server."""
        client = self._open()
        told = self._told({**self._settings, "cancel_http_readonly_queries_on_client_close": 1})
        if self._query_id:
            told["query_id"] = self._query_id
        text, sent = bound(statement, parameters)
        named = client.database == DATABASE

        def ask() -> None:
            response = client.raw_stream(
                text, parameters=sent, settings=told, fmt=output_format, use_database=named
            )
            self._answer = StreamedAnswer(response)
            self._answer.write(descriptor)

        self._run(ask)

    def stopper(self) -> Callable[[], None]:
        """Give the statements to come an id, and return what ends the one with it: the server does so, or else, the
        second time, the connection is shut."""
        self._query_id = f"retrospan-{uuid.uuid4().hex}"
        asked = False

        def stop() -> None:
            nonlocal asked
            if asked and self._answer is not None:
                self._answer.shut()
            asked = True
            self._stop(self._query_id)

        return stop

    def insert(
        self,
        statement: str,
        data: bytes | Iterable[bytes],
        input_format: str,
        settings: Settings | None = None,
    ) -> None:
        """Run `INSERT INTO … ` (without FORMAT) with the data. Returns once the rows are written."""
        # In one body, which the client can send again over another connection.
        body = data if isinstance(data, bytes) else b"".join(data)
        client = self._open()
        told = self._told({**self._settings, **schema_settings(settings or {}, client.server_settings)})
        place = statement.strip().removeprefix("INSERT INTO ")
        self._run(
            lambda: client.raw_insert(place, insert_block=io.BytesIO(body), settings=told, fmt=input_format)
        )

    def close(self) -> None:
        """Give the connection back. Safe to call twice."""
        client, self._client = self._client, None
        if client is None:
            return
        if self._broken:
            client.close()
        else:
            self._give_back(client)

    def _ask(
        self,
        statement: str,
        parameters: Parameters | None,
        settings: Settings | None,
        output_format: str | None,
    ) -> bytes:
        client = self._open()
        told = self._told({**self._settings, **(settings or {})})
        text, sent = bound(statement, parameters)
        named = client.database == DATABASE
        return self._run(
            lambda: client.raw_query(
                text, parameters=sent, settings=told, fmt=output_format, use_database=named
            )
        )

    def _told(self, settings: Settings) -> dict[str, str | int]:
        """Return the settings that this server knows and lets us change."""
        known = self._open().server_settings
        found = dict(settings)
        if "readonly" in found and str(getattr(known.get("readonly"), "value", "0")) != "0":
            del found["readonly"]  # the user is read-only already, and may not say so again
        return {name: value for name, value in found.items() if name in known}

    def _open(self) -> _Client:
        if self._client is None:
            raise WarehouseUnavailable("The connection is closed.")
        return self._client

    def _run(self, ask: Callable[[], _Result]) -> _Result:
        try:
            return _checked(ask, self._place)
        except WarehouseUnavailable:
            # Half an answer may still be on its way.
            self._broken = True
            raise


def _checked(ask: Callable[[], _Result], place: str) -> _Result:
    from clickhouse_connect.driver.exceptions import ClickHouseError, DatabaseError

    try:
        return ask()
    except DatabaseError as cause:
        message = _worded(str(cause))
        code = cause.code or error_code(message)
        if code == MEMORY_LIMIT_EXCEEDED:
            raise OutOfMemory(f"{place}: {message}") from cause
        if code is None or code in PASSING_OF_A_SERVER:
            raise WarehouseUnavailable(f"{place}: {message}") from cause
        raise SqlError(message, code=code) from cause
    except (ClickHouseError, OSError) as cause:
        raise WarehouseUnavailable(f"{place}: {_worded(str(cause))}") from cause


def _worded(message: str) -> str:
    """Return the server's own words: `Code: 60. DB::Exception: …`, or what became of the connection."""
    if found := re.search(r"Code: \d+\. .*", message, re.DOTALL):
        return re.sub(r" \(for url [^)]*\)$", "", found[0]).strip()
    if found := re.search(
        r"\[Errno -?\d+\] ([^\"')]+)|Remote end closed connection|[Tt]imed out|IncompleteRead", message
    ):
        return (found[1] or found[0]).strip().lower()
    return message[:300]
