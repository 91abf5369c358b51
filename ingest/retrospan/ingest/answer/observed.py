"""Looks at the running parts of a collector for `/health` and `/metrics`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from retrospan.ingest.access.gate import Gate
from retrospan.ingest.answer.health import Facts, report
from retrospan.ingest.answer.metrics import STATE, Records
from retrospan.ingest.answer.sql_port import QueryCounters
from retrospan.ingest.config import Config
from retrospan.ingest.interpret.interpreter import Interpreter
from retrospan.ingest.load.checking import Check, detached_parts
from retrospan.ingest.load.loader import Loader
from retrospan.ingest.log.files import Files
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.receive.intake import Intake
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import RetrospanError
from retrospan.schemas.migrate import Migrations

GOOD_SECONDS = 5.0
"""How long what the engine said is good: probes come often."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a collector is made of, as far as it can be looked at."""

    log: WriteAheadLog
    intake: Intake
    loader: Loader
    interpreter: Interpreter
    warehouse: Warehouse
    gate: Gate


@dataclass(frozen=True, slots=True)
class _Engine:
    """What only the engine knows."""

    version: str = ""
    failure: str = ""
    detached_parts: int = 0
    pending_migrations: int = 0


class Observed:
    """The parts of one collector, looked at from any thread."""

    def __init__(self, config: Config, parts: Parts, noticed: Callable[[], int]) -> None:
        """`noticed` gives the last record that the interpreter has heard of."""
        self._config = config
        self._parts = parts
        self._noticed = noticed
        self._looking = threading.Lock()
        self._seen = _Engine()
        self._good_until = 0.0
        self.addresses: Mapping[str, str] = {}
        """Where each port is, by its name; the collector says it once they listen."""

    def health(self) -> Mapping[str, object]:
        """The page of /health."""
        return report(self.facts())

    def facts(self) -> Facts:
        """What is so now."""
        recovery = self._parts.log.recovery
        counted = self._parts.intake.counters
        limits = self._config.limits
        durable = self._parts.log.durable_sequence
        # Until the interpreter has heard of a record, nobody may take it for done.
        loaded = min(self._parts.loader.loaded_sequence, self._noticed())
        check, counted_rows = self._parts.loader.check, self._parts.loader.counted
        refused = self._parts.gate.counters
        engine = self._engine()
        return Facts(
            release=release(),
            engine=engine.version,
            engine_failure=engine.failure,
            data=str(self._config.data.absolute()),
            now=datetime.now(UTC).isoformat(),
            grpc=self.addresses.get("grpc", ""),
            http=self.addresses.get("http", ""),
            sql=self.addresses.get("sql", ""),
            requests=counted.requests,
            requests_refused=counted.requests_refused,
            requests_turned_away=refused.unauthenticated + refused.forbidden + refused.over_quota,
            log_bytes=self._parts.log.bytes_used,
            log_limit_bytes=limits.log_bytes,
            log_failure=self._parts.log.failure,
            disk_free_bytes=Files().free_bytes(self._config.data),
            low_water_bytes=limits.low_water_bytes,
            recovery_cut_bytes=recovery.cut_bytes,
            recovery_damaged_bytes=recovery.damaged_bytes,
            recovery_lost_records=recovery.lost_records,
            recovery_reason=recovery.reason,
            durable_sequence=durable,
            loaded_sequence=loaded,
            load_lag_records=max(0, durable - loaded),
            load_lag_bytes=self._parts.log.bytes_beyond(loaded),
            load_lag_seconds=self._parts.loader.lag_seconds,
            load_failure=self._parts.loader.failure,
            interpretation_lag_traces=self._parts.interpreter.lag_traces,
            interpretation_lag_seconds=self._parts.interpreter.lag_seconds,
            interpretation_failures=self._parts.interpreter.counters.failures,
            rejects=counted.spans_rejected + counted.log_records_rejected + counted.requests_undecodable,
            quarantine=self._parts.loader.quarantined,
            stored_spans=_stored("raw_spans", counted_rows, check),
            stored_log_records=_stored("raw_logs", counted_rows, check),
            missing_rows=sum(check.missing.values()),
            detached_parts=engine.detached_parts,
            table_complaint=check.complaint,
            pending_migrations=engine.pending_migrations,
            evidence_complaint=self._parts.loader.chains.complaint,
        )

    def records(self, queries: QueryCounters) -> Records:
        """Every number there is, by part, as the table of metrics names them."""
        return {
            STATE: self.facts(),
            "intake": self._parts.intake.counters,
            "loader": self._parts.loader.counters,
            "interpreter": self._parts.interpreter.counters,
            "access": self._parts.gate.counters,
            "sql": queries,
        }

    def _look(self) -> _Engine:
        try:
            store = self._parts.warehouse.connect()
            try:
                return _Engine(
                    version=str(store.rows("SELECT version()")[0][0]),
                    detached_parts=len(detached_parts(store)),
                    pending_migrations=len(Migrations(store, form=self._parts.warehouse.form).pending()),
                )
            finally:
                store.close()
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
    """The rows that a table has, of those that were counted."""
    return counted.get(table, 0) - check.missing.get(table, 0) - check.buried.get(table, 0)


@cache
def release() -> str:
    """The installed release; '' when it runs without having been installed."""
    try:
        return version("retrospan")
    except PackageNotFoundError:
        return ""
