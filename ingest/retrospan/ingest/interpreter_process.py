"""A process that interprets and receives nothing: `retrospan serve --role interpret`.

It has no log and no data directory. Its SQL port answers like a collector's; `/health` shows its backlog.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from retrospan.ingest.access.gate import Gate
from retrospan.ingest.access.tenancy import Tenancy
from retrospan.ingest.access.tls import server_context
from retrospan.ingest.access.tokens import TokenFile
from retrospan.ingest.alerts.alerting import Alerting
from retrospan.ingest.alerts.deliverer import Deliverer
from retrospan.ingest.alerts.rules import AlertRules
from retrospan.ingest.answer.admin import Admin, Report
from retrospan.ingest.answer.jaeger.port import JaegerPort
from retrospan.ingest.answer.sql_port import SqlPort
from retrospan.ingest.collector import GRACE_SECONDS
from retrospan.ingest.http.site import Site
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.load.migrating import migrate
from retrospan.ingest.open_warehouse import OpenWarehouse, open_warehouse
from retrospan.ingest.prices.kept_prices import packed, require_usable
from retrospan.ingest.settings.config import Config
from retrospan.ingest.settings.setting_values import Address
from retrospan.ingest.status.health import LAG_SECONDS
from retrospan.ingest.status.metrics import Records, rendered
from retrospan.schemas.errors import WarehouseUnavailable


@dataclass(frozen=True, slots=True)
class ShareOfRuns:
    """The backlog of such a process, as numbers. Times in seconds."""

    parts: int
    lag_traces: int
    lag_seconds: float


class InterpretingProcess:
    """Start once, stop once. The warehouse may be away when it starts."""

    def __init__(self, config: Config, log_event: Callable[[str], None] = lambda line: None) -> None:
        """`log_event` gets a line for a person now and then."""
        self.config = config
        self._log_event = log_event
        self._stack = ExitStack()

    def start(self) -> str:
        """Begin, and return what the ready line says once the SQL port answers.

        Raises:
            ConfigError: the file of tokens, of prices, or one of TLS, cannot be used.
            PortInUse: another process listens on the address.
        """
        with ExitStack() as stack:
            ready = self._start(stack)
            self._stack = stack.pop_all()
        return ready

    def stop(self) -> None:
        """Finish the runs at hand, give up this process's part of them, close everything."""
        self._stack.close()

    def hurry(self) -> None:
        """Nothing waits here: a stop takes as long as the runs at hand."""

    def _start(self, stack: ExitStack) -> str:
        config = self.config
        server_context(config.tls)
        require_usable(config.prices)
        rules = AlertRules.configured(config.alerts.rules)
        rules.require_timely(config.alerts.every_seconds)
        tokens = TokenFile(config.tokens, self._log_event) if config.tokens is not None else None
        opened = open_warehouse(config, config.loader.memory_bytes, guarded=tokens is not None)
        stack.callback(opened.close)
        try:
            opened.prepare()
        except WarehouseUnavailable as cause:
            self._log_event(f"the warehouse does not answer: {cause}")
        self._interpreter = Interpreter(
            opened, config.interpreter, share=opened.share, prices=packed(config.prices)
        )
        self._share = opened.share
        gate = Gate(tokens, Tenancy(shared=True))
        self._alerting = Alerting(
            rules,
            opened,
            config.limits,
            config.alerts,
            opened.reader_of,
            Deliverer(rules).deliver,
            lambda: opened.share is not None and 0 in opened.share.parts,
        )
        admin = Admin(
            {
                "rebuild": self._rebuild,
                "alerts": self._alerting.command,
                "migrate": lambda arguments, report: migrate(
                    opened,
                    report,
                    dry_run=arguments.get("dry_run") is True,
                ),
            }
        )
        port = SqlPort(
            opened,
            self._site(config.sql),
            limits=config.limits,
            admin=admin,
            health=self._health,
            metrics=lambda: rendered(self._records(port, gate)),
            gate=gate,
            reader_of=opened.reader_of,
        )
        self._interpreter.start()
        stack.callback(self._interpreter.stop)
        self._alerting.start()
        stack.callback(self._alerting.stop)
        number = port.start()
        stack.callback(port.stop, GRACE_SECONDS)
        stack.callback(admin.wait, GRACE_SECONDS)
        ready = f"sql={Address(config.sql.host, number)}"
        if config.jaeger is not None:
            ready += f" jaeger={self._answer_jaeger(stack, config.jaeger, opened, port, gate)}"
        return ready

    def _answer_jaeger(
        self, stack: ExitStack, address: Address, opened: OpenWarehouse, port: SqlPort, gate: Gate
    ) -> Address:
        jaeger = JaegerPort(
            self._site(address),
            limits=self.config.limits,
            reader_of=opened.reader_of,
            places=port.places,
            gate=gate,
        )
        number = jaeger.start()
        stack.callback(jaeger.stop, GRACE_SECONDS)
        return Address(address.host, number)

    def _site(self, address: Address) -> Site:
        config = self.config
        return Site(address, config.tls, host_names=config.host_names, origins=config.origins)

    def _rebuild(self, arguments: Mapping[str, object], report: Report) -> None:
        """Read every run again; those of other interpreters are passed on to them."""
        traces = self._interpreter.rebuild(
            lambda done, total: report(
                {"phase": "interpreting", "done": done, "total": total, "unit": "traces"}
            )
        )
        report({"traces": traces})

    def _health(self) -> Mapping[str, object]:
        lag, failure = self._interpreter.lag_seconds, self._interpreter.failure
        reasons = [f"interpretation stopped: {failure}"] if failure else []
        if lag > LAG_SECONDS:
            reasons.append(
                f"interpretation is {lag:.0f} s and {self._interpreter.lag_traces:,} traces behind"
            )
        if complaint := self._alerting.complaint:
            reasons.append(f"alerts: {complaint}")
        return {
            "status": "failing" if failure else "degraded" if reasons else "ok",
            "reasons": reasons,
            "interpretation_lag_traces": self._interpreter.lag_traces,
            "interpretation_lag_seconds": lag,
            "interpretation_failures": self._interpreter.counters.all_failures,
            "parts": len(self._share.parts) if self._share else 0,
        }

    def _records(self, port: SqlPort, gate: Gate) -> Records:
        parts = len(self._share.parts) if self._share else 0
        return {
            "share": ShareOfRuns(parts, self._interpreter.lag_traces, self._interpreter.lag_seconds),
            "interpreter": self._interpreter.counters,
            "access": gate.counters,
            "sql": port.counters,
            "alerts": self._alerting.counters,
        }
