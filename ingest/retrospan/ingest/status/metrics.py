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
    _state("healthy", "1", "1 when /health says ok, else 0"),
    _state("log_bytes", "By", "size of the write-ahead log with its archive"),
    _state("log_limit_bytes", "By", "size of the log at which nothing more is accepted"),
    _state("disk_free_bytes", "By", "free space where the data lies"),
    _state("recovery_cut_bytes", "By", "bytes cut off the log's end at the start"),
    _state("recovery_damaged_bytes", "By", "bytes of the log that are damaged and skipped"),
    _state("recovery_lost_records", "{record}", "records of the log that are lost"),
    _state("durable_sequence", "1", "last record of the log that is on disk"),
    _state("loaded_sequence", "1", "last record that is in the warehouse"),
    _state("load_lag_records", "{record}", "records that are on disk and not loaded"),
    _state("load_lag_bytes", "By", "about how many bytes of the log these records take"),
    _state(
        "load_lag_seconds", "s", "how long there has been something to load without a batch getting through"
    ),
    _state("interpretation_lag_traces", "{trace}", "traces that wait to be interpreted"),
    _state("interpretation_lag_seconds", "s", "how long the longest waiting trace has waited"),
    _state("warehouse_restarts", "1", "times that the process of the warehouse was started again"),
    _state("warehouse_age_seconds", "s", "how old the numbers of the warehouse are"),
    _state("stored_spans", "{span}", "spans in the warehouse, each content once, when last counted"),
    _state("stored_log_records", "{log_record}", "log records in the warehouse, likewise"),
    _state(
        "quarantine", "{record}", "records that cannot be loaded and are left aside", "quarantined_records"
    ),
    _state("detached_parts", "{part}", "broken parts of tables"),
    _state("missing_rows", "{row}", "rows that were loaded and are gone"),
    _count("intake", "requests", "{request}", "export requests, refused ones included"),
    _count("intake", "requests_refused", "{request}", "requests told to come back, or too large"),
    _count("intake", "requests_undecodable", "{request}", "requests that cannot be read at all"),
    _count("intake", "requests_crowded", "{request}", "of these, those with more elements than one may have"),
    _count(
        "intake", "requests_waited", "{request}", "requests that waited for their share of requests_bytes"
    ),
    _count(
        "intake", "requests_over_budget", "{request}", "requests told to come back for want of that share"
    ),
    Metric(
        "intake", "bytes_held", "gauge", "By", "what requests on their way in hold of limits.requests_bytes"
    ),
    _count("intake", "bytes_received", "By", "bytes of request bodies, decompressed"),
    _count("intake", "spans_received", "{span}", "spans sent: acknowledged + rejected + refused"),
    _count("intake", "spans_acknowledged", "{span}", "spans on disk when their sender was answered"),
    _count("intake", "spans_rejected", "{span}", "spans that cannot be kept; the view rejects says why"),
    _count("intake", "spans_refused", "{span}", "spans of requests that were told to come back"),
    _count("intake", "spans_redacted", "{span}", "spans from which a secret was taken"),
    _count(
        "intake", "spans_withheld", "{span}", "spans kept without their payload, which could not be searched"
    ),
    _count(
        "intake",
        "log_records_received",
        "{log_record}",
        "log records sent: acknowledged + rejected + refused",
    ),
    _count("intake", "log_records_acknowledged", "{log_record}", "log records on disk when answered"),
    _count("intake", "log_records_rejected", "{log_record}", "log records that cannot be kept"),
    _count("intake", "log_records_refused", "{log_record}", "log records of requests told to come back"),
    _count("intake", "log_records_redacted", "{log_record}", "log records from which a secret was taken"),
    _count("intake", "log_records_withheld", "{log_record}", "log records kept without their payload"),
    _count("intake", "values_redacted", "{value}", "values that were taken out"),
    _count("loader", "batches", "{batch}", "inserts into the warehouse"),
    _count("loader", "records", "{record}", "records of the log that were inserted"),
    _count("loader", "items", "{item}", "spans and log records in them"),
    _count("loader", "bytes", "By", "bytes of these records"),
    _count(
        "loader",
        "duplicates",
        "{item}",
        "of these, those that made no new row when last counted: stored already, or in quarantine",
    ),
    _count("loader", "repeated", "{batch}", "inserts tried again after a crash or failure"),
    _count("loader", "refused", "{batch}", "inserts that the engine refused and that were taken apart"),
    _count("loader", "failures", "{failure}", "times that nothing could be loaded, and was tried again"),
    _count("loader", "seconds", "s", "time spent inserting"),
    Metric(
        "share", "parts", "gauge", "1", "with `--role interpret`: parts of the runs, of 32, that are its own"
    ),
    Metric("share", "lag_traces", "gauge", "{trace}", "with `--role interpret`: traces to interpret"),
    Metric("share", "lag_seconds", "gauge", "s", "with `--role interpret`: time the longest has waited"),
    _count("interpreter", "runs", "{run}", "runs interpreted, each time they are"),
    _count("interpreter", "spans", "{span}", "spans read for that"),
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
        "runs of which not even that could be written; the collector's log says why",
    ),
    _count("interpreter", "long_runs", "{run}", "runs that were set aside to be read by themselves"),
    _count("interpreter", "failures", "{failure}", "times that interpretation was tried again"),
    _count("interpreter", "seconds", "s", "time spent interpreting"),
    _count("access", "unauthenticated", "{request}", "requests without a token in force"),
    _count("access", "forbidden", "{request}", "requests with a token that may not do this"),
    _count("access", "over_quota", "{request}", "requests over the quota of their tenant"),
    _count("sql", "queries", "{query}", "queries answered"),
    _count("sql", "refused", "{query}", "queries that the guard refused"),
    _count("sql", "failed", "{query}", "queries that the engine ended with an error"),
    _count("sql", "timed_out", "{query}", "failed ones that reached the limit of time"),
    _count("sql", "turned_away", "{query}", "queries for which there was no place"),
    _count(
        "sql", "stopped", "{query}", "queries stopped before their end: overrun, unread, or without a client"
    ),
    _count("sql", "hung_up", "{query}", "of these, those whose client went away"),
    _count("sql", "stuck", "{query}", "of these, those that still ran five seconds later"),
    _count("sql", "seconds", "s", "time spent answering"),
    _count("sql", "result_bytes", "By", "bytes of answers"),
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
