"""Statements over a window of time, which the port reads by the traces of that time: the same rows, whatever the window."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from story import START
from views.test_spans_again import _DAY, _insert, _row

from retrospan.ingest.answer.rewriting.narrowing import narrowed
from retrospan.ingest.warehouse.embedded import EmbeddedStore

_DAYS = 4
_TIMES = [START + day * _DAY + shift for day in range(-1, _DAYS + 1) for shift in (-1, 0, 1)]
_bounds = st.tuples(
    st.sampled_from(["ingested_at", "started_at"]), st.sampled_from(["", "="]), st.sampled_from(_TIMES)
)


@pytest.fixture(scope="module")
def told(module_views: EmbeddedStore) -> EmbeddedStore:
    """Traces over days; of some a span came again on another day, with another start."""
    for number, trace in enumerate("abcdef"):
        day = number % _DAYS
        _insert(
            module_views,
            *(
                _row(trace, span, number, 2 * number, day, started_ns=START + (number - place) * _DAY)
                for place, span in enumerate("123")
            ),
        )
        if number % 2:
            again = _row(trace, "1", 100 + number, 2 * number + 1, _DAYS - day, started_ns=START - _DAY)
            _insert(module_views, again)
    _note_interpreted(module_views)
    return module_views


def _note_interpreted(store: EmbeddedStore) -> None:
    traces: list[dict[str, Any]] = [{"trace_id": trace * 32} for trace in "abcde"]
    spans = [
        {**trace, "span_id": span * 16, "run_id": f"run {trace['trace_id'][0]}", "dialect": "genai"}
        for trace in traces
        for span in "12"
    ]
    for table, rows in (("canon_traces", traces), ("canon_spans", spans)):
        whole = ({"tenant": "default", "generation": 1, **row} for row in rows)
        store.insert(f"INSERT INTO {table}", "\n".join(map(json.dumps, whole)).encode(), "JSONEachRow")


def _time(nanoseconds: int) -> str:
    return f"fromUnixTimestamp64Nano({nanoseconds})"


@pytest.mark.long
@settings(deadline=None)
@given(begin=_bounds, end=_bounds, negated=st.booleans(), word=st.sampled_from(["AND", "OR"]))
def test_every_window_has_its_rows(
    told: EmbeddedStore, begin: tuple[str, str, int], end: tuple[str, str, int], negated: bool, word: str
) -> None:
    column, equal, since = begin
    until_column, until_equal, until = end
    asked = (
        f"SELECT trace_id, span_id, run_id, dialect, variants FROM spans WHERE {'NOT ' if negated else ''}"
        f"{column} >{equal} {_time(since)} {word} {until_column} <{until_equal} {_time(until)} ORDER BY ALL"
    )
    written = narrowed(asked)
    assert "raw_spans" in written
    assert told.rows(written) == told.rows(asked)


def test_windows_are_not_all_empty_nor_all_whole(told: EmbeddedStore) -> None:
    of_run = "SELECT countIf(run_id != ''), count() FROM spans WHERE ingested_at > "
    counts = {str(told.rows(narrowed(f"{of_run}{_time(at)}"))[0]) for at in _TIMES}
    assert len(counts) > 4 and "[10, 18]" in counts and "[0, 0]" in counts


def test_a_window_without_an_end_that_depends_on_the_clock_reaches_an_hour_further_for_its_traces() -> None:
    written = narrowed(
        "SELECT run_id FROM spans WHERE ingested_at > now() - INTERVAL 1 DAY AND ingested_at < now()"
    )
    assert written == (
        "SELECT run_id FROM spans WHERE (ingested_at > now() - INTERVAL 1 DAY AND trace_id IN (SELECT trace_id FROM "
        "retrospan.raw_spans WHERE arrived_at > now() - INTERVAL 1 DAY - INTERVAL 1 HOUR)) AND ingested_at < now()"
    )


def test_begin_and_end_are_one_condition() -> None:
    written = narrowed(
        "SELECT dialect FROM spans WHERE name = 'x' AND ingested_at >= {since:DateTime64(9, 'UTC')} AND "
        "ingested_at <= fromUnixTimestamp64Milli(456) GROUP BY dialect"
    )
    assert written == (
        "SELECT dialect FROM spans WHERE name = 'x' AND (ingested_at >= {since:DateTime64(9, 'UTC')} AND "
        "ingested_at <= fromUnixTimestamp64Milli(456) AND trace_id IN (SELECT trace_id FROM retrospan.raw_spans "
        "WHERE arrived_at >= {since:DateTime64(9, 'UTC')} AND arrived_at <= fromUnixTimestamp64Milli(456))) "
        "GROUP BY dialect"
    )


@pytest.mark.parametrize(
    "condition",
    [
        "ingested_at > ended_at",
        "ingested_at > toDateTime(name)",
        "ingested_at > toDateTime",
        "ingested_at > day",
        "ingested_at > 1 day",
        "ingested_at > (SELECT max(ingested_at) FROM spans)",
        "ingested_at >",
        "ingested_at > (",
        "ingested_at > {x",
        "ingested_at < '2026-01-01'",
        "ingested_at = '2026-01-01'",
        "if(ingested_at > '2026-01-01', 1, 0)",
        "spans.ingested_at > '2026-01-01'",
        "ingested_at > '2026-01-01' + duration_ms",
        "ingested_at > '2026-01-01' AND trace_id = 'x'",
        "ingested_at > '2026-01-01' AND span_id IN ('x')",
        "ingested_at > '2026-01-01' AND (trace_id, name) IN (('x', 'y'))",
        "ingested_at > '2026-01-01' AND (SELECT 1)",
        "ingested_at BETWEEN '2026-01-01' AND '2026-01-02'",
    ],
)
def test_what_rows_may_decide_or_keys_find_sooner_is_left(condition: str) -> None:
    asked = f"SELECT dialect FROM spans WHERE {condition}"
    assert narrowed(asked) == asked


def test_without_what_interpretation_gave_there_is_nothing_to_spare() -> None:
    written = narrowed("SELECT name FROM spans WHERE ingested_at > '2026-01-01'")
    assert written == "SELECT name FROM spans_as_sent AS spans WHERE ingested_at > '2026-01-01'"
