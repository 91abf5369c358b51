"""Expectations in SQL: one row with one true value, over the warehouse when a run is added, over the bundle after that."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fix_cli import REFUND, Ask
from golden.agents import golden, suite, weather_run, write_agent
from replay.recorded import tool_call

from retrospan.schemas.bundle import sql_expectation
from retrospan.schemas.bundle.golden import read_golden, write_golden
from retrospan.schemas.bundle.sql_expectation import check_sql, unmet_by, unmet_offline
from retrospan.schemas.bundle.tables import COLUMNS, rows_of
from retrospan.schemas.errors import ConfigError, MissingExtra

pytestmark = pytest.mark.engine
ONCE = "SELECT count() <= 1 FROM tool_calls WHERE run_id = {run:String} AND tool_name = 'get_weather'"
COMMAND = shlex.join([sys.executable, "main.py", "{question}"])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([[1]], None),
        ([["yes"]], None),
        ([[0]], "it gives 0"),
        ([[None]], "it gives null"),
        ([["false"]], 'it gives "false"'),
        ([], "it gives no row"),
        ([[1], [1]], "it gives 2 rows, and not one"),
        ([[1, 1]], "it gives 2 values, and not one"),
        ([[]], "it gives 0 values, and not one"),
    ],
)
def test_it_holds_if_one_row_has_one_true_value(rows: list[list[object]], why: str | None) -> None:
    assert unmet_by(rows) == why


def test_a_statement_names_the_run() -> None:
    check_sql("SELECT 1 WHERE '' != { run : String }")
    with pytest.raises(ValueError, match="does not name the run"):
        check_sql("SELECT 1")


def test_rows_have_every_column_that_is_declared() -> None:
    rows = rows_of(weather_run())
    assert {view: {*row} for view, each in rows.items() for row in each} == {
        view: {*columns} for view, columns in COLUMNS.items()
    }


def test_they_are_answered_over_a_bundle() -> None:
    run, other = weather_run(), weather_run("<b>'run\n2")
    strange = tool_call(4, 'say "\udc80"', {"a": [1, "é\n"]}, None)
    other = replace(other, calls=(*other.calls, strange))
    true = (
        ONCE,
        "SELECT output LIKE '%-3 °C%' AND tool_calls = 1 FROM runs WHERE run_id = {run:String}",
        "SELECT JSONExtractString(arguments, 'city') = 'Oslo' FROM tool_calls WHERE run_id = {run:String}",
        "SELECT sum(output_tokens) = 9 FROM model_calls WHERE run_id = {run:String}",
        "SELECT max(step) = 2 AND any(asked_by) IS NULL FROM tool_calls WHERE run_id = {run:String}",
    )
    false = "SELECT count() > 5 FROM tool_calls WHERE run_id = {run:String}"
    wrong = "SELECT cost FROM runs WHERE run_id = {run:String}"
    formed = "SELECT {run:String} != '' FORMAT JSON"
    writes = "INSERT INTO runs (run_id) SELECT {run:String}"
    found, second = unmet_offline(
        [(run, [*true, false, wrong, writes, formed]), (other, [ONCE, "SELECT {run:String}"])]
    )
    assert [text.partition(": ")[0] for text in found] == [false, wrong, writes, formed]
    assert found[0] == f"{false}: it gives 0"
    assert "cost" in found[1] and "docs/golden.md lists" in found[1]
    assert "it cannot be answered" in found[2] and "leave out FORMAT" in found[3]
    assert second == []
    assert unmet_offline([(run, ())]) == [[]]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count() > 0 FROM file('{here}', LineAsString) WHERE {run:String} != ''",
        "SELECT file('{here}') != {run:String}",
        "SELECT count() >= 0 FROM url('http://127.0.0.1:9/{here}', LineAsString) WHERE {run:String} != ''",
        "SELECT {run:String} != '' INTO OUTFILE '{here}.out'",
        "SELECT {run:String} != '' SETTINGS readonly = 0",
        "SELECT sleepEachRow(3) = 0 WHERE {run:String} != ''",
        "SELECT count() > 0 FROM `{here}` WHERE {run:String} != ''",
        "SELECT 1 WHERE {run:String} != ''; DROP TABLE runs",
        "CREATE TABLE t ENGINE = Memory AS SELECT {run:String}",
    ],
)
def test_one_of_a_stranger_reads_no_file_and_leaves_nothing(tmp_path: Path, statement: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2\n")
    (found,) = unmet_offline([(weather_run(), [statement.replace("{here}", str(secret)), ONCE])])
    assert len(found) == 1 and "it cannot be answered" in found[0] and "hunter2" not in found[0]
    assert [each.name for each in tmp_path.iterdir()] == ["secret"]


def test_without_an_engine_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_expectation, "_ENGINE", "golden.no_engine")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    with pytest.raises(MissingExtra, match=r"pip install .retrospan\[embedded\]"):
        unmet_offline([(weather_run(), [ONCE])])


def test_golden_runs_are_held_to_them(ask: Ask, folder: Path) -> None:
    write_agent(folder)
    write_golden(folder / "golden", replace(golden(), expect_sql=(ONCE,)), suite("run-1"))
    said = ask("golden", "run", "--command", COMMAND)
    assert (said.code, said.lines[0]) == (0, "✓ weather"), said.err
    never = ONCE.replace("<= 1", "= 0")
    write_golden(folder / "golden", replace(golden(), expect_sql=(never,)), suite("run-1"))
    said = ask("golden", "run", "--command", COMMAND)
    assert said.code == 1 and f"{never}: it gives 0" in said.out
    (folder / "golden" / "weather.toml").write_text('run_id = "run-1"\nexpect_sql = ["SELECT 1"]\n')
    with pytest.raises(ConfigError, match="expect_sql: 'SELECT 1' does not name the run"):
        read_golden(folder / "golden", "weather")


@pytest.mark.long
def test_a_run_is_added_if_the_warehouse_says_that_they_hold(ask: Ask, folder: Path) -> None:
    true = "SELECT count() > 0 AND min(run_id) = {run:String} FROM tool_calls WHERE run_id = {run:String}"
    said = ask("golden", "add", REFUND, "refund", "--expect-sql", true)
    assert said.code == 0, said.err
    assert read_golden(folder / "golden", "refund")[0].expect_sql == (true,)
    assert json.loads(ask("golden", "list", "--json").lines[0])["expect_sql"] == [true]
    said = ask("golden", "update", "refund", REFUND)
    assert said.code == 0, said.err
    assert read_golden(folder / "golden", "refund")[0].expect_sql == (true,)
    for text, why in (
        ("SELECT count() > 99 FROM steps WHERE run_id = {run:String}", "it gives "),
        ("SELECT 1 FROM tool_calls WHERE run_id = {run:String} AND 0", "it gives no row"),
        ("SELECT count() > 0 FROM steps WHERE run_id = {run:String}", "a bundle holds, of runs,"),
        ("SELECT nothing FROM runs WHERE run_id = {run:String}", "nothing"),
        ("SELECT 1 WHERE '' != {run:String} FORMAT CSV", "leave out FORMAT CSV"),
        ("SELECT 1", "does not name the run"),
    ):
        said = ask("golden", "add", REFUND, "x", "--expect-sql", text)
        assert said.code == 2 and why in said.err, said.err
    assert not (folder / "golden" / "x.toml").exists()
