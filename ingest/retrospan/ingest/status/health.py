"""`/health`: whether the collector keeps its promises, in one word and the reasons for it.

`failing`: nothing new is accepted, what is accepted is no longer loaded, nothing is answered, or rows that were loaded
are gone, so that answers lack them. `degraded`: it works, and something was lost, refused or left aside that a person
should look at. `ok`: neither.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

Status = Literal["ok", "degraded", "failing"]
#: A load or interpretation lag beyond this is a reason.
LAG_SECONDS = 60.0
#: A log that holds more than this share of its limit is a reason.
NEARLY_FULL = 0.9
#: A disk that takes so long to confirm a write is a reason: a request may have to wait for two of them.
SYNC_SECONDS = 3.0
#: A clock this far behind the last arrival is a reason: retention refuses to count ages by it.
CLOCK_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WarehouseFacts:
    """What only the process of the warehouse knows. Seconds, and counts since its start unless said otherwise."""

    engine: str = ""
    engine_failure: str = ""
    confinement: str = ""
    loaded_sequence: int = 0
    load_lag_seconds: float = 0.0
    load_failure: str = ""
    interpretation_lag_traces: int = 0
    interpretation_lag_seconds: float = 0.0
    interpretation_failures: int = 0
    interpretation_broken: int = 0
    interpretation_failure: str = ""
    quarantine: int = 0
    stored_spans: int = 0
    stored_log_records: int = 0
    missing_rows: int = 0
    detached_parts: int = 0
    table_complaint: str = ""
    pending_migrations: int = 0
    evidence_complaint: str = ""
    alerts_complaint: str = ""
    reading_damaged_bytes: int = 0
    reading_damage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts(WarehouseFacts):
    """What is looked at. Bytes, seconds, counts; counts since start unless said otherwise.

    `data` and `now` are the directory and the clock of the collector; `grpc`, `http` and `sql` where it listens.
    `warehouse_age_seconds` is how old that is what the process of the warehouse said of itself; `warehouse_failure` is
    why it answers nothing just now, '' when it answers; `warehouse_last_end` why it ended in the last ten minutes.
    """

    access_complaint: str = ""
    release: str = ""
    data: str = ""
    now: str = ""
    grpc: str = ""
    http: str = ""
    sql: str = ""
    requests: int = 0
    requests_refused: int = 0
    requests_turned_away: int = 0
    log_bytes: int = 0
    log_limit_bytes: int = 0
    log_failure: str = ""
    log_sync_seconds: float = 0.0
    disk_free_bytes: int = 0
    low_water_bytes: int = 0
    recovery_cut_bytes: int = 0
    recovery_damaged_bytes: int = 0
    recovery_lost_records: int = 0
    recovery_reason: str = ""
    clock_behind_seconds: float = 0.0
    durable_sequence: int = 0
    load_lag_records: int = 0
    load_lag_bytes: int = 0
    rejects: int = 0
    warehouse_failure: str = ""
    warehouse_age_seconds: float = 0.0
    warehouse_restarts: int = 0
    warehouse_last_end: str = ""

    @property
    def healthy(self) -> bool:
        """Whether the status is ok."""
        return not failures(self) and not concerns(self)


def failures(facts: Facts) -> list[str]:
    """Return why the collector does not do its work; empty when it does."""
    found: list[str] = []
    if facts.log_failure:
        found.append(f"nothing is accepted: {facts.log_failure}")
    if facts.log_limit_bytes and facts.log_bytes >= facts.log_limit_bytes:
        found.append(f"nothing is accepted: the log has reached its limit of {facts.log_limit_bytes:,} bytes")
    if facts.disk_free_bytes < facts.low_water_bytes:
        found.append(
            f"nothing is accepted: {facts.disk_free_bytes:,} bytes are free on the disk, "
            f"below the low-water mark of {facts.low_water_bytes:,}"
        )
    if facts.warehouse_failure:
        found.append(f"nothing is answered: {facts.warehouse_failure}")
    if facts.load_failure:
        found.append(f"loading stopped: {facts.load_failure}")
    if facts.engine_failure:
        found.append(f"the engine does not answer: {facts.engine_failure}")
    if facts.table_complaint:
        found.append(facts.table_complaint)
    elif facts.detached_parts:
        found.append(
            f"{facts.detached_parts:,} parts of tables are broken and detached: run `retrospan rebuild`"
        )
    return found


def concerns(facts: Facts) -> list[str]:
    """Return what a person should look at; empty when there is nothing."""
    found: list[str] = []
    if facts.evidence_complaint:
        found.append(f"the log may have been altered: {facts.evidence_complaint}")
    if facts.recovery_cut_bytes:
        found.append(f"{facts.recovery_cut_bytes:,} bytes were cut off the log's end at start")
    if facts.recovery_damaged_bytes:
        found.append(f"{facts.recovery_damaged_bytes:,} bytes of the log are damaged and skipped")
    if facts.recovery_lost_records:
        found.append(f"{facts.recovery_lost_records:,} records of the log are lost")
    if facts.log_sync_seconds > SYNC_SECONDS:
        found.append(
            f"the disk takes {facts.log_sync_seconds:.1f} s to confirm a write: each acknowledgement waits for that, and "
            "exporters give up after 10 s"
        )
    if facts.load_lag_seconds > LAG_SECONDS:
        found.append(
            f"loading is {facts.load_lag_seconds:.0f} s and {facts.load_lag_records:,} records behind"
        )
    if facts.interpretation_lag_seconds > LAG_SECONDS:
        found.append(
            f"interpretation is {facts.interpretation_lag_seconds:.0f} s and "
            f"{facts.interpretation_lag_traces:,} traces behind"
        )
    if facts.clock_behind_seconds > CLOCK_SECONDS:
        found.append(
            f"this machine's clock is {facts.clock_behind_seconds:,.0f} s behind the last arrival: it was set back, or was "
            "ahead for a while. Records go on arriving from there, and retention is refused"
        )
    if facts.warehouse_last_end:
        found.append(f"the warehouse was restarted: {facts.warehouse_last_end}")
    if facts.interpretation_failure:
        found.append(f"interpretation stopped, and is retried: {facts.interpretation_failure}")
    if facts.interpretation_broken:
        found.append(
            f"{facts.interpretation_broken:,} times since startup a run could not be interpreted: "
            "the view interpretation_problems says why"
        )
    if facts.access_complaint:
        found.append(f"access: {facts.access_complaint}")
    if facts.alerts_complaint:
        found.append(f"alerts: {facts.alerts_complaint}")
    if facts.quarantine:
        found.append(f"{facts.quarantine:,} records could not be loaded and are in quarantine")
    if facts.pending_migrations:
        found.append(f"{facts.pending_migrations:,} migrations are pending: run `retrospan migrate`")
    if facts.log_limit_bytes and facts.log_bytes > NEARLY_FULL * facts.log_limit_bytes:
        found.append(f"the log has {facts.log_bytes:,} of {facts.log_limit_bytes:,} bytes")
    return found


def report(facts: Facts) -> dict[str, object]:
    """Return the page: status, reasons, and the facts themselves."""
    failing, concerning = failures(facts), concerns(facts)
    status: Status = "failing" if failing else "degraded" if concerning else "ok"
    return {"status": status, "reasons": failing + concerning, **asdict(facts)}
