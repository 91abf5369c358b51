"""What a batch asks of the warehouse by indexes first is what FINAL alone would answer, whatever was written over."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrospan.ingest.interpret.sql import load
from retrospan.ingest.warehouse.embedded import EmbeddedStore

FEW = ["", "a", "b", "c"]
IDS = ["t1", "t2", "t3", "t4"]
SOME = st.lists(st.sampled_from(FEW[1:]), max_size=2, unique=True)
TRACE = st.fixed_dictionaries(
    {
        "trace_id": st.sampled_from(IDS),
        "generation": st.integers(1, 4),
        "joins": st.sampled_from(["", *IDS]),
        "claims": SOME,
        "goes_on_from": st.sampled_from(FEW),
        "ends_with": st.sampled_from(FEW),
        "answers": SOME,
        "retold": SOME,
    }
)
RUN = st.fixed_dictionaries(
    {
        "run_id": st.sampled_from(IDS),
        "generation": st.integers(1, 4),
        "trace_ids": st.lists(st.sampled_from(IDS), max_size=2, unique=True),
        "conversation_id": st.sampled_from(["a", "b"]),
        "deleted": st.booleans(),
        "history_run_id": st.sampled_from([None, "t1"]),
        "final_history_hash": st.sampled_from(FEW),
    }
)
#: What each statement would be without indexes.
PLAIN = {
    "traces_known": "SELECT trace_id, run_ids, joins, claims FROM canon_traces FINAL WHERE trace_id IN {trace_ids:Array(String)}",
    "traces_with_histories": "SELECT trace_id, run_ids, goes_on_from, ends_with FROM canon_traces FINAL "
    "WHERE goes_on_from IN {begun:Array(String)} UNION ALL SELECT trace_id, run_ids, goes_on_from, ends_with "
    "FROM canon_traces FINAL WHERE ends_with IN {ended:Array(String)}",
    "traces_retelling": "SELECT trace_id, run_ids, arraySort(arrayDistinct(arrayConcat("
    "arrayIntersect(retold, {answers:Array(String)}), arrayIntersect(answers, {retold:Array(String)})))) "
    "FROM canon_traces FINAL "
    "WHERE hasAny(retold, {answers:Array(String)}) OR hasAny(answers, {retold:Array(String)})",
    "traces_with_runs": "SELECT trace_id, through FROM canon_traces FINAL WHERE trace_id IN {trace_ids:Array(String)} "
    "OR trace_id IN (SELECT arrayJoin(trace_ids) FROM canon_runs FINAL WHERE run_id IN {run_ids:Array(String)})",
    "histories_of": "SELECT run_id, generation, final_history_hash FROM canon_runs FINAL WHERE run_id IN {run_ids:Array(String)}",
    "runs_leaning": "SELECT run_id, trace_ids, conversation_id, toUnixTimestamp64Nano(started_at) FROM canon_runs FINAL "
    "WHERE conversation_id IN {conversations:Array(String)} AND NOT deleted AND history_run_id IS NOT NULL",
    "previous_run": "SELECT run_id, toUnixTimestamp64Nano(started_at), generation, final_history FROM canon_runs FINAL "
    "WHERE conversation_id = {conversation:String} AND run_id != {run_id:String} AND NOT deleted "
    "ORDER BY started_at DESC, run_id DESC LIMIT 1",
}
OVERTAKEN = (
    "SELECT count() > 0 FROM canon_traces FINAL WHERE (trace_id IN {trace_ids:Array(String)} AND generation > {generation:UInt64}) "
    "OR (trace_id NOT IN {trace_ids:Array(String)} AND (joins IN {trace_ids:Array(String)} OR hasAny(claims, {run_ids:Array(String)})))"
)
BELONGING = (
    "SELECT trace_id, joins, claims FROM canon_traces FINAL WHERE trace_id NOT IN {trace_ids:Array(String)} AND "
    "(joins IN {trace_ids:Array(String)} OR hasAny(claims, arrayConcat({trace_ids:Array(String)}, {claims:Array(String)})) "
    "OR trace_id IN {claims:Array(String)})"
)
ASKED: dict[str, Any] = {
    "tenant": "default",
    "trace_ids": ["t1", "t2"],
    "run_ids": ["t1", "t3", "a"],
    "claims": ["t3", "a"],
    "begun": ["a", "b"],
    "ended": ["b", "c"],
    "answers": ["a"],
    "retold": ["b"],
    "most": 51,
    "generation": 2,
    "conversations": ["a"],
    "conversation": "a",
    "run_id": "t1",
    "kept_only": 0,
    "before": 4_000_000_000_000_000_000,
}


def written(store: EmbeddedStore, table: str, key: str, rows: list[dict[str, Any]]) -> None:
    """Write rows one by one, as later readings do, each row of one key and generation once."""
    store.command(f"TRUNCATE TABLE {table}")
    once = {(row[key], row["generation"]): row for row in rows}
    for place, row in enumerate(once.values()):
        told = {"tenant": "default", **row}
        if table == "canon_traces":
            told = {"run_ids": [f"run {place}"], **told, "through": [place], "through_sequence": place}
        else:
            told = {"started_at": f"2026-01-0{row['generation']} 00:00:0{place % 10}", **told}
        values = ", ".join("NULL" if value is None else _literal(value) for value in told.values())
        store.command(f"INSERT INTO {table} ({', '.join(told)}) VALUES ({values})")


def _literal(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else repr(value)


@pytest.mark.long
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(traces=st.lists(TRACE, max_size=8), runs=st.lists(RUN, max_size=8))
def test_indexes_first_answers_as_final_alone_does(
    store: EmbeddedStore, traces: list[dict[str, Any]], runs: list[dict[str, Any]]
) -> None:
    written(store, "canon_traces", "trace_id", traces)
    written(store, "canon_runs", "run_id", runs)
    for name, plain in PLAIN.items():
        found, wanted = store.rows(load(name), ASKED), store.rows(plain, ASKED)
        assert sorted(map(repr, found)) == sorted(map(repr, wanted)), name
    # Rows that were written over may be among them as well.
    found = store.rows(load("traces_belonging"), ASKED)
    assert all(row in found for row in store.rows(BELONGING, ASKED))
    assert {str(row[0]) for row in found}.isdisjoint(ASKED["trace_ids"])
    assert bool(store.rows(load("traces_overtaken"), ASKED)) == bool(store.rows(OVERTAKEN, ASKED)[0][0])


#: Traces and runs as readings leave them, and runs of the same names.
UNSETTLED_TRACE = st.builds(lambda row, runs: {**row, "run_ids": runs}, TRACE, SOME)
UNSETTLED_RUN = st.builds(
    lambda row, run_id, second: {**row, "run_id": run_id, "started_at": f"2026-01-01 00:00:0{second}"},
    RUN,
    st.sampled_from(FEW[1:]),
    st.integers(0, 3),
)


def newest_of(rows: list[dict[str, Any]], key: str) -> dict[str, dict[str, Any]]:
    """Return the row of each key that counts."""
    return {row[key]: row for row in sorted(rows, key=lambda row: row["generation"])}


@pytest.mark.long
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    traces=st.lists(UNSETTLED_TRACE, max_size=8, unique_by=lambda row: (row["trace_id"], row["generation"])),
    runs=st.lists(UNSETTLED_RUN, max_size=8, unique_by=lambda row: (row["run_id"], row["generation"])),
    within=st.integers(1, 5),
)
def test_what_was_cut_short_lately_is_found(
    store: EmbeddedStore, traces: list[dict[str, Any]], runs: list[dict[str, Any]], within: int
) -> None:
    written(store, "canon_traces", "trace_id", traces)
    written(store, "canon_runs", "run_id", runs)
    of_traces, of_runs = newest_of(traces, "trace_id"), newest_of(runs, "run_id")
    since_traces, since_runs = (
        max((row["generation"] for row in rows), default=0) - within for rows in (traces, runs)
    )
    expected = {
        trace_id
        for trace_id, row in of_traces.items()
        if row["generation"] > since_traces
        and any(
            run_id not in of_runs or of_runs[run_id]["generation"] < row["generation"]
            for run_id in row["run_ids"]
        )
    }
    lately = {run["conversation_id"] for run in runs if run["generation"] > since_runs}
    there = [run for run in of_runs.values() if not run["deleted"] and run["conversation_id"] in lately]
    for run in there:
        place = run["started_at"], run["run_id"]
        if run["history_run_id"] is not None and any(
            other["generation"] > run["generation"]
            for other in there
            if other["conversation_id"] == run["conversation_id"]
            and (other["started_at"], other["run_id"]) < place
        ):
            expected |= {*run["trace_ids"]} & of_traces.keys()
    found = store.rows(load("traces_unsettled"), {"within": within})
    assert [row[1] for row in found] == sorted(expected)
