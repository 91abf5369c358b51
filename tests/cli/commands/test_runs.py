from __future__ import annotations

import json

import pytest
from fix_cli import Ask

from retrospan.ingest.cli.client.empty import nothing_yet

REFUND = "4bf92f3577b34da6a3ce929d0e0e4736"


def test_runs_come_newest_first_with_ids_that_tell_them_apart(ask: Ask) -> None:
    said = ask("runs")
    assert said.code == 0
    heading, *rows = said.lines
    assert heading.split()[:4] == ["RUN", "STARTED", "AGENT", "OUTCOME"]
    ids = [row.split()[0] for row in rows]
    assert ids[0] == "4bf92f357" and "4bf92f35a" in ids and ids[-1] == "batch/12"
    assert len(ids) == len(set(ids)) == 8
    assert "8 runs, newest first; times UTC" in said.err


def test_runs_in_a_pipe_are_never_cut(ask: Ask) -> None:
    widths = {len(row) for row in ask("runs").lines}
    assert max(widths) > 160
    assert "…" not in ask("runs").out


def test_runs_name_loops(ask: Ask) -> None:
    said = ask("runs")
    assert next(row for row in said.lines if "ok ⟳4" in row).startswith("91c0d7e2a")
    assert "retrospan loops" in said.err


def test_runs_as_json_have_the_columns_of_the_view(ask: Ask) -> None:
    said = ask("runs", "-n", "2", "--json")
    rows = [json.loads(line) for line in said.lines]
    assert next(row["run_id"] for row in rows) == REFUND
    assert rows[0]["started_at"] == "2026-09-21T14:00:09.000000000Z"
    assert rows[0]["steps"] == 3 and rows[0]["trace_ids"] == [REFUND] and rows[0]["flagged"] is False
    assert rows[0]["parent_run_id"] is None
    assert said.err == ""


def test_a_limit_says_how_many_there_are(ask: Ask) -> None:
    said = ask("runs", "-n", "2")
    assert len(said.lines) == 3
    assert "2 of 8 runs" in said.err and "-n 8" in said.err


def test_runs_by_outcome_agent_and_time(ask: Ask) -> None:
    assert [row.split()[0] for row in ask("runs", "--outcome", "incomplete").lines[1:]] == ["d2209b6c"]
    assert len(ask("runs", "--agent", "milo").lines) == 2
    assert len(ask("runs", "--since", "2026-09-21T14:00:05Z").lines) == 3


def test_an_empty_list_says_why_and_exits_0(ask: Ask) -> None:
    said = ask("runs", "--agent", "orl")
    assert (said.code, said.out) == (0, "")
    assert said.err == "No runs with agent orl among 8 runs. Did you mean --agent orla?\n"
    said = ask("runs", "--since", "2h ago")
    assert said.code == 0 and "The newest started 2026-09-21 14:00:09" in said.err
    assert ask("runs", "--agent", "orl", "--json").out == ""
    assert ask("runs", "--agent", "orl", "--exit-code").code == 1
    assert ask("runs", "--exit-code").code == 0


def test_nothing_stored_says_where_to_send(ask_empty: Ask) -> None:
    for words in (["runs"], ["loops"]):
        said = ask_empty(*words)
        assert said.code == 0 and said.out == ""
        assert "No runs yet" in said.err and "retrospan demo" in said.err
    said = ask_empty("show", "last")
    assert said.code == 2 and "has no runs yet" in said.err
    assert ask_empty("runs", "--json").out == ""


def test_loops_are_listed_with_steps_and_results(ask: Ask) -> None:
    said = ask("loops")
    assert said.lines[1].split() == [
        "91c0d7e2", "orla", "search_docs", '{"query":"zeta-9', 'warranty"}', "4", "2-8", "same", "each", "time",
    ]  # fmt: skip
    assert "1 loop; at least 3 equal calls (--min)" in said.err
    row = json.loads(ask("loops", "--json").out)
    assert (
        row["arguments"] == {"query": "zeta-9 warranty"}
        and row["same_result"] is True
        and row["repeats"] == 4
    )
    assert ask("loops", "--exit-code").code == 1


def test_no_loops_names_the_threshold(ask: Ask) -> None:
    said = ask("loops", "--min", "5", "--exit-code")
    assert (said.code, said.out) == (0, "")
    assert said.err.startswith("No loops in 8 runs. Threshold: 5 equal calls")
    assert "No loops in run 4bf92f35." in ask("loops", "--run", REFUND).err


def test_sql_of_a_question_can_be_run_as_it_is_printed(ask: Ask) -> None:
    printed = ask("runs", "--since", "2026-09-21T14:00:05Z", "--sql")
    assert printed.code == 0 and "{" not in printed.out
    again = ask("sql", printed.out, "--json")
    assert next(json.loads(line)["run_id"] for line in again.lines) == REFUND
    assert len(again.lines) == 2


@pytest.mark.parametrize(
    ("health", "said"),
    [
        ({}, "No runs yet in host:1. Send OTLP"),
        ({"durable_sequence": 0}, "No runs yet in host:1: nothing was received. Send OTLP"),
        (
            {"durable_sequence": 9, "load_lag_records": 1, "interpretation_lag_traces": 2},
            "No runs yet in host:1: 1 request and 2 traces are still being interpreted",
        ),
        ({"durable_sequence": 1204}, "1,204 requests arrived, but no trace with a model or tool call."),
        (
            {"durable_sequence": 9, "rejects": 9},
            "9 requests arrived, 9 requests could not be read (view rejects)",
        ),
    ],
)
def test_why_there_is_no_run(health: dict[str, object], said: str) -> None:
    assert said in nothing_yet("host:1", health)
