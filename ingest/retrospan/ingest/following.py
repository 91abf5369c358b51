"""Everything that follows the log: loader, interpreter, archive, retention, commands and the SQL port, over one
warehouse.

It runs in its own process (`warehouse_process`); another process writes the log that this one reads.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack

from retrospan.ingest.access.remote import RemoteGate
from retrospan.ingest.admin_commands import commands
from retrospan.ingest.alerts.alerting import Alerting
from retrospan.ingest.alerts.rules import AlertRules
from retrospan.ingest.alerts.sender import Deliver
from retrospan.ingest.answer.admin import Admin, Report
from retrospan.ingest.answer.jaeger.port import JaegerPort
from retrospan.ingest.answer.sql_port import SqlPort
from retrospan.ingest.http.site import Site
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.load.ledger import Ledger
from retrospan.ingest.load.loader import Loader
from retrospan.ingest.load.merging import Merging
from retrospan.ingest.load.migrating import migrate
from retrospan.ingest.load.whole_parts import WholeParts
from retrospan.ingest.log.archivist import Archivist
from retrospan.ingest.log.follower import LogFollower
from retrospan.ingest.open_warehouse import OpenWarehouse
from retrospan.ingest.prices.kept_prices import packed
from retrospan.ingest.rebuilding import Rebuilding
from retrospan.ingest.retention.deletion.deleter import Deleter
from retrospan.ingest.retention.deletion.retention import Retention
from retrospan.ingest.retention.deletion.returning import Returning
from retrospan.ingest.retention.policy.policy import read_policy_file
from retrospan.ingest.retention.receipts.marks import Marks
from retrospan.ingest.retention.schedule import Schedule
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.ingest.settings.config import Config
from retrospan.ingest.settings.setting_values import Address
from retrospan.ingest.status.warehouse_status import WarehouseParts, WarehouseStatus
from retrospan.ingest.verify.archived_segment import faults_in
from retrospan.ingest.verify.rechecking import Rechecking
from retrospan.ingest.warehouse.resting import Resting
from retrospan.schemas.errors import ConfigError, WarehouseUnavailable

#: How long answers that are under way have to end.
GRACE_SECONDS = 10.0


class Following:
    """Start once, stop once."""

    def __init__(
        self,
        config: Config,
        opened: OpenWarehouse,
        log: LogFollower,
        gate: RemoteGate,
        *,
        tls: ssl.SSLContext | None,
        log_event: Callable[[str], None],
        stuck: Callable[[str], None],
        deliver: Deliver,
    ) -> None:
        """`tls` is what the SQL port speaks, None for plain text. `stuck` is called when a query cannot be stopped, or
        parts are not whole: this process does not live on then. `deliver` tells a target of an alert."""
        self._config = config
        self._opened = opened
        self._log = log
        self._gate = gate
        self._tls = tls
        self._log_event = log_event
        self._stuck = stuck
        self._deliver = deliver
        self._stack = ExitStack()
        self._ending = threading.Event()
        self._hurry = threading.Event()

    def start(
        self,
        listener: socket.socket,
        health: Callable[[], Mapping[str, object]],
        metrics: Callable[[], str],
        jaeger: socket.socket | None = None,
    ) -> None:
        """Bring the tables to this release, begin to load and interpret, and return once questions are answered.

        `listener` is the socket of the SQL port. `health` and `metrics` give its pages. `jaeger` is that of
        Jaeger's API, if it is to be answered.

        Raises:
            SchemaTooNew: a later release wrote the data.
            WarehouseUnavailable, SqlError: the embedded engine cannot be used.
        """
        with ExitStack() as stack:
            self._start(stack, listener, health, metrics, jaeger)
            self._stack = stack.pop_all()

    def hurry(self) -> None:
        """Cut the drain short: what is accepted stays in the log for the next start."""
        self._hurry.set()

    def stop(self, durable: int, drain_seconds: float) -> None:
        """Load and interpret all up to a record, for so long at most, then close everything."""
        self._ending.set()
        self._drain(durable, drain_seconds)
        self._stack.close()

    def _start(
        self,
        stack: ExitStack,
        listener: socket.socket,
        health: Callable[[], Mapping[str, object]],
        metrics: Callable[[], str],
        jaeger: socket.socket | None = None,
    ) -> None:
        config, opened = self._config, self._opened
        ledger = Ledger.open(config.data / "log" / "batches.jsonl")
        stack.callback(ledger.close)
        self._prepare()
        self._interpreter = Interpreter(
            opened,
            config.interpreter,
            share=opened.share,
            is_flooded=lambda: self._loader.is_flooded,
            prices=packed(config.prices),
            noticed_to=ledger.loaded_sequence,
        )
        self._loader = Loader(
            self._log,
            opened.connect,
            ledger,
            config.loader,
            opened.log_number,
            self._loaded,
            Returning(self._log, opened.log_number, alone=not opened.shared),
        )
        self._noticed = ledger.loaded_sequence
        retention = self._retention()
        rebuilding = Rebuilding(opened, self._log, self._loader, self._interpreter, retention, config.role)
        self._alerting = self._alerts()
        admin = self._admin(retention, rebuilding)
        self._port = self._sql_port(listener, admin, health, metrics)
        self.reporting = WarehouseStatus(
            WarehouseParts(
                self._log,
                self._loader,
                self._interpreter,
                opened.probe,
                lambda: self._noticed,
                lambda: self._port.counters,
                self._alerting,
            )
        )
        if config.role == "all":
            self._interpreter.start()
            stack.callback(self._interpreter.stop)
        self._loader.start()
        stack.callback(self._loader.stop)
        archivist = Archivist(self._log, lambda: ledger.loaded_sequence, self._archive_may_wait)
        archivist.start()
        stack.callback(archivist.stop)
        rechecking = Rechecking(self._log, opened.connect, self._loader.chains, opened.log_number)
        rechecking.start()
        stack.callback(rechecking.stop)
        self._retain(stack, retention, admin)
        self._alerting.start()
        stack.callback(self._alerting.stop)
        if not opened.shared:
            self._rest(stack)
        self._port.start()
        stack.callback(self._port.stop, GRACE_SECONDS)
        stack.callback(admin.wait, GRACE_SECONDS)
        if jaeger is not None and config.jaeger is not None:
            self._answer_jaeger(stack, jaeger, config.jaeger)

    def _sql_port(
        self,
        listener: socket.socket,
        admin: Admin,
        health: Callable[[], Mapping[str, object]],
        metrics: Callable[[], str],
    ) -> SqlPort:
        config = self._config
        return SqlPort(
            self._opened,
            self._site(config.sql, listener),
            limits=config.limits,
            admin=admin,
            health=health,
            metrics=metrics,
            gate=self._gate,
            reader_of=self._opened.reader_of,
            stuck=self._stuck,
        )

    def _answer_jaeger(self, stack: ExitStack, listener: socket.socket, address: Address) -> None:
        port = JaegerPort(
            self._site(address, listener),
            limits=self._config.limits,
            reader_of=self._opened.reader_of,
            places=self._port.places,
            gate=self._gate,
            stuck=self._stuck,
        )
        port.start()
        stack.callback(port.stop, GRACE_SECONDS)

    def _site(self, address: Address, listener: socket.socket) -> Site:
        config = self._config
        return Site(address, self._tls, listener, host_names=config.host_names, origins=config.origins)

    def _admin(self, retention: Retention, rebuilding: Rebuilding) -> Admin:
        config, opened = self._config, self._opened
        marks = Marks(opened, self._log, self._loader, log_number=opened.log_number, alone=not opened.shared)
        return Admin(
            {
                "rebuild": lambda arguments, report: self._learning(rebuilding.rebuild, arguments, report),
                "migrate": lambda arguments, report: self._learning(self._migrate, arguments, report),
                "alerts": self._alerting.command,
                **commands(
                    opened,
                    marks,
                    retention,
                    self._loader.chains,
                    opened.log_number,
                    config.retention.policy,
                    lambda: Ruleset.configured(config.interpreter.rules),
                    packed(config.prices),
                ),
            }
        )

    def _prepare(self) -> None:
        """Bring tables and views to this release, now or, with a server that is away, once it answers."""
        try:
            self._opened.prepare()
        except WarehouseUnavailable as cause:
            if not self._opened.shared:
                raise
            self._log_event(f"the warehouse does not answer; arrivals stay in the log: {cause}")

    def _retention(self) -> Retention:
        opened = self._opened
        return Retention(
            opened,
            self._log,
            self._loader,
            self._loader.chains,
            Deleter(opened, self._interpreter),
            faults_in(self._log, self._loader.chains, opened.log_number),
            log_number=opened.log_number,
            alone=not opened.shared,
            stopping=self._ending.is_set,
            set_aside=lambda: self._interpreter.counters.set_aside,
        )

    def _retain(self, stack: ExitStack, retention: Retention, admin: Admin) -> None:
        settings = self._config.retention
        schedule = Schedule(
            retention,
            lambda: read_policy_file(settings.policy),
            settings.every_seconds if self._config.role != "interpret" else 0.0,
            admin.alone,
        )
        schedule.start()
        stack.callback(schedule.stop)

    def _alerts(self) -> Alerting:
        config, share = self._config, self._opened.share
        rules, fault = AlertRules(), ""
        try:
            rules = AlertRules.configured(config.alerts.rules)
        except ConfigError as error:
            # It could be read when the collector started: that it is spoilt since must not keep questions from answers.
            fault = f"nobody is told of anything: {error}"
            self._log_event(f"alerts: {fault}")
        return Alerting(
            rules,
            self._opened,
            config.limits,
            config.alerts,
            self._opened.reader_of,
            self._deliver,
            lambda: config.role == "all" and (share is None or 0 in share.parts),
            fault=fault,
        )

    def _rest(self, stack: ExitStack) -> None:
        """Begin what an embedded engine does when nobody wants anything of it, and what looks after its disk."""
        whole = WholeParts(self._opened.connect, self._config.data / "warehouse", self._stuck)
        whole.start()
        stack.callback(whole.stop)
        merging = Merging(self._opened.connect, self._activity)
        merging.start()
        stack.callback(merging.stop)
        resting = Resting(
            lambda: (self._activity(), merging.merges, self._port.counters.queries), self._opened.rest
        )
        resting.start()
        stack.callback(resting.stop)

    def _activity(self) -> tuple[int, int] | None:
        """Return how much was done so far; None while there is something to do."""
        if self._loader.lag_records or self._interpreter.lag_traces:
            return None
        return self._loader.counters.batches, self._interpreter.counters.runs

    def _archive_may_wait(self) -> bool:
        return self._loader.is_flooded and self._log.disk_bytes * 2 < self._config.limits.log_bytes

    def _migrate(self, arguments: Mapping[str, object], report: Report) -> None:
        """Apply what is pending; with `dry_run` only name it."""
        migrate(self._opened, report, dry_run=arguments.get("dry_run") is True)

    def _learning(
        self,
        command: Callable[[Mapping[str, object], Report], None],
        arguments: Mapping[str, object],
        report: Report,
    ) -> None:
        """Run a command that may change views, and have the SQL port know them."""
        command(arguments, report)
        self._port.learn()
        self._alerting.learn()

    def _loaded(self, first: int, last: int) -> None:
        if self._config.role == "all":
            self._interpreter.notice(first, last)
        self._noticed = last

    def _drain(self, wanted: int, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self._is_done(wanted):
            if self._hurry.is_set() or time.monotonic() > deadline:
                self._log_event(
                    "stopping before everything is loaded and interpreted; the next start continues"
                )
                break

    def _is_done(self, wanted: int) -> bool:
        """Return whether everything up to this record is interpreted; waits a moment for it."""
        if not self._loader.wait_loaded(wanted, 0.2):
            return False
        # Loaded is known a moment before the interpreter hears of it.
        return self._noticed >= wanted and self._interpreter.wait_idle(0.2)
