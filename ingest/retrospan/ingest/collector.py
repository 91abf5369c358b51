"""The collector: receives, keeps, and has another process answer. One per data directory.

DATA/lock         who owns the directory
DATA/tenant       its tenant, once data has arrived
DATA/log/         the write-ahead log, its archive and the loader's ledger: the truth
DATA/warehouse/   the embedded ClickHouse: derived, `rebuild` makes it anew; not there with a server

This process has the receivers, the log and the probes, and never loads the engine. The process of the warehouse, its
child, follows the log: engine, loader, interpreter, SQL port. Whatever happens to that one, this one continues.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from retrospan.ingest.access.gate import Gate
from retrospan.ingest.access.remote import admitted
from retrospan.ingest.access.tenancy import Tenancy
from retrospan.ingest.access.tls import read_pem
from retrospan.ingest.access.tokens import TokenFile
from retrospan.ingest.alerts.deliverer import Deliverer
from retrospan.ingest.alerts.rules import AlertRules
from retrospan.ingest.channel import Arguments
from retrospan.ingest.load.ledger import Ledger
from retrospan.ingest.log.directory import claim
from retrospan.ingest.log.record import Note
from retrospan.ingest.log.segment_messages import archived_path, segment_message
from retrospan.ingest.log.sender import first_sender
from retrospan.ingest.log.tightening import tighten
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.machine.memory import engine_bytes, memory_limit
from retrospan.ingest.machine.port import bind
from retrospan.ingest.prices.kept_prices import keep_prices, require_usable
from retrospan.ingest.remote_file import read_setting
from retrospan.ingest.retention.policy.policy import read_policy_file
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.ingest.service import Service
from retrospan.ingest.settings.config import Config
from retrospan.ingest.settings.metrics_target import require_foreign
from retrospan.ingest.settings.setting_values import Address
from retrospan.ingest.supervisor import Supervisor
from retrospan.schemas.errors import WarehouseUnavailable

if TYPE_CHECKING:
    from retrospan.ingest.receiving import Receiving
    from retrospan.ingest.redact.redactor import Redactor

#: How long requests in flight have to be answered: the exporters' own deadline.
GRACE_SECONDS = 10.0
#: How long the process of the warehouse has to end, beyond the drain.
CLOSING_SECONDS = 60.0
#: Memory of the process of the warehouse beside its engine: batches being loaded, pages of long runs.
BESIDE_ENGINE_BYTES = 1 << 30
_TELL_SECONDS = 0.01
_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the collector listens, with the ports it really got."""

    grpc: Address
    http: Address
    sql: Address
    jaeger: Address | None = None

    def __str__(self) -> str:
        jaeger = f" jaeger={self.jaeger}" if self.jaeger is not None else ""
        return f"grpc={self.grpc} http={self.http} sql={self.sql}{jaeger}"


class Growth(Service):
    """Tells the process of the warehouse how far the log is durable, a hundred times a second at most."""

    thread_name = "retrospan-growth"
    work = "telling how far the log is durable"

    def __init__(self, log: WriteAheadLog, supervisor: Supervisor) -> None:
        super().__init__(_TELL_SECONDS)
        self._log = log
        self._supervisor = supervisor
        self._told = self._first = 0

    def run_once(self) -> None:
        """Wait a moment for the log to grow, and tell it."""
        if self._log.wait_beyond(self._told, _LOOK_SECONDS):
            self.tell(self._first)

    def tell(self, first: int = 0) -> None:
        """Tell of the segments that begin at a sequence or later."""
        grown = self._log.segments(first)
        self._supervisor.tell(
            "grow", {"segments": [segment_message(each, self._log.directory) for each in grown]}
        )
        if grown:
            self._told, self._first = grown[-1].last, grown[-1].first


class Collector:
    """One collector over one data directory. Start once, stop once; a context manager does both."""

    def __init__(
        self,
        config: Config,
        log_event: Callable[[str], None] = lambda line: None,
        is_ended: Callable[[], bool] = lambda: False,
    ) -> None:
        """`log_event` gets a line for a person now and then: what was recovered, what is wrong. `start` does not
        wait for the warehouse once `is_ended`.
        """
        self.config = config
        self._log_event = log_event
        self._is_ended = is_ended
        self._stack = ExitStack()
        self._addresses: Addresses | None = None
        self._receiving: Receiving | None = None
        self._is_made = threading.Event()

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
        """Open everything and return once every port answers; requests are acknowledged before that. On an error,
        everything opened is closed again.

        Raises:
            ConfigError: the file of tokens, of rules, of alert rules, of prices, or one of TLS cannot be used, the
                process may have too little memory, or metrics would go to the collector itself.
            DirectoryInUse: another process owns the data directory.
            PortInUse: another process listens on one of the addresses.
            SchemaTooNew: a later release wrote the data.
        """
        with ExitStack() as stack:
            self._addresses = self._start(stack)
            self._stack = stack.pop_all()
        return self._addresses

    def stop(self) -> None:
        """Stop accepting, at once; finish what was accepted within the drain time; close everything.

        What did not make it within that time is in the log and is loaded by the next start.
        """
        self._stack.close()

    def hurry(self) -> None:
        """Cut the drain short: what is accepted stays in the log for the next start."""
        self._supervisor.tell("hurry", {})

    def _start(self, stack: ExitStack) -> Addresses:
        config = self.config
        claimed = stack.enter_context(claim(config.data))
        tighten(config.data, self._log_event)
        redactor = self._check()
        engine = self._engine_bytes()
        listener = stack.enter_context(bind(config.sql, flag="--sql"))
        jaeger: socket.socket | None = None
        if config.jaeger is not None:
            jaeger = stack.enter_context(bind(config.jaeger, flag="--jaeger"))
        for flag, address in (("--grpc", config.grpc), ("--http", config.http)):
            # A taken port is reported before anything is opened.
            bind(address, flag=flag).close()
        if config.warehouse is None:
            keep_prices(config.data, config.prices, time.time_ns())
        loaded = Ledger.look(config.data / "log" / "batches.jsonl").loaded_sequence
        self._log = self._open_log(loaded)
        stack.callback(self._log.close)
        tokens = TokenFile(config.tokens, self._log_event) if config.tokens is not None else None
        shared = config.warehouse is not None
        self._gate = Gate(tokens, Tenancy(config.data, sender=lambda: first_sender(self._log), shared=shared))
        self._supervisor = self._supervised(listener, jaeger, claimed.descriptor, engine)
        self._growth = Growth(self._log, self._supervisor)
        self._supervisor.start()
        stack.callback(self._stop_warehouse)
        # Whatever happens now, nobody waits for what is not made.
        stack.callback(self._is_made.set)
        # Imported here: this process loads what receives while the other one loads the engine.
        from retrospan.ingest.receiving import Receiving

        self._receiving = receiving = Receiving(
            config, self._log, self._gate, self._supervisor, listener, redactor, loaded, self._log_event
        )
        receiving.stand_in.start()
        stack.callback(receiving.stand_in.stop)
        # After it stands in: from here on it is stopped as soon as the other process answers.
        self._is_made.set()
        self._growth.start()
        sql = Address(config.sql.host, listener.getsockname()[1])
        # Before what receives, which is to be the first that stops.
        self._export_metrics(stack, receiving)
        addresses = Addresses(*receiving.start(stack, GRACE_SECONDS), sql, self._jaeger(jaeger))
        receiving.observed.addresses = {
            name: str(getattr(addresses, name)) for name in ("grpc", "http", "sql")
        }
        self._supervisor.wait_answering(self._is_ended)
        self._introduce(receiving)
        return addresses

    def _check(self) -> Redactor | None:
        """Refuse settings that cannot be used, before anything is opened; returns what takes secrets out."""
        config = self.config
        redactor: Redactor | None = None
        if config.redaction.enabled:
            # Imported here: few ask for it, and it takes as long to load as all the rest.
            from retrospan.ingest.redact.redactor import Redactor

            redactor = Redactor.of(config.redaction)
        if redactor is not None:
            # A message may quote a path or a name that a client made up.
            self._log_event = redactor.redacting(self._log_event)
        read_policy_file(config.retention.policy)
        # Whoever begins later speaks the same: the files may be about to change.
        self._pem = read_pem(config.tls)
        Ruleset.configured(config.interpreter.rules)
        require_usable(config.prices)
        alert_rules = AlertRules.configured(config.alerts.rules)
        alert_rules.require_timely(config.alerts.every_seconds)
        self._deliverer = Deliverer(alert_rules)
        require_foreign(config)
        return redactor

    def _open_log(self, loaded: int) -> WriteAheadLog:
        limits = self.config.limits
        return WriteAheadLog.open(
            self.config.data / "log",
            segment_bytes=limits.segment_bytes,
            limit_bytes=limits.log_bytes,
            low_water_bytes=limits.low_water_bytes,
            loaded_sequence=loaded,
        )

    def _supervised(
        self, listener: socket.socket, jaeger: socket.socket | None, claimed: int, engine: int
    ) -> Supervisor:
        config = self.config
        return Supervisor(
            config,
            listener,
            claimed,
            engine_bytes=engine,
            most_bytes=engine + BESIDE_ENGINE_BYTES if config.warehouse is None else 0,
            hello=self._hello,
            answers={
                "append": self._append,
                "seal": lambda asked: self._log.seal(int(asked["last"])),
                "admit": lambda asked: admitted(self._gate, asked),
                "setting": lambda asked: read_setting(config, asked),
                "deliver": lambda asked: self._deliverer.answer(asked),
                "health": lambda report: self._made().observed.health(report),
                "metrics": lambda report: self._made().observed.metrics(report),
            },
            hears={"moved": self._moved},
            changed=self._stand_in,
            log_event=self._log_event,
            jaeger=jaeger,
        )

    def _made(self) -> Receiving:
        """Wait for what is made while the process of the warehouse starts."""
        self._is_made.wait()
        if self._receiving is None:
            raise WarehouseUnavailable("the collector could not start")
        return self._receiving

    def _stand_in(self, answers: bool) -> None:
        """Answer on the SQL port as long as the process of the warehouse does not."""
        self._is_made.wait()
        if self._receiving is not None:
            stand_in = self._receiving.stand_in
            stand_in.stop() if answers else stand_in.start()

    def _hello(self) -> Mapping[str, object]:
        """Return what a new process of the warehouse is told: of the log, and of what the ports speak."""
        self._log.look_again()
        segments = [segment_message(each, self._log.directory) for each in self._log.segments()]
        return {"segments": segments, "tls": self._pem}

    def _append(self, asked: Arguments) -> int:
        notes = [Note(str(note["kind"]), bytes.fromhex(note["body"])) for note in asked["notes"]]
        return self._log.append(tenant=str(asked["tenant"]), notes=notes)

    def _moved(self, told: Arguments) -> None:
        path = archived_path(told["path"] if told["there"] else None, self._log.directory)
        self._log.note_archived(int(told["first"]), path, int(told["size"]), int(told["packed"]))

    def _stop_warehouse(self) -> None:
        self._growth.ask_to_stop()
        durable, drain = self._log.durable_sequence, self.config.drain_seconds
        self._growth.tell()
        self._supervisor.stop({"durable": durable, "drain_seconds": drain}, drain + CLOSING_SECONDS)

    def _export_metrics(self, stack: ExitStack, receiving: Receiving) -> None:
        if self.config.metrics_to is not None:
            # Imported here: the SDK takes time to load, and few ask for this.
            from retrospan.ingest.status.collector_status import release
            from retrospan.ingest.status.exported import ExportedMetrics

            exported = ExportedMetrics(
                self.config.metrics_to,
                self.config.metrics_seconds,
                receiving.observed.records,
                self._log_event,
                release(),
            )
            stack.callback(exported.stop)

    def _engine_bytes(self) -> int:
        """Return the engine's memory: what is configured, or what the process's control group leaves of it."""
        wanted = self.config.loader.memory_bytes + self.config.interpreter.memory_bytes
        found = engine_bytes(wanted, memory_limit())
        if found < wanted:
            self._log_event(
                f"the engine gets {found:,} bytes of memory instead of the {wanted:,} of loader.memory_bytes "
                "and interpreter.memory_bytes: this process is not allowed more"
            )
        return found

    def _jaeger(self, listener: socket.socket | None) -> Address | None:
        address = self.config.jaeger
        if listener is None or address is None:
            return None
        return Address(address.host, listener.getsockname()[1])

    def _introduce(self, receiving: Receiving) -> None:
        page = receiving.observed.health()
        self._log_event(
            f"data {self.config.data.absolute()}: {self._log.bytes_used / 1e6:,.1f} MB of log, "
            f"{self._log.durable_sequence:,} records, {page['load_lag_records']:,} to load"
        )
        reasons = page["reasons"]
        if isinstance(reasons, list) and reasons:
            self._log_event(f"{page['status']}: {'; '.join(map(str, reasons[:4]))}")
