"""The table of metrics: complete, in the format that Prometheus reads, and the one that the page shows."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import pytest
from docs.metrics_table import shown, table

from retrospan.ingest.access.gate import AccessCounters
from retrospan.ingest.interpret.service.result_writer import InterpretationCounters as InterpreterCounters
from retrospan.ingest.interpreter_process import ShareOfRuns
from retrospan.ingest.load.counters import LoaderCounters
from retrospan.ingest.receive.intake import IntakeCounters
from retrospan.ingest.status.counting import AlertCounters, QueryCounters
from retrospan.ingest.status.health import Facts
from retrospan.ingest.status.metrics import METRICS, STATE, Metric, rendered

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

COUNTERS: dict[str, DataclassInstance] = {
    "intake": IntakeCounters(),
    "loader": LoaderCounters(),
    "interpreter": InterpreterCounters(),
    "access": AccessCounters(),
    "sql": QueryCounters(),
    "alerts": AlertCounters(),
    "share": ShareOfRuns(0, 0, 0.0),
}
RECORDS: dict[str, object] = {STATE: Facts(), **COUNTERS}
UNITS = {
    "1", "By", "s", "{record}", "{trace}", "{span}", "{log_record}", "{part}", "{row}", "{request}", "{value}",
    "{batch}", "{item}", "{failure}", "{run}", "{query}", "{evaluation}", "{attempt}", "{alert}",
}  # fmt: skip


@pytest.mark.parametrize("part", COUNTERS)
def test_every_counter_there_is_can_be_seen(part: str) -> None:
    listed = [metric.field for metric in METRICS if metric.part == part]
    assert sorted(listed) == sorted(field.name for field in fields(COUNTERS[part]))


def test_every_row_names_a_number_and_no_name_comes_twice() -> None:
    for metric in METRICS:
        assert metric.value(RECORDS) >= 0
        assert metric.unit in UNITS, metric
        assert re.fullmatch(r"retrospan_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert len({metric.otel_name for metric in METRICS}) == len(METRICS)


def test_names_that_people_use_stay() -> None:
    names = {metric.name for metric in METRICS}
    assert {
        "retrospan_intake_spans_received_total",
        "retrospan_intake_spans_redacted_total",
        "retrospan_access_over_quota_total",
        "retrospan_loader_duplicates_total",
        "retrospan_load_lag_bytes",
        "retrospan_quarantined_records",
        "retrospan_detached_parts",
        "retrospan_healthy",
    } <= names


def test_the_page_for_prometheus() -> None:
    metrics = (
        Metric("intake", "requests", "counter", "{request}", "requests,\nall \\ of them"),
        Metric(STATE, "load_lag_seconds", "gauge", "s", "lag"),
    )
    records = {"intake": IntakeCounters(requests=3), STATE: replace(Facts(), load_lag_seconds=0.5)}
    assert rendered(records, metrics).splitlines() == [
        "# HELP retrospan_intake_requests_total requests,\\nall \\\\ of them",
        "# TYPE retrospan_intake_requests_total counter",
        "retrospan_intake_requests_total 3",
        "# HELP retrospan_load_lag_seconds lag",
        "# TYPE retrospan_load_lag_seconds gauge",
        "retrospan_load_lag_seconds 0.5",
    ]


def test_the_page_of_operations_shows_the_table() -> None:
    assert shown() == table(), "run: python tests/docs/metrics_table.py"
