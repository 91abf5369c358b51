"""Opens the warehouse of a collector, embedded or on a server, and holds what differs between the two.

embedded   one directory, one tenant, one interpreter; it is there or the collector does not start
server     may be away for as long as the log has room; many logs, tenants and interpreters share it
"""

from __future__ import annotations

import re
import threading
from contextlib import closing, suppress
from dataclasses import replace
from typing import Protocol

from retrospan.ingest.interpret.service.partition_lease import PartitionLease
from retrospan.ingest.load.identity import LogIdentity
from retrospan.ingest.settings.config import Config
from retrospan.ingest.settings.server_address import parse_server
from retrospan.ingest.settings.trusted_file import require_trusted
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.ingest.warehouse.new_warehouse import lay_out
from retrospan.ingest.warehouse.server import ServerWarehouse
from retrospan.ingest.warehouse.tenants import TenantReaders
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.queries import catalogue
from retrospan.schemas.engines import Form
from retrospan.schemas.errors import RetrospanError, WarehouseUnavailable
from retrospan.schemas.migrate import DATABASE, LAID_OUT_ANEW, Migrations, shipped
from retrospan.schemas.store import Settings, Store

#: How long /health waits for a server that says nothing.
PROBE_SECONDS = 2.0
_CREATED = re.compile(r"CREATE (?:TABLE|MATERIALIZED VIEW) IF NOT EXISTS (\w+)")
_DROPPED = re.compile(r"^DROP TABLE IF EXISTS (\w+)", re.MULTILINE)
#: How the engine names a table or view while it puts another in its place.
_LEFT_BEHIND = """
SELECT name FROM system.tables WHERE database = {database:String} AND startsWith(name, '_tmp_replace_')
"""
_REPEATABLE = re.compile(r"CREATE (?:\w+ )*IF NOT EXISTS|CREATE OR REPLACE")
_ALTERED = re.compile(r"^ALTER TABLE (\w+)", re.MULTILINE)


class OpenWarehouse(Warehouse, Protocol):
    """A warehouse as a collector uses it: connections are to tables that are as this release needs them."""

    @property
    def shared(self) -> bool:
        """Whether other collectors and tenants use it as well."""
        ...

    @property
    def log_number(self) -> int:
        """Which of the logs that fill it is this process's."""
        ...

    @property
    def share(self) -> PartitionLease | None:
        """Which runs are this process's to interpret; None for all of them."""
        ...

    @property
    def probe(self) -> Warehouse:
        """The same warehouse for a look that must not wait long."""
        ...

    def begin(self) -> None:
        """Begin to prepare, if that is possible before anything else is there, and return at once."""
        ...

    def prepare(self) -> None:
        """Bring tables and views to this release."""
        ...

    def reader_of(self, tenant: str) -> Store:
        """Open a connection that sees what is a tenant's."""
        ...

    def rest(self) -> None:
        """Give back what is kept for speed alone, if it is this process's."""
        ...


def open_warehouse(config: Config, engine_bytes: int, *, guarded: bool) -> OpenWarehouse:
    """Return the configured warehouse. `guarded`: every client has a token, and so a tenant.

    An embedded engine has `engine_bytes` of memory.

    Raises:
        ConfigError: the data directory's number of its log cannot be read, or others could have written the file of
            authorities.
    """
    return _Embedded(config, engine_bytes) if config.warehouse is None else _Server(config, guarded)


class _Embedded:
    shared = False
    share = None
    log_number = 0

    def __init__(self, config: Config, engine_bytes: int) -> None:
        self._warehouse = EmbeddedWarehouse(
            config.data / "warehouse",
            memory_bytes=engine_bytes,
            query_memory_bytes=min(engine_bytes, config.loader.memory_bytes),
        )
        self._ahead: threading.Thread | None = None
        self._is_ready = False

    @property
    def form(self) -> Form:
        return self._warehouse.form

    @property
    def probe(self) -> Warehouse:
        return self._warehouse

    def connect(self, limits: Settings | None = None) -> Store:
        return self._warehouse.connect(limits)

    def begin(self) -> None:
        # The engine works outside of Python: meanwhile this process can load what will follow the log.
        self._ahead = threading.Thread(target=self._prepare_ahead, name="retrospan-prepare", daemon=True)
        self._ahead.start()

    def prepare(self) -> None:
        self._await_ahead()
        if self._is_ready:
            self._is_ready = False  # whoever asks again has a reason
            return
        self._prepare()

    def _prepare(self) -> None:
        try:
            lay_out(self._warehouse.path)
        except OSError as cause:
            raise WarehouseUnavailable(f"{self._warehouse.path} could not be laid out: {cause}") from cause
        # The engine ends with its last connection, and would load every table again for the next: this one stays.
        _clear_away(self._warehouse.connect())
        _prepare(self._warehouse)

    def _prepare_ahead(self) -> None:
        with suppress(RetrospanError):  # `prepare` tries again, and raises it
            self._prepare()
            self._is_ready = True

    def _await_ahead(self) -> None:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.join()

    def reader_of(self, tenant: str) -> Store:
        return self._warehouse.connect()

    def rest(self) -> None:
        self._warehouse.rest()

    def close(self) -> None:
        self._await_ahead()
        self._warehouse.close()


class _Server:
    shared = True

    def __init__(self, config: Config, guarded: bool) -> None:
        self._identity = LogIdentity.of(config.data) if config.role != "interpret" else None
        self.log_number = self._identity.number if self._identity else 0
        if config.server.ca is not None:
            require_trusted(config.server.ca)
        server = _server_of(config, self.log_number)
        self._warehouse = server
        self.probe: Warehouse = _server_of(
            replace(config, server=replace(config.server, timeout_seconds=PROBE_SECONDS))
        )
        self._readers = TenantReaders(server) if guarded else None
        self._preparing = threading.Lock()
        self._prepared = False
        # A collector comes back under the name it had, and to the parts it had.
        name = f"log {self._identity.name}" if self._identity else ""
        self.share = PartitionLease(self.connect, name) if config.role != "receive" else None

    @property
    def form(self) -> Form:
        return self._warehouse.form

    def connect(self, limits: Settings | None = None) -> Store:
        with self._preparing:
            if not self._prepared:
                self._prepare()
        return self._warehouse.connect(limits)

    def begin(self) -> None:
        """Do nothing: it may be away, and is asked later."""

    def prepare(self) -> None:
        with self._preparing:
            self._prepare()

    def _prepare(self) -> None:
        _prepare(self._warehouse)
        if self._identity is not None:
            with closing(self._warehouse.connect()) as store:
                self._identity.enter(store)
        self._prepared = True

    def reader_of(self, tenant: str) -> Store:
        if self._readers is None:
            return self.connect()
        with self._preparing:
            if not self._prepared:
                self._prepare()
        return self._readers.connect(tenant)

    def rest(self) -> None:
        """Do nothing: it is another's memory."""

    def close(self) -> None:
        if self._readers is not None:
            self._readers.close()
        self.probe.close()
        self._warehouse.close()


def _server_of(config: Config, log_number: int = 0) -> ServerWarehouse:
    server = config.server
    return ServerWarehouse(
        parse_server(config.warehouse or "", user=server.user, password=server.password),
        cluster_name=server.cluster,
        timeout_seconds=server.timeout_seconds,
        limits={"max_memory_usage": config.loader.memory_bytes},
        log_number=log_number,
        ca=server.ca,
    )


def _prepare(warehouse: Warehouse) -> None:
    form = warehouse.form
    with closing(warehouse.connect()) as store:
        Migrations(store, form=form).apply()
        _restore(store, form)
        catalogue.install(store, form)


def _clear_away(store: Store) -> None:
    """Drop what the engine was making when it was killed, or was about to drop: the other table of one that is replaced.

    Half a copy takes room for nothing, and the former table would keep rows that are deleted from the new one.
    """
    for (name,) in store.rows(_LEFT_BEHIND, {"database": DATABASE}):
        store.command("DROP TABLE IF EXISTS {name:Identifier} SYNC", {"name": str(name)})


def _restore(store: Store, form: Form) -> None:
    """Recreate dropped tables: they are filled from the log, so nothing is lost."""
    statements = [statement for _, _, statement in shipped()]
    wanted: set[str] = set()
    for statement in statements:
        wanted = wanted.union(_CREATED.findall(statement)).difference(_DROPPED.findall(statement))
    there = {
        str(row[0])
        for row in store.rows(
            "SELECT name FROM system.tables WHERE database = {database:String}", {"database": DATABASE}
        )
    }
    if wanted - there:
        for statement in statements:
            if _is_run_again(statement, there):
                for shaped in form.shaped(statement):
                    store.command(shaped)


def _is_run_again(statement: str, there: set[str]) -> bool:
    """Whether a migration is run again where these tables were not dropped."""
    # A table that is there is laid out so already, and has gained columns since.
    if anew := LAID_OUT_ANEW.search(statement):
        return anew[1] not in there
    # One that was dropped becomes in all what it was: indexes, compression, settings.
    if altered := _ALTERED.search(statement):
        return altered[1] not in there
    return _REPEATABLE.search(statement) is not None
