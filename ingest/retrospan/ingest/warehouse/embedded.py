"""ClickHouse inside this process (chDB): one directory, owned by one process, many connections.

Measured traps this module closes off, so that nobody else need know them:
  - data given inline after `FORMAT x` ends at the first empty line, and what follows is run as SQL. Inserts
    therefore pass their bytes as a file in memory or through a pipe, never inside the statement;
  - parameter values are read as tab-separated text: backslashes, tabs and newlines must be escaped;
  - the engine crashes at exit when a connection is still open: `EmbeddedWarehouse.close` closes them all;
  - a process can open one path only, and no second process can open it.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, cast
from urllib.parse import urlencode

from retrospan.ingest.machine.operating_system import is_alive, make_nameless_file, path_of
from retrospan.ingest.warehouse.disk_room import require_room
from retrospan.ingest.warehouse.error_codes import (
    MEMORY_LIMIT_EXCEEDED,
    PASSING,
    UNKNOWN_DATABASE,
    error_code,
)
from retrospan.ingest.warehouse.fed_pipe import fed_pipe
from retrospan.ingest.warehouse.statements import settings_list
from retrospan.schemas.engines import PLAIN, Form
from retrospan.schemas.errors import DirectoryInUse, MissingExtra, OutOfMemory, SqlError, WarehouseUnavailable
from retrospan.schemas.literals import parameter_text
from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.store import Parameters, Settings, Store

#: What the engine has freed goes back to the system within 0.2 s. It would keep it for five: the waste of an insert
#: beside that of the merges before it. At once would take a quarter more processor for an insert, in faults of pages.
_ALLOCATOR, _GIVE_BACK_SOON = "JE_MALLOC_CONF", "dirty_decay_ms:200,muzzy_decay_ms:0"

_IMPORTING = threading.Lock()

#: What gives rows block by block. What explains or shows has a short answer, and EXPLAIN AST takes what follows for a
#: part of what it explains.
_STREAMED = re.compile(
    r"(?:\s|\(|--[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*(?:select|with)\b", re.IGNORECASE | re.DOTALL
)

_CACHES: Settings = {
    # Upstream's are made for a machine of its own: 5 GiB for each of the first three.
    "mark_cache_size": 128 << 20,
    "primary_index_cache_size": 128 << 20,
    "index_mark_cache_size": 32 << 20,
    "query_condition_cache_size": 16 << 20,
}
#: Settings of the tables, which are not taken as options.
_TABLES = Path(__file__).with_name("engine.xml")
#: What is let go of at rest.
_RESTING = ("MARK", "INDEX MARK", "PRIMARY INDEX", "UNCOMPRESSED", "QUERY CONDITION")


class EmbeddedWarehouse:
    """The ClickHouse of one directory. Safe to share between threads; the stores it gives are not."""

    def __init__(
        self,
        path: Path,
        *,
        memory_bytes: int = 4 << 30,
        query_memory_bytes: int = 2 << 30,
        query_seconds: int = 0,
        threads: int = 0,
    ) -> None:
        """
        Args:
            path: created when missing.
            memory_bytes: limit of the whole engine.
            query_memory_bytes: limit of one statement.
            query_seconds: limit of one statement; 0 is none.
            threads: threads of one statement; 0 leaves it to the engine.
        """
        self._path = path.absolute()
        self._memory_bytes = memory_bytes
        self._limits: dict[str, str | int] = {
            "max_memory_usage": query_memory_bytes,
            "max_execution_time": query_seconds,
        }
        if threads:
            self._limits["max_threads"] = threads
        self._lock = threading.Lock()
        self._open: set[EmbeddedStore] = set()
        self._purging = threading.Lock()
        self._purger: Any = None
        self._stopping = threading.Lock()
        self._killer: Any = None

    @property
    def path(self) -> Path:
        return self._path

    @property
    def form(self) -> Form:
        """How its tables are made."""
        return PLAIN

    def connect(self, limits: Settings | None = None) -> EmbeddedStore:
        """Open a connection of its own, with the database in use and the limits set.

        Args:
            limits: settings of this connection, over those of the warehouse.
        Raises:
            MissingExtra: chDB is not installed.
            DirectoryInUse: another process has the directory open.
        """
        connect = _engine()
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        options = urlencode(
            {"max_server_memory_usage": self._memory_bytes, **_CACHES, "config-file": str(_TABLES)}
        )
        with self._lock:
            owner = owner_of(self._path) if not self._open else None
            try:
                connection = connect(f"{self._path}?{options}")
            except RuntimeError as cause:
                if owner is not None:
                    raise DirectoryInUse(
                        f"{self._path} is open in process {owner}. One process owns a data directory; "
                        "stop that one, or use another directory.",
                        pid=owner,
                    ) from cause
                raise WarehouseUnavailable(
                    f"The engine could not open {self._path}: {cause} If its files are damaged, move that directory "
                    "away: the next start loads everything again from the log."
                ) from cause
            store = EmbeddedStore(
                connection, on_close=self._forget, stop=self._stop, require=self._require_room
            )
            self._open.add(store)
        try:
            self._use_database(store)
            store.keep({**self._limits, **(limits or {})})
        except Exception:
            store.close()
            raise
        return store

    def _require_room(self, statement: str) -> None:
        require_room(self._path, statement)

    def _use_database(self, store: EmbeddedStore) -> None:
        """Have a connection use the database. It is there but for the first time, and to ask is as dear as to use it."""
        try:
            store.command(f"USE {DATABASE}")
        except SqlError as missing:
            if missing.code != UNKNOWN_DATABASE:
                raise
            store.command(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
            store.command(f"USE {DATABASE}")

    def close(self) -> None:
        """Close every connection still open. Afterwards another process may open the directory."""
        with self._lock:
            stores = list(self._open)
        for store in stores:
            store.close()

    def rest(self) -> None:
        """Give back what is only kept so that the next statement is faster; no statement is slower by more than it saved."""
        with self._purging:
            if not self._open:
                return
            if self._purger is None:
                self._purger = _engine()(str(self._path))
            for cache in _RESTING:
                self._purger.query(f"SYSTEM DROP {cache} CACHE")
            self._purger.query("SYSTEM JEMALLOC PURGE")

    def _forget(self, store: EmbeddedStore) -> None:
        with self._lock:
            self._open.discard(store)
            is_last = not self._open
        if is_last:
            with self._purging:
                purger, self._purger = self._purger, None
            with self._stopping:
                killer, self._killer = self._killer, None
            for connection in (purger, killer):
                if connection is not None:
                    connection.close()

    def _stop(self, mark: str) -> None:
        """Have the statements of connections with this mark ended. On a connection of its own: theirs are busy."""
        with self._stopping:
            if not self._open:
                return  # closed meanwhile: a connection opened now would stay
            if self._killer is None:
                self._killer = _engine()(str(self._path))
            self._killer.query(f"KILL QUERY WHERE Settings['log_comment'] = '{mark}' ASYNC")


class EmbeddedStore(Store):
    """One connection to the embedded engine. Belongs to one thread at a time."""

    def __init__(
        self,
        connection: Any,
        on_close: Any,
        stop: Callable[[str], None] = lambda mark: None,
        require: Callable[[str], None] = lambda statement: None,
    ) -> None:
        """`stop` ends what has a mark; `require` raises where a statement must not run now."""
        self._stop = stop
        self._require = require
        self._connection: Any = connection
        self._on_close = on_close
        self._to_set: dict[str, str | int] = {}

    def keep(self, settings: Settings) -> None:
        """Set these for every further statement of this connection: with the next, since each SET is one as well."""
        self._to_set |= settings

    def command(
        self, statement: str, parameters: Parameters | None = None, settings: Settings | None = None
    ) -> None:
        """Run one statement that returns nothing. The settings hold for this statement only."""
        for name, value in (settings or {}).items():
            self._run(f"SET {settings_list({name: value})}")
        try:
            self._run(statement, parameters=parameters)
        finally:
            for name in settings or {}:
                self._run(f"SET {name} = DEFAULT")

    def query(
        self,
        statement: str,
        parameters: Parameters | None = None,
        settings: Settings | None = None,
        output_format: str = "JSONEachRow",
    ) -> bytes:
        """Run one SELECT and return its result as ClickHouse renders it in the format."""
        if settings:
            # A SETTINGS clause after FORMAT is allowed beside the statement's own.
            statement = (
                f"{statement.rstrip().rstrip(';')}\nFORMAT {output_format} SETTINGS {settings_list(settings)}"
            )
        return self._run(statement, output_format, parameters)

    def write(
        self,
        descriptor: int,
        statement: str,
        parameters: Parameters | None = None,
        output_format: str = "TabSeparated",
    ) -> None:
        """Run one SELECT and write its result to the descriptor of a pipe, block by block as it is made."""
        if _STREAMED.match(statement):
            # The engine opens the pipe anew, by the name that it has in this process.
            self._run(
                f"{statement}\nINTO OUTFILE '{path_of(descriptor)}' APPEND FORMAT {output_format}",
                parameters=parameters,
            )
            return
        left = memoryview(self._run(statement, output_format, parameters))
        while left:
            left = left[os.write(descriptor, left) :]

    def stopper(self) -> Callable[[], None]:
        """Mark the statements to come, and return what ends the one with the mark."""
        mark = f"stoppable {uuid.uuid4().hex}"
        self.keep({"log_comment": mark})
        return partial(self._stop, mark)

    def insert(
        self,
        statement: str,
        data: bytes | Iterable[bytes],
        input_format: str,
        settings: Settings | None = None,
    ) -> None:
        """Run `INSERT INTO … ` (without FORMAT) with the data. Returns once the rows are written."""
        clause = f" SETTINGS {settings_list(settings)}" if settings else ""
        with _file_in_memory(data) if isinstance(data, bytes) else fed_pipe(data) as path:
            self._run(f"{statement.rstrip()} FROM INFILE '{path}'{clause} FORMAT {input_format}")

    def close(self) -> None:
        """Close the connection. Safe to call twice."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
            self._on_close(self)

    def _run(
        self, statement: str, output_format: str = "JSONEachRow", parameters: Parameters | None = None
    ) -> bytes:
        if self._connection is None:
            raise WarehouseUnavailable("The connection is closed.")
        self._require(statement)
        if self._to_set:
            settings, self._to_set = self._to_set, {}
            try:
                self._run(f"SET {settings_list(settings)}")
            except Exception:
                # Nothing runs without what was to hold it.
                self._to_set = settings
                raise
        values = {name: parameter_text(value) for name, value in (parameters or {}).items()}
        try:
            result = self._connection.query(statement, output_format, params=values or None)
        except UnicodeDecodeError as cause:
            # chDB fails to decode its own message when that quotes binary data.
            raise SqlError(
                "The engine refused the statement; its message quotes data that is not text."
            ) from cause
        except RuntimeError as cause:
            message = str(cause)
            code = error_code(message)
            if code == MEMORY_LIMIT_EXCEEDED:
                raise OutOfMemory(message) from cause
            if code in PASSING:
                raise WarehouseUnavailable(message) from cause
            raise SqlError(message, code=code) from cause
        return cast("bytes", result.bytes())


def _engine() -> Any:
    """Return the engine's `connect`, untyped upstream. Raises MissingExtra when chDB is not installed."""
    # At its import the engine looks for pyarrow, for results as Arrow tables: 45 MB that nobody here asks it for; and its
    # allocator reads its settings. Who has set some for it keeps them.
    with _IMPORTING:
        is_first = "chdb" not in sys.modules
        # Once it runs, its threads read the environment, which nobody may change then.
        told = is_first and _ALLOCATOR not in os.environ
        if told:
            os.environ[_ALLOCATOR] = _GIVE_BACK_SOON
        spared = is_first and "pyarrow" not in sys.modules
        if spared:
            sys.modules["pyarrow"] = cast("ModuleType", None)
        try:
            import chdb
        except ImportError as cause:
            raise MissingExtra("embedded", module="chdb") from cause
        finally:
            if told:
                del os.environ[_ALLOCATOR]
            if spared:
                del sys.modules["pyarrow"]
    return chdb.connect


def owner_of(path: Path) -> int | None:
    """Return the process that has the engine's files in `path` open, as its status file tells; None without one."""
    try:
        status = (path / "status").read_text()
    except OSError:
        return None
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == "PID" and value.strip().isdigit():
            pid = int(value)
            return pid if pid != os.getpid() and is_alive(pid) else None
    return None


@contextmanager
def _file_in_memory(data: bytes) -> Iterator[str]:
    """Return a path in this process under which the engine can read the data, without a disk."""
    descriptor = make_nameless_file("retrospan-insert")
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        # Where a path leads to the open file itself, it is read from where that stands.
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield path_of(descriptor)
    finally:
        os.close(descriptor)
