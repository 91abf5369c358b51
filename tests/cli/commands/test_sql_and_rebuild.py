from __future__ import annotations

import io
import json

import pytest
from fix_cli import Ask, Terminal


def test_a_table_with_types(ask: Ask) -> None:
    said = ask(
        "sql",
        "SELECT run_id, steps, started_at, agent_name IS NULL AS nameless FROM runs ORDER BY run_id LIMIT 1",
    )
    assert said.code == 0
    assert said.lines[0].split() == ["run_id", "steps", "started_at", "nameless"]
    assert said.lines[1].split()[1:3] == ["3", "2026-09-21T14:00:09.000000000Z"]
    assert said.err == "1 row\n"


def test_no_rows_says_so_and_names_the_columns(ask: Ask) -> None:
    said = ask("sql", "SELECT run_id, steps FROM runs WHERE run_id = 'none'")
    assert (said.code, said.out, said.err) == (0, "", "no rows (run_id, steps)\n")


def test_null_and_empty_are_told_apart(ask: Ask) -> None:
    assert ask("sql", "SELECT NULL AS a, '' AS b, [1, 2] AS c").lines[1].split() == ["-", '""', "[1,2]"]


def test_json_keeps_numbers_and_times(ask: Ask) -> None:
    said = ask(
        "sql",
        "SELECT toUInt64(9007199254740993) AS n, toDateTime64('2026-11-21 14:32:07.5', 9, 'UTC') AS t",
        "--json",
    )
    assert json.loads(said.out) == {"n": 9007199254740993, "t": "2026-11-21T14:32:07.500000000Z"}
    assert ask("sql", "SELECT 1 AS n", "--format", "json").out == '{"n":1}\n'


def test_csv_passes_as_the_engine_writes_it(ask: Ask) -> None:
    assert ask("sql", "SELECT 1 AS a, 'x,y' AS b", "--format", "csv").out == '"a","b"\n1,"x,y"\n'


@pytest.mark.parametrize("value", ["plain", "tab\tnewline\nback\\slash'quote", "日本", "%7B&=+ ", ""])
def test_parameters_arrive_as_they_are(ask: Ask, value: str) -> None:
    said = ask("sql", "SELECT {v:String} AS v", "--param", f"v={value}", "--json")
    assert json.loads(said.out) == {"v": value}


def test_a_statement_from_standard_input(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT 41 + 1 AS n\n"))
    assert ask("sql", "-", "--json").out == '{"n":42}\n'


def test_a_format_clause_of_its_own_passes(ask: Ask) -> None:
    assert ask("sql", "SELECT 1 AS a FORMAT TSV").out == "1\n"


def test_binary_formats_refuse_a_terminal_and_fill_a_pipe(terminal: Terminal, collector: str) -> None:
    import os
    import subprocess
    import sys

    refused = terminal("sql", "SELECT 1", "--format", "parquet")
    assert (
        refused.code == 2
        and "binary and this is a terminal" in refused.out
        and "> out.parquet" in refused.out
    )
    for wanted, magic in (("parquet", b"PAR1"), ("arrow", b"\xff\xff\xff\xff")):
        command = [
            sys.executable,
            "-m",
            "retrospan.ingest.cli.main",
            "sql",
            "SELECT 1 AS a",
            "--format",
            wanted,
        ]
        done = subprocess.run(
            command, capture_output=True, env={**os.environ, "RETROSPAN_URL": collector}, check=True
        )
        assert done.stdout.startswith(magic)


def test_wrong_sql_says_where_in_few_words(ask: Ask) -> None:
    said = ask("sql", "SELECT run_id,\n  stepz FROM runs")
    assert (said.code, said.out) == (2, "")
    assert "stepz" in said.err and "Did you mean 'steps'" in said.err and "(code 47)" in said.err
    said = ask("sql", "SELECT 1 FRO runs WHERE")
    assert said.code == 2 and "SQL, line 1 column" in said.err and "^" in said.err
    assert "Expected one of" not in said.err and len(said.err.splitlines()) == 3
    said = ask("sql", "INSERT INTO runs VALUES (1)")
    assert said.code == 2 and "read-only" in said.err


@pytest.mark.parametrize(
    ("kind", "typed", "meant"),
    [
        ("Array(String)", "['a','b']", ["a", "b"]),
        ("Array(String)", r"['it\'s', 'a\tb', 'c\\d']", ["it's", "a\tb", "c\\d"]),
        ("Map(String, String)", "{'a':'b'}", {"a": "b"}),
        ("Tuple(String, UInt8)", "('a', 1)", ["a", 1]),
    ],
)
def test_parameters_of_several_parts_are_typed_as_literals(
    ask: Ask, kind: str, typed: str, meant: object
) -> None:
    said = ask("sql", f"SELECT {{v:{kind}}} AS v", "--param", f"v={typed}", "--json")
    assert json.loads(said.out) == {"v": meant}, said.err


def test_params_must_be_pairs_and_queries_not_empty(ask: Ask) -> None:
    assert "'x' is not NAME=VALUE" in ask("sql", "SELECT 1", "--param", "x").err
    assert "QUERY is empty" in ask("sql", " ").err


def test_a_terminal_shows_a_thousand_rows_and_says_so(terminal: Terminal) -> None:
    said = terminal("sql", "SELECT number FROM numbers(1500)", "--color", "never")
    assert said.out.splitlines()[1000] == "   999"
    assert "1,000 of 1,500 rows; all: --wide, or --format json" in said.out


def test_rebuild_ends_with_one_line(ask: Ask) -> None:
    said = ask("rebuild")
    assert said.code == 0
    assert said.out.startswith("rebuilt: 100 runs in ") and said.err == ""


def test_rebuild_as_json_passes_the_progress(ask: Ask) -> None:
    lines = [json.loads(line) for line in ask("rebuild", "--json").lines]
    assert lines[0] == {"phase": "interpreting", "done": 0, "total": 100, "unit": "runs"}
    assert lines[-1] == {"done": True}


def test_a_rebuild_that_fails_says_why_safely(ask_empty: Ask) -> None:
    said = ask_empty("rebuild")
    assert said.code == 2 and "rebuild stopped: the log is damaged: \\x1b[31m" in said.err


def test_a_rebuild_of_some_runs_asks_for_what_was_chosen(ask: Ask) -> None:
    def asked(*words: str) -> object:
        lines = [json.loads(line) for line in ask("rebuild", "--json", *words).lines]
        return lines[-2]["asked"]

    assert asked() == {}
    assert asked("--since", "2026-01-01T00:00:00Z", "--until", "2026-01-02", "--version", "1") == {
        "version": "1",
        "since": 1_767_225_600 * 10**9,
        "until": 1_767_312_000 * 10**9,
    }
    newest = json.loads(ask("runs", "-n", "1", "--json").lines[0])["run_id"]
    assert asked("--run", "last", "--dialect", "pydantic-ai") == {"dialect": "pydantic-ai", "run": newest}
    said = ask("rebuild", "--run", "nothing-like-it")
    assert said.code == 2 and "no run starts with" in said.err
