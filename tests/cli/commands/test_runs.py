from __future__ import annotations

import json

import pytest
from fix_cli import CUT_SHORT, HELD, Ask

from retrospan.ingest.cli.client.empty import nothing_yet

REFUND = "4bf92f3577b34da6a3ce929d0e0e4736"
TWIN = "4bf92f35aaaaaaaaa3ce929d0e0e4736"


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
        (
            {"durable_sequence": 9, "interpretation_lag_traces": 1},
            "No runs yet in host:1: 1 trace is still being interpreted",
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


def listed(ask: Ask, *words: str) -> set[str]:
    said = ask("runs", "--json", *words)
    assert said.code == 0, said.err
    return {json.loads(line)["run_id"] for line in said.lines}


def test_runs_by_what_they_did(ask: Ask) -> None:
    # What was cut short has no root, which says of what conversation and version it is.
    with_root = listed(ask) - {CUT_SHORT}
    assert listed(ask, "--conversation", "c-88") == with_root
    assert listed(ask, "--conversation", "c-89") == listed(ask, "--user", "nobody") == set()
    assert listed(ask, "--tool", "update_record") == {HELD}
    assert listed(ask, "--tool", "update_record", "--agent", "milo") == set()
    assert REFUND in listed(ask, "--version", "1.4.2") <= with_root and listed(ask, "--version", "9") == set()
    assert REFUND in listed(ask, "--text", "returned WITHIN 30 days")
    assert listed(ask, "--text", "no such words") == set()
    assert listed(ask, "--text", "within 30% days") == set()


def test_runs_by_cost(ask: Ask) -> None:
    rows = [json.loads(line) for line in ask("runs", "--json").lines]
    known = {row["run_id"]: row["cost"] for row in rows if row["cost"] is not None}
    assert (
        known and listed(ask, "--cost", "unknown") == {row["run_id"] for row in rows} - known.keys() != set()
    )
    assert listed(ask, "--cost", "0.000069") == {run for run, cost in known.items() if cost >= 0.000069}
    assert listed(ask, "--cost", ">0.000069") == {run for run, cost in known.items() if cost > 0.000069}
    assert listed(ask, "--cost", "< 0.000069") == {run for run, cost in known.items() if cost < 0.000069}
    assert REFUND in listed(ask, "--cost", "=0.000069")
    assert "0.000069 USD" in ask("runs").out
    for wrong in ("much", "-1", "1e3", "0.0000000000001", ">", "x>1"):
        said = ask("runs", "--cost", wrong) if wrong != "-1" else ask("runs", "--cost=-1")
        assert said.code == 2 and "is not an amount" in said.err


def test_runs_by_a_condition_in_sql(ask: Ask) -> None:
    assert listed(ask, "--where", "agent_name = 'milo' AND steps >= 1") == listed(ask, "--agent", "milo")
    assert listed(
        ask, "--where", "steps >= {least:UInt32}", "--param", "least=3", "--tool", "update_record"
    ) == {HELD}
    assert listed(ask, "--where", "run_id = {run:String}", "--param", "run=x' OR 1 = 1 --") == set()
    assert listed(
        ask, "--where", "run_id IN (SELECT run_id FROM tool_calls WHERE tool_name = 'update_record')"
    ) == {HELD}
    assert listed(ask, "--where", "agent_name = ';)--'") == set()
    assert ask("runs", "-n", "1", "--where", "1").err.startswith("1 of 8 runs, newest first")


@pytest.mark.parametrize(
    "where",
    [
        "1) UNION ALL SELECT name FROM system.tables WHERE (1",
        "1; DROP VIEW runs",
        "1 -- all",
        "1 /* all",
        "1 # all",
        "$$1$$ = 1",
        "'1",
        "(1",
        "1]",
        "  ",
        "run_id IN (SELECT name FROM system.users)",
        "run_id IN (SELECT * FROM url('http://127.0.0.1/', CSV, 'a String'))",
        "length(file('/etc/passwd')) > 0",
        "no_such_column = 1",
        "1 FORMAT CSV",
        "1 SETTINGS readonly = 0",
    ],
)
def test_a_condition_is_guarded_as_any_statement_and_ends_where_it_ends(ask: Ask, where: str) -> None:
    said = ask("runs", "--where", where)
    assert said.code == 2 and said.out == "" and said.err.startswith("error: "), said


@pytest.mark.parametrize("text", ["a>=b", ">=1", "a="])
def test_a_score_that_cannot_be_asked_for(ask: Ask, text: str) -> None:
    assert "not NAME" in ask("runs", "--score", text).err


def test_scores_are_shown_and_asked_for(ask: Ask) -> None:
    assert listed(ask, "--score", "relevance") == {TWIN}
    assert listed(ask, "--score", "relevance>=0.75") == {TWIN} == listed(ask, "--score", "verdict=pass")
    assert listed(ask, "--score", "relevance>0.75") == listed(ask, "--score", "verdict=fail") == set()
    assert listed(ask, "--score", "relevance=0.75") == {TWIN}
    said = ask("runs")
    assert "SCORE" in said.lines[0] and "relevance 0.75, verdict pass" in said.out


def test_filters_that_leave_nothing_are_named(ask: Ask) -> None:
    said = ask("runs", "--tool", "nothing", "--user", "u-1")
    assert "No runs with --user u-1 and --tool nothing among 8 runs." in said.err
    assert ask("runs", "--param", "a=1").code == 2
    printed = ask("runs", "--tool", "update_record", "--sql").out
    assert "tool_calls" in printed and ask("sql", printed).code == 0
