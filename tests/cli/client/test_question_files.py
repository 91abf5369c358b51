"""The question files: their form, and that each runs over the views."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from retrospan.ingest.cli.client.collector_client import CollectorClient, Parameter
from retrospan.ingest.cli.client.questions import folder, statement, with_values
from retrospan.queries.catalogue import load as view_of
from retrospan.schemas.literals import literal

NAMES = sorted(path.stem for path in Path(folder()).glob("*.sql"))
#: A header that promises all columns of a view, but some.
OF_VIEW = re.compile(
    r"^-- returns: (?!.*some of).*the columns of the view (?P<view>\w+)(?: but (?P<but>[\w, ]+))?",
    re.MULTILINE,
)
VALUES: dict[str, Parameter] = {
    "beginning": "^Error\\b",
    "calls": [1],
    "metric": "failure_rate",
    "from": "",
    "to": "",
    "seconds": 3_600,
    "after": 10,
    "before": 10,
    "input": "Find the refund policy.",
    "input_hash": "x",
    "ordinals": [1],
    "service": "shop",
    "started_at": "2026-09-21 14:00:09.000000000",
    "value": "refund",
    "a": "7f3e91d0a4b34da6a3ce929d0e0e4736",
    "agent": "",
    "at": "",
    "b": "b83f51aaa4b34da6a3ce929d0e0e4736",
    "baseline_from": "",
    "baseline_to": "",
    "baseline_version": "",
    "candidate_from": "",
    "candidate_to": "",
    "candidate_version": "",
    "by": "agent",
    "chosen": 0,
    "conversation": "",
    "cost": "0",
    "cost_is": "",
    "depth": 4,
    "direction": "up",
    "entity_id": "C-1042",
    "expression": "refund",
    "escaped": ["refund"],
    "exact": 0,
    "unsaid": 0,
    "entity_type": "record",
    "kind": "",
    "known_at": "2026-09-21T14:00:00Z",
    "least": 3,
    "model_call": 1,
    "most": 10,
    "outcome": "",
    "pattern": "%refund%",
    "prefix": "4bf92f35",
    "ref": "run:4bf92f3577b34da6a3ce929d0e0e4736",
    "role": "",
    "of_runs": 10,
    "rows": 10,
    "run_id": "4bf92f3577b34da6a3ce929d0e0e4736",
    "run_ids": ["91c0d7e2a4b34da6a3ce929d0e0e4736", "x'y\\"],
    "said": "refund",
    "rule": "",
    "severities": ["info", "warning", "error"],
    "score": "",
    "score_is": "",
    "score_value": "",
    "since": "1970-01-01 00:00:00.000000000",
    "span_id": "00f067aa0ba902b7",
    "first": 0,
    "first_call": 0,
    "last": 2**32 - 1,
    "last_call": 2**32 - 1,
    "step": 0,
    "thread": "",
    "told": ["exact_loop"],
    "tool": "",
    "tools": ["update_record"],
    "whole": 0,
    "words": ["refund"],
    "trace_ids": ["4bf92f3577b34da6a3ce929d0e0e4736"],
    "typed": "4bf92f35",
    "user": "",
    "version": "",
    "until": "2262-01-01 00:00:00",
}


def text_of(name: str) -> str:
    return (Path(folder()) / f"{name}.sql").read_text(encoding="utf-8")


def placeholders(sql: str) -> dict[str, str]:
    return dict(re.findall(r"\{(\w+):([^{}]+)\}", sql))


@pytest.mark.parametrize("name", NAMES)
def test_a_question_documents_itself_and_is_one_statement(name: str) -> None:
    lines = text_of(name).splitlines()
    assert [line.split(":")[0] for line in lines[:3]] == ["-- title", "-- params", "-- returns"]
    sql = statement(name)
    assert sql.startswith("SELECT") and ";" not in sql and "SELECT *" not in sql
    # The line of parameters is one, however many they are.
    assert all(len(line) <= 130 for line in lines[:1] + lines[2:])
    described = lines[1].removeprefix("-- params: ")
    for placeholder, kind in placeholders(sql).items():
        assert f"{placeholder} {kind}" in described
    assert ("none" in described) == (not placeholders(sql))


def returned_by(sql: str) -> list[str]:
    """The names of the columns of a statement: the last words between its SELECT and its FROM."""
    depth, columns = 0, [""]
    for piece in re.split(r"([(),]|\bFROM\b)", sql.removeprefix("SELECT")):
        depth += (piece == "(") - (piece == ")")
        if piece == "FROM" and not depth:
            break
        if piece == "," and not depth:
            columns.append("")
        else:
            columns[-1] += piece
    return [re.split(r"[\s.]", column.strip())[-1] for column in columns]


@pytest.mark.parametrize("name", [name for name in NAMES if OF_VIEW.search(text_of(name))])
def test_a_question_that_returns_the_columns_of_a_view_leaves_out_only_what_it_says(name: str) -> None:
    told = OF_VIEW.search(text_of(name))
    assert told is not None
    # The tenant is the same in every row that a reader sees.
    expected = {column.name for column in view_of(told["view"]).columns} - {"tenant"}
    assert expected - {*(told["but"] or "").split(", ")} <= {*returned_by(statement(name))}


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_question_runs_with_parameters_and_as_it_is_printed(name: str, collector: str) -> None:
    warehouse = CollectorClient(collector, "from a test")
    sql = statement(name)
    given = {key: VALUES[key] for key in placeholders(sql)} | ({"step": 3} if name == "state_after" else {})
    answer = warehouse.ask(sql, given)
    assert answer.rows or name in (
        "bundle_checkpoints",
        "bundle_draws",
        "bundle_problems",
        "bundle_spans",
        "checkpoint_contents",
        "cut_off_calls",
        "cut_off_effects",
        "deleted_runs",
        "first_problem",
        "find_messages",
        "find_runs_of_trace",
        "find_spans",
        "list_findings",
        "findings_by",
        "loops_by_day",
        "list_loops",
        "records_of_no_trace",
        "remarks_of_approvals",
        "remarks_of_checkpoints",
        "remarks_of_compactions",
        "remarks_of_decisions",
        "remarks_of_evaluations",
        "scores_of_runs",
        "services_of_tools",
        "show_approvals",
        "show_checkpoints",
        "show_decisions",
        "show_evaluations",
        "show_log_remarks",
        "show_logs",
        "spans_of_traces",
        "tool_calls_for_rules",
        "why_context",
        "why_cut_answers",
        "why_documents",
        "why_effects",
        "why_failures",
        "why_findings",
        "why_peers",
        "why_stale",
        "why_touched",
    )
    returned = text_of(name).splitlines()[2]
    assert all(
        column in returned or "the columns of the view" in returned or "one row per" in returned
        for column in answer.names
    )
    printed = with_values(sql, given)
    assert placeholders(printed) == {}
    assert warehouse.ask(printed).rows == answer.rows


@pytest.mark.parametrize(
    "value", ["x", "it's", "back\\slash", "new\nline\ttab", "'; DROP TABLE runs; --", "日本", ""]
)
def test_literals_are_read_back_by_the_engine(value: str, collector: str) -> None:
    warehouse = CollectorClient(collector, "from a test")
    assert warehouse.ask(f"SELECT {literal(value)} AS v").rows == [{"v": value}]
    assert warehouse.ask(f"SELECT {literal([value, 'b'])} AS v").rows == [{"v": [value, "b"]}]
    assert warehouse.ask("SELECT {v:Array(String)} AS v", {"v": [value, "b"]}).rows == [{"v": [value, "b"]}]
    assert json.dumps(value)
