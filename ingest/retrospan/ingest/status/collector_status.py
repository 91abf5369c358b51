"""Observes a running collector for `/health`, `/metrics` and probes: its parts, and the warehouse's last report."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace
from typing import Protocol

from retrospan.ingest.access.gate import Gate
from retrospan.ingest.channel import Arguments
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.machine.durable_files import Files
from retrospan.ingest.receive.intake import Intake
from retrospan.ingest.settings.config import Config
from retrospan.ingest.status.health import Facts, WarehouseFacts, report
from retrospan.ingest.status.metrics import STATE, Records, rendered

_FACTS = frozenset(field.name for field in fields(WarehouseFacts))


class Watched(Protocol):
    """What is asked of the supervisor."""

    restarts: int

    @property
    def report(self) -> Arguments: ...

    @property
    def report_age(self) -> float: ...

    @property
    def failure(self) -> str: ...

    @property
    def last_end(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ReceivingParts:
    """What the process that receives is made of, as far as it can be looked at."""

    log: WriteAheadLog
    intake: Intake
    gate: Gate
    warehouse: Watched
    certificate_end: datetime | None = None
    """The last moment of the certificate that the ports show."""


class CollectorStatus:
    """One collector, looked at from any thread. Nothing here waits for the engine.

    Where a `fresh` report of the warehouse is at hand, it counts instead of the last one.
    """

    def __init__(self, config: Config, parts: ReceivingParts, loaded_at_start: int = 0) -> None:
        """`loaded_at_start` is the last record that was loaded when the collector started."""
        self._config = config
        self._parts = parts
        self._loaded_at_start = loaded_at_start
        self.addresses: Mapping[str, str] = {}
        """Where each port is, by its name; the collector says it once they listen."""

    def health(self, fresh: Arguments | None = None) -> dict[str, object]:
        """Return the page of /health."""
        return {**report(self.facts(fresh)), "settings": self._config.in_force()}

    def metrics(self, fresh: Arguments | None = None) -> str:
        """Return the page of /metrics."""
        return rendered(self.records(fresh))

    def ready(self) -> dict[str, object]:
        """Return whether what is sent now is kept, whether questions are answered, and why not."""
        reasons = {"receiving": self._parts.log.failure, "answering": self._parts.warehouse.failure}
        return {
            **{what: not why for what, why in reasons.items()},
            "reasons": [why for why in reasons.values() if why],
        }

    def facts(self, fresh: Arguments | None = None) -> Facts:
        """Return the facts as they are now."""
        told = self._told(fresh)
        log, recovery = self._parts.log, self._parts.log.recovery
        counted = self._parts.intake.counters
        limits = self._config.limits
        durable = log.durable_sequence
        warehouse = self._parts.warehouse
        return Facts(
            **asdict(told),
            access_complaint="; ".join(filter(None, (self._parts.gate.complaint, self._ended()))),
            release=release(),
            data=str(self._config.data.absolute()),
            now=datetime.now(UTC).isoformat(),
            grpc=self.addresses.get("grpc", ""),
            http=self.addresses.get("http", ""),
            sql=self.addresses.get("sql", ""),
            requests=counted.requests,
            requests_refused=counted.requests_refused,
            requests_turned_away=self._parts.gate.turned_away_at_intake,
            log_bytes=log.bytes_used,
            log_limit_bytes=limits.log_bytes,
            log_failure=log.failure or log.obstacle,
            log_sync_seconds=round(log.pace.seconds, 3),
            disk_free_bytes=Files().free_bytes(self._config.data),
            low_water_bytes=limits.low_water_bytes,
            recovery_cut_bytes=recovery.cut_bytes,
            recovery_damaged_bytes=recovery.damaged_bytes + told.reading_damaged_bytes,
            recovery_lost_records=recovery.lost_records,
            recovery_reason="; ".join(filter(None, (recovery.reason, told.reading_damage))),
            clock_behind_seconds=round(max(0.0, (log.last_arrived_at - time.time_ns()) / 1e9), 3),
            durable_sequence=durable,
            load_lag_records=max(0, durable - told.loaded_sequence),
            load_lag_bytes=log.bytes_beyond(told.loaded_sequence),
            rejects=counted.spans_rejected + counted.log_records_rejected + counted.requests_undecodable,
            warehouse_failure="" if fresh is not None else warehouse.failure,
            warehouse_age_seconds=0.0 if fresh is not None else round(warehouse.report_age, 3),
            warehouse_restarts=warehouse.restarts,
            warehouse_last_end=warehouse.last_end,
        )

    def records(self, fresh: Arguments | None = None) -> Records:
        """Every number there is, by part, as the table of metrics names them."""
        told = fresh if fresh is not None else self._parts.warehouse.report
        return {
            STATE: self.facts(fresh),
            "intake": self._parts.intake.counters,
            "access": self._parts.gate.counters,
            **{part: SimpleNamespace(**numbers) for part, numbers in told.get("records", {}).items()},
        }

    def _ended(self) -> str:
        end = self._parts.certificate_end
        if end is None or end > datetime.now(UTC):
            return ""
        return (
            f"the certificate ended on {end:%Y-%m-%d at %H:%M} UTC, and clients refuse it: put a new one in its place, and "
            "restart the collector"
        )

    def _told(self, fresh: Arguments | None) -> WarehouseFacts:
        told = fresh if fresh is not None else self._parts.warehouse.report
        if "facts" not in told:
            # Nothing is known of what waits: that is not the same as nothing waiting.
            return WarehouseFacts(loaded_sequence=self._loaded_at_start, interpretation_lag_traces=1)
        return WarehouseFacts(**{name: value for name, value in told["facts"].items() if name in _FACTS})


@cache
def release() -> str:
    """Return the installed release; '' when it runs without having been installed."""
    try:
        return version("retrospan")
    except PackageNotFoundError:
        return ""
