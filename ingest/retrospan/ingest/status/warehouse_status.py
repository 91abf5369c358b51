"""What the process of the warehouse reports about itself: to its supervisor, and on /health."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.load.checking import Check, detached_parts
from retrospan.ingest.load.loader import Loader
from retrospan.ingest.log.segmented import SegmentedLog
from retrospan.ingest.machine.confinement import held
from retrospan.ingest.status.counting import AlertCounters, QueryCounters
from retrospan.ingest.status.health import WarehouseFacts
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import RetrospanError
from retrospan.schemas.migrate import Migrations

#: How long what the engine said is good: probes come often.
GOOD_SECONDS = 5.0


class Alerts(Protocol):
    """What is asked of the alerts."""

    @property
    def counters(self) -> AlertCounters: ...

    @property
    def complaint(self) -> str: ...


@dataclass(frozen=True, slots=True)
class WarehouseParts:
    """What the process is made of, as far as it can be looked at. `noticed` gives the last record that the interpreter
    has heard of."""

    log: SegmentedLog
    loader: Loader
    interpreter: Interpreter
    warehouse: Warehouse
    noticed: Callable[[], int]
    queries: Callable[[], QueryCounters]
    alerts: Alerts


@dataclass(frozen=True, slots=True)
class _Engine:
    """What only the engine knows."""

    version: str = ""
    failure: str = ""
    detached_parts: int = 0
    pending_migrations: int = 0


class WarehouseStatus:
    """Makes reports, from any thread."""

    def __init__(self, parts: WarehouseParts) -> None:
        self._parts = parts
        self._looking = threading.Lock()
        self._seen = _Engine()
        self._good_until = 0.0

    def report(self, *, look: bool = True) -> dict[str, object]:
        """Facts, and the numbers of each part. Without `look` the engine is not asked: what it said last is told."""
        return {
            "facts": asdict(self._facts(self._engine() if look else self._seen)),
            "records": {
                "loader": asdict(self._parts.loader.counters),
                "interpreter": asdict(self._parts.interpreter.counters),
                "sql": asdict(self._parts.queries()),
                "alerts": asdict(self._parts.alerts.counters),
            },
        }

    def _facts(self, engine: _Engine) -> WarehouseFacts:
        loader, interpreter = self._parts.loader, self._parts.interpreter
        check, counted = loader.check, loader.counted
        damage = self._parts.log.recovery
        return WarehouseFacts(
            engine=engine.version,
            engine_failure=engine.failure,
            confinement=held(),
            # Until the interpreter has heard of a record, nobody may take it for done.
            loaded_sequence=min(loader.loaded_sequence, self._parts.noticed()),
            load_lag_seconds=loader.lag_seconds,
            load_failure=loader.failure,
            interpretation_lag_traces=interpreter.lag_traces,
            interpretation_lag_seconds=interpreter.lag_seconds,
            interpretation_failures=interpreter.counters.all_failures,
            interpretation_broken=interpreter.counters.not_interpreted,
            interpretation_failure=interpreter.failure,
            quarantine=loader.quarantined,
            stored_spans=_stored("raw_spans", counted, check),
            stored_log_records=_stored("raw_logs", counted, check),
            missing_rows=sum(check.missing.values()),
            detached_parts=engine.detached_parts,
            table_complaint=check.complaint,
            pending_migrations=engine.pending_migrations,
            evidence_complaint=loader.chains.complaint,
            alerts_complaint=self._parts.alerts.complaint,
            reading_damaged_bytes=damage.damaged_bytes,
            reading_damage=damage.reason,
        )

    def _look(self) -> _Engine:
        try:
            with closing(self._parts.warehouse.connect()) as store:
                return _Engine(
                    version=str(store.rows("SELECT version()")[0][0]),
                    detached_parts=len(detached_parts(store)),
                    pending_migrations=len(Migrations(store, form=self._parts.warehouse.form).pending()),
                )
        except RetrospanError as error:
            # The page must say it, not fail with it.
            return replace(self._seen, failure=str(error)[:300])

    def _engine(self) -> _Engine:
        with self._looking:
            if time.monotonic() >= self._good_until:
                self._seen = self._look()
                self._good_until = time.monotonic() + GOOD_SECONDS
            return self._seen


def _stored(table: str, counted: Mapping[str, int], check: Check) -> int:
    """Return the rows that a table has, of those that were counted."""
    return counted.get(table, 0) - check.missing.get(table, 0) - check.buried.get(table, 0)
