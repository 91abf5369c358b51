"""The collector's own numbers: one table, from which `/metrics`, OpenTelemetry metrics and the page are made.

Every number is a field of a record: `Facts`, or the counters of a part. A field of counters that is not in the table
is a number that nobody can see; a test refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge"]
#: The records by part: an object whose attributes are numbers.
Records = Mapping[str, object]
STATE = "state"


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table. Counters count from the start of the process. `unit` is of UCUM, as in OpenTelemetry."""

    part: str
    field: str
    kind: Kind
    unit: str
    meaning: str
    title: str = ""

    @property
    def name(self) -> str:
        """The name for Prometheus."""
        return f"retrospan_{self._stem('_')}{'_total' if self.kind == 'counter' else ''}"

    @property
    def otel_name(self) -> str:
        """The name in OpenTelemetry."""
        return f"retrospan.{self._stem('.')}"

    def value(self, records: Records) -> float:
        """Return the number now."""
        return float(getattr(records[self.part], self.field))

    def _stem(self, separator: str) -> str:
        named = self.title or self.field
        return named if self.part == STATE else f"{self.part}{separator}{named}"


def _state(field: str, unit: str, meaning: str, title: str = "") -> Metric:
    return Metric(STATE, field, "gauge", unit, meaning, title)


def _count(part: str, field: str, unit: str, meaning: str) -> Metric:
    return Metric(part, field, "counter", unit, meaning)


METRICS: tuple[Metric, ...] = (
    _state("healthy", "1", "1 if /health is ok, else 0"),
    _state("log_bytes", "By", "size of the write-ahead log with its archive"),
    _state("log_limit_bytes", "By", "size of the log at which nothing more is accepted"),
    _state("log_sync_seconds", "s", "how long the disk takes to confirm a write, in the last minute"),
    _state("disk_free_bytes", "By", "free disk space for the data"),
    _state("recovery_cut_bytes", "By", "bytes cut off the log's end at startup"),
    _state("recovery_damaged_bytes", "By", "damaged bytes of the log that were skipped"),
    _state("recovery_lost_records", "{record}", "lost records of the log"),
    _state("clock_behind_seconds", "s", "how far the clock is behind the last arrival"),
    _state("durable_sequence", "1", "last record on disk"),
    _state("loaded_sequence", "1", "last record in the warehouse"),
    _state("load_lag_records", "{record}", "records on disk that are not loaded"),
    _state("load_lag_bytes", "By", "approximate size of these records in the log"),
    _state("load_lag_seconds", "s", "time since a batch was loaded, while there is something to load"),
    _state("interpretation_lag_traces", "{trace}", "traces waiting to be interpreted"),
    _state("interpretation_lag_seconds", "s", "how long the longest waiting trace has waited"),
    _state("warehouse_restarts", "1", "restarts of the process of the warehouse"),
    _state("warehouse_age_seconds", "s", "age of the warehouse's numbers"),
    _state("stored_spans", "{span}", "spans in the warehouse when last counted, without duplicates"),
    _state("stored_log_records", "{log_record}", "log records in the warehouse, likewise"),
    _state(
        "quarantine", "{record}", "records that cannot be loaded and were set aside", "quarantined_records"
    ),
    _state("detached_parts", "{part}", "broken parts of tables"),
    _state("missing_rows", "{row}", "loaded rows that are missing"),
    _count("intake", "requests", "{request}", "export requests, refused ones included"),
    _count(
        "intake",
        "requests_refused",
        "{request}",
        "requests whose sender was told to retry, or that were too large",
    ),
    _count("intake", "requests_undecodable", "{request}", "requests that cannot be parsed"),
    _count("intake", "requests_crowded", "{request}", "of these, requests with too many elements"),
    _count(
        "intake", "requests_waited", "{request}", "requests that waited for memory (limits.requests_bytes)"
    ),
    _count(
        "intake", "requests_over_budget", "{request}", "requests refused because they got no memory in time"
    ),
    Metric(
        "intake",
        "bytes_held",
        "gauge",
        "By",
        "memory that incoming requests hold, out of limits.requests_bytes",
    ),
    _count("intake", "bytes_received", "By", "bytes of request bodies, decompressed"),
    _count("intake", "spans_received", "{span}", "spans sent: acknowledged + rejected + refused"),
    _count(
        "intake", "spans_acknowledged", "{span}", "spans that were on disk when their sender was answered"
    ),
    _count("intake", "spans_rejected", "{span}", "spans that cannot be stored; the view rejects says why"),
    _count("intake", "spans_refused", "{span}", "spans of refused requests"),
    _count("intake", "spans_redacted", "{span}", "spans from which a secret was removed"),
    _count(
        "intake",
        "spans_withheld",
        "{span}",
        "spans stored without their payload, because it could not be searched",
    ),
    _count(
        "intake",
        "log_records_received",
        "{log_record}",
        "log records sent: acknowledged + rejected + refused",
    ),
    _count(
        "intake",
        "log_records_acknowledged",
        "{log_record}",
        "log records that were on disk when their sender was answered",
    ),
    _count("intake", "log_records_rejected", "{log_record}", "log records that cannot be stored"),
    _count("intake", "log_records_refused", "{log_record}", "log records of refused requests"),
    _count("intake", "log_records_redacted", "{log_record}", "log records from which a secret was removed"),
    _count("intake", "log_records_withheld", "{log_record}", "log records stored without their payload"),
    _count("intake", "values_redacted", "{value}", "values that were removed"),
    _count("loader", "batches", "{batch}", "inserts into the warehouse"),
    _count("loader", "records", "{record}", "inserted records of the log"),
    _count("loader", "items", "{item}", "spans and log records in them"),
    _count("loader", "bytes", "By", "bytes of these records"),
    _count(
        "loader",
        "duplicates",
        "{item}",
        "of these, items without a new row when last counted: already stored, or in quarantine",
    ),
    _count("loader", "repeated", "{batch}", "inserts repeated after a crash or failure"),
    _count("loader", "refused", "{batch}", "inserts that the engine refused, and that were split"),
    _count("loader", "failures", "{failure}", "failed attempts to load, which are repeated"),
    _count("loader", "seconds", "s", "time spent inserting"),
    Metric(
        "share",
        "parts",
        "gauge",
        "1",
        "with `--role interpret`: how many of the 32 parts of the runs it owns",
    ),
    Metric("share", "lag_traces", "gauge", "{trace}", "with `--role interpret`: traces to interpret"),
    Metric("share", "lag_seconds", "gauge", "s", "with `--role interpret`: waiting time of the oldest"),
    _count("interpreter", "runs", "{run}", "interpretations of runs"),
    _count("interpreter", "spans", "{span}", "spans read for them"),
    _count(
        "interpreter",
        "known_spans",
        "{span}",
        "of these, spans that had not changed since their run was read before",
    ),
    _count(
        "interpreter",
        "broken",
        "{run}",
        "runs that could not be interpreted; interpretation_problems says why",
    ),
    _count(
        "interpreter",
        "set_aside",
        "{run}",
        "runs set aside because not even that could be written; the collector's log says why",
    ),
    _count("interpreter", "long_runs", "{run}", "long runs that were interpreted separately"),
    _count("interpreter", "failures", "{failure}", "failed attempts to interpret, which are repeated"),
    _count("interpreter", "seconds", "s", "time spent interpreting"),
    _count("access", "unauthenticated", "{request}", "requests without a valid token"),
    _count("access", "forbidden", "{request}", "requests with a token without the right"),
    _count("access", "over_quota", "{request}", "requests over the quota of their tenant"),
    _count("sql", "queries", "{query}", "queries answered"),
    _count("sql", "refused", "{query}", "queries that the guard refused"),
    _count("sql", "failed", "{query}", "queries that failed in the engine"),
    _count("sql", "timed_out", "{query}", "of these, queries that reached the time limit"),
    _count("sql", "turned_away", "{query}", "queries refused because too many were running"),
    _count(
        "sql",
        "stopped",
        "{query}",
        "queries stopped before their end: over the time limit, not read, or without a client",
    ),
    _count("sql", "hung_up", "{query}", "of these, queries whose client disconnected"),
    _count("sql", "stuck", "{query}", "of these, queries that still ran five seconds later"),
    _count("sql", "seconds", "s", "time spent answering"),
    _count("sql", "result_bytes", "By", "size of the answers"),
    _count("alerts", "evaluations", "{evaluation}", "evaluations of alert rules"),
    _count("alerts", "failures", "{failure}", "of these, evaluations that failed"),
    _count("alerts", "seconds", "s", "time spent evaluating"),
    _count("alerts", "decisions", "{alert}", "alerts that were to be told"),
    _count("alerts", "attempts", "{attempt}", "attempts to tell a target"),
    _count("alerts", "refusals", "{attempt}", "of these, attempts that failed and are repeated"),
    _count("alerts", "sent", "{alert}", "alerts that a target was told of"),
    _count("alerts", "given_up", "{alert}", "alerts that a target could not be told of"),
    Metric("alerts", "pending", "gauge", "{alert}", "alerts that a target is still to be told of"),
)


def rendered(records: Records, table: Sequence[Metric] = METRICS) -> str:
    """Return the page of `/metrics`, in the text format that Prometheus reads: the numbers of the parts there are."""
    lines: list[str] = []
    for metric in (metric for metric in table if metric.part in records):
        value = metric.value(records)
        lines.append(f"# HELP {metric.name} {_escaped(metric.meaning)}")
        lines.append(f"# TYPE {metric.name} {metric.kind}")
        lines.append(f"{metric.name} {int(value) if value.is_integer() else value}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
