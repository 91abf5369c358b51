"""The collector: opens one data directory, starts every part in order, and ends them in the reverse order.

DATA/lock         who owns the directory
DATA/tenant       whose it is, once somebody has written
DATA/log/         the write-ahead log, its archive and the loader's ledger: the truth
DATA/warehouse/   the embedded ClickHouse: derived, `rebuild` makes it anew; not there with a server
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from retrospan.ingest.access.gate import Gate
from retrospan.ingest.access.tenancy import Tenancy
from retrospan.ingest.access.tls import server_context
from retrospan.ingest.access.tokens import TokenFile
from retrospan.ingest.answer.admin import Admin, Command, Report
from retrospan.ingest.answer.metrics import rendered
from retrospan.ingest.answer.metrics_target import require_foreign
from retrospan.ingest.answer.observed import Observed, Parts, release
from retrospan.ingest.answer.sql_port import SqlPort
from retrospan.ingest.config import Config
from retrospan.ingest.interpret.interpreter import Interpreter
from retrospan.ingest.interpret.selection import EVERYTHING, Selection
from retrospan.ingest.load.checking import detached_parts, drop_detached
from retrospan.ingest.load.ledger import Ledger
from retrospan.ingest.load.loader import Loader
from retrospan.ingest.load.migrating import migrate
from retrospan.ingest.log.archivist import Archivist
from retrospan.ingest.log.directory import claim
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.memory import engine_bytes, memory_limit
from retrospan.ingest.receive.grpc import GrpcReceiver
from retrospan.ingest.receive.http import HttpReceiver
from retrospan.ingest.receive.intake import Intake
from retrospan.ingest.receive.port import bind
from retrospan.ingest.redact.redactor import Redactor
from retrospan.ingest.retention.burial import Burial
from retrospan.ingest.retention.commands import commands, configured_policy
from retrospan.ingest.retention.marks import Marks
from retrospan.ingest.retention.retention import Retention
from retrospan.ingest.retention.schedule import Schedule
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.ingest.setting_values import Address
from retrospan.ingest.verify.rechecking import Rechecking
from retrospan.ingest.warehouse.opened import open_warehouse
from retrospan.schemas.errors import ConfigError, WarehouseUnavailable

GRACE_SECONDS = 10.0
"""How long requests in flight have to be answered: the exporters' own deadline."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the collector listens, with the ports it really got."""

    grpc: Address
    http: Address
    sql: Address

    def __str__(self) -> str:
        return f"grpc={self.grpc} http={self.http} sql={self.sql}"


class Collector:
    """One collector over one data directory. Start once, stop once; a context manager does both."""

    def __init__(self, config: Config, say: Callable[[str], None] = lambda line: None) -> None:
        """`say` gets a line for a person now and then: what was recovered, what is wrong."""
        self.config = config
        self._say = say
        self._stack = ExitStack()
        self._hurry = threading.Event()
        self._ending = threading.Event()
        self._addresses: Addresses | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def addresses(self) -> Addresses:
        """Where it listens, once started."""
        assert self._addresses is not None, "the collector is not started"
        return self._addresses

    def start(self) -> Addresses:
        """Open everything and return once every port answers. What was opened is closed again on an error.

        Raises:
            ConfigError: the file of tokens, of rules, or one of TLS cannot be used, the process may have
                too little memory, or metrics would go to the collector itself.
            DirectoryInUse: another process owns the data directory.
            PortInUse: another process listens at one of the addresses.
            SchemaTooNew: a later release wrote the data.
        """
        with ExitStack() as stack:
            self._addresses = self._start(stack)
            self._stack = stack.pop_all()
        return self._addresses

    def stop(self) -> None:
        """Stop accepting, finish what was accepted within the drain time, close everything.

        What did not make it within that time is in the log and is loaded by the next start.
        """
        self._ending.set()
        self._stack.close()

    def hurry(self) -> None:
        """Cut the drain short: what is accepted stays in the log for the next start."""
        self._hurry.set()

    def _start(self, stack: ExitStack) -> Addresses:
        config, limits = self.config, self.config.limits
        stack.callback(claim(config.data).release)
        for flag, address in (("--grpc", config.grpc), ("--http", config.http), ("--sql", config.sql)):
            # Opening the engine takes a second: a taken port is said before that.
            bind(address, flag=flag).close()
        redactor = Redactor.of(config.redaction)
        if redactor is not None:
            # What is said may quote a path or a name that a client made up.
            self._say = redactor.spoken(self._say)
        configured_policy(config.retention.policy)
        server_context(config.tls)
        Ruleset.read(config.interpreter.rules)
        require_foreign(config)
        engine = self._engine_bytes()
        tokens = TokenFile(config.tokens, self._say) if config.tokens is not None else None
        ledger = Ledger.open(config.data / "log" / "batches.jsonl")
        stack.callback(ledger.close)
        self._log = WriteAheadLog.open(
            config.data / "log",
            segment_bytes=limits.segment_bytes,
            limit_bytes=limits.log_bytes,
            low_water_bytes=limits.low_water_bytes,
            loaded_sequence=ledger.loaded_sequence,
        )
        stack.callback(self._log.close)
        self._opened = open_warehouse(config, engine, guarded=tokens is not None)
        stack.callback(self._opened.close)
        self._gate = Gate(
            tokens,
            Tenancy(config.data, has_records=self._log.durable_sequence > 0, shared=self._opened.shared),
        )
        self._prepare()
        self._interpreter = Interpreter(self._opened, config.interpreter, share=self._opened.share)
        self._loader = Loader(self._log, self._opened.connect, ledger, config.loader, self._opened.log_number)
        self._loader.on_loaded = self._loaded
        self._interpreter.is_flooded = lambda: self._loader.is_flooded
        self._noticed = ledger.loaded_sequence
        self._intake = Intake(self._log, limits, redactor)
        parts = Parts(
            self._log, self._intake, self._loader, self._interpreter, self._opened.probe, self._gate
        )
        observed = Observed(config, parts, lambda: self._noticed)
        admin = Admin({"rebuild": self._rebuild, "migrate": self._migrate, **self._keeping()})
        self._port = SqlPort(
            self._opened,
            config.sql,
            limits=limits,
            admin=admin,
            health=observed.health,
            metrics=lambda: rendered(observed.records(self._port.counters)),
            gate=self._gate,
            tls=config.tls,
            reader_of=self._opened.reader_of,
            ready=lambda: not self._log.failure,
        )
        if config.role == "all":
            self._interpreter.start()
            stack.callback(self._interpreter.stop)
        self._loader.start()
        stack.callback(self._loader.stop)
        archivist = Archivist(
            self._log,
            lambda: ledger.loaded_sequence,
            lambda: self._loader.is_flooded and self._log.bytes_used * 2 < limits.log_bytes,
        )
        archivist.start()
        stack.callback(archivist.stop)
        rechecking = Rechecking(self._log, self._opened.connect, self._loader.chains, self._opened.log_number)
        rechecking.start()
        stack.callback(rechecking.stop)
        self._retain(stack, admin)
        sql = self._port.start()
        stack.callback(self._port.stop, GRACE_SECONDS)
        stack.callback(admin.wait, GRACE_SECONDS)
        stack.callback(self._drain)
        addresses = Addresses(*self._receive(stack), Address(config.sql.host, sql))
        observed.addresses = {name: str(getattr(addresses, name)) for name in ("grpc", "http", "sql")}
        self._export_metrics(stack, observed)
        self._introduce(observed)
        return addresses

    def _keeping(self) -> dict[str, Command]:
        """The commands that keep runs and let them go."""
        opened, chains = self._opened, self._loader.chains
        burial = Burial(opened, self._interpreter)
        self._retention = Retention(
            opened,
            self._log,
            self._loader,
            chains,
            burial,
            log_number=opened.log_number,
            alone=not opened.shared,
            stopping=self._ending.is_set,
        )
        marks = Marks(opened, self._log, self._loader)
        return commands(
            opened,
            marks,
            self._retention,
            chains,
            opened.log_number,
            self.config.retention.policy,
            lambda: Ruleset.read(self.config.interpreter.rules),
        )

    def _retain(self, stack: ExitStack, admin: Admin) -> None:
        settings = self.config.retention
        schedule = Schedule(
            self._retention,
            lambda: configured_policy(settings.policy),
            settings.every_seconds if self.config.role != "interpret" else 0.0,
            admin.alone,
        )
        schedule.start()
        stack.callback(schedule.stop)

    def _export_metrics(self, stack: ExitStack, observed: Observed) -> None:
        if self.config.metrics_to is not None:
            # Imported here: the SDK takes time to load, and few ask for this.
            from retrospan.ingest.answer.exported import ExportedMetrics

            exported = ExportedMetrics(
                self.config.metrics_to,
                self.config.metrics_seconds,
                lambda: observed.records(self._port.counters),
                self._say,
                release(),
            )
            stack.callback(exported.stop)

    def _engine_bytes(self) -> int:
        """The engine's memory: what is configured, or what the process's control group leaves of it."""
        wanted = self.config.loader.memory_bytes + self.config.interpreter.memory_bytes
        found = engine_bytes(wanted, memory_limit())
        if found < wanted:
            self._say(
                f"the engine gets {found:,} bytes of memory instead of the {wanted:,} of loader.memory_bytes "
                "and interpreter.memory_bytes: this process may not have more"
            )
        return found

    def _receive(self, stack: ExitStack) -> tuple[Address, Address]:
        grpc = GrpcReceiver(self._intake, self.config.grpc, gate=self._gate, tls=self.config.tls)
        grpc_port = grpc.start()
        stack.callback(grpc.stop, GRACE_SECONDS)
        http = HttpReceiver(
            self._intake, self.config.http, gate=self._gate, tls=self.config.tls, say=self._say
        )
        http_port = http.start()
        stack.callback(http.stop, GRACE_SECONDS)
        return Address(self.config.grpc.host, grpc_port), Address(self.config.http.host, http_port)

    def _prepare(self) -> None:
        """Bring tables and views to this release, now or, with a server that is away, once it answers."""
        try:
            self._opened.prepare()
        except WarehouseUnavailable as cause:
            if not self._opened.shared:
                raise
            self._say(f"the warehouse does not answer, and what arrives is kept in the log: {cause}")

    def _introduce(self, observed: Observed) -> None:
        page = observed.health()
        self._say(
            f"data {self.config.data.absolute()}: {self._log.bytes_used / 1e6:,.1f} MB of log, "
            f"{self._log.durable_sequence:,} records, {page['load_lag_records']:,} to load"
        )
        reasons = page["reasons"]
        if isinstance(reasons, list) and reasons:
            self._say(f"{page['status']}: {'; '.join(map(str, reasons[:4]))}")

    def _drain(self) -> None:
        deadline = time.monotonic() + self.config.drain_seconds
        wanted = self._log.durable_sequence
        while not self._is_done(wanted):
            if self._hurried(deadline):
                self._say("stopping before everything is loaded and interpreted; the next start goes on")
                break

    def _is_done(self, wanted: int) -> bool:
        """Whether everything up to this record is interpreted; waits a moment for it."""
        if not self._loader.wait_loaded(wanted, 0.2):
            return False
        # Loaded is known a moment before the interpreter hears of it.
        return self._noticed >= wanted and self._interpreter.wait_idle(0.2)

    def _loaded(self, first: int, last: int) -> None:
        if self.config.role == "all":
            self._interpreter.notice(first, last)
        self._noticed = last

    def _hurried(self, deadline: float) -> bool:
        return self._hurry.is_set() or time.monotonic() > deadline

    def _migrate(self, arguments: Mapping[str, object], report: Report) -> None:
        """Apply what is pending; with `dry_run` only name it."""
        migrate(self._opened, report, dry_run=arguments.get("dry_run") is True)
        self._port.learn()

    def _rebuild(self, arguments: Mapping[str, object], report: Report) -> None:
        """Derive every row from the log again: tables that are missing, raw rows, runs; or only some runs."""
        selection = Selection.of(arguments)
        if selection != EVERYTHING:
            report({"traces": self._reinterpret(selection, report)})
            return
        self._opened.prepare()
        put_aside = self._put_aside()
        records = self._log.durable_sequence
        report({"phase": "loading", "done": 0, "total": records, "unit": "records"})
        self._loader.reload_all(
            lambda done, total: report({"phase": "loading", "done": done, "total": total, "unit": "records"})
        )
        # What was deleted came back with the records that still hold it.
        self._retention.finish(report)
        if self.config.role == "receive":
            # Which runs there are is for those who interpret: `rebuild`, asked of one of them, reads all again.
            report({"records": records})
            return
        traces = self._reinterpret(selection, report)
        self._let_go(put_aside)
        self._loader.missing_rows()
        self._port.learn()
        report({"records": records, "traces": traces})

    def _reinterpret(self, selection: Selection, report: Report) -> int:
        """Read runs again from the raw rows; return how many traces there were."""
        if self.config.role == "receive":
            raise ConfigError("this collector only receives (--role receive): ask one that interprets.")
        return self._interpreter.rebuild(
            lambda done, total: report(
                {"phase": "interpreting", "done": done, "total": total, "unit": "traces"}
            ),
            selection,
        )

    def _put_aside(self) -> list[tuple[str, str]]:
        """Broken parts of the tables, which a rebuild makes superfluous; those of a shared server are its owner's."""
        if self._opened.shared:
            return []
        store = self._opened.connect()
        try:
            return detached_parts(store)
        finally:
            store.close()

    def _let_go(self, parts: list[tuple[str, str]]) -> None:
        store = self._opened.connect()
        try:
            drop_detached(store, parts)
        finally:
            store.close()
