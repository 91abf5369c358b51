"""`retrospan bundle`: what it says and writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fix_cli import CUT_SHORT, HOSTILE, LOOP, REFUND, Ask, Terminal

from retrospan.schemas.bundle.container import read_bundle

pytestmark = pytest.mark.engine


def test_a_run_is_written_and_checked(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "refund.bundle"
    said = ask("bundle", REFUND[:8], "--out", str(file))
    # One run more begins with these eight characters.
    assert said.code == 2 and "could be any of these runs" in said.err
    said = ask("bundle", REFUND, "--out", str(file))
    assert said.code == 0 and said.lines[0] == "run 4bf92f35: all 3 calls"
    assert said.err == f"written: {file}, 1 run\n"
    (run,) = read_bundle(file).runs
    assert (run.run_id, run.agent_name, run.outcome) == (REFUND, "orla", "ok")
    assert [call.n for call in run.calls] == [1, 2, 3]
    (tool,) = run.tool_calls()
    assert tool.arguments == {"query": "refund policy", "top_k": 2}
    assert isinstance(tool.result, list)
    assert [state.step for state in run.states] == [1, 2, 3]
    assert run.states[1].after is not None and "policy" in run.states[1].after


def test_without_a_name_the_file_is_called_after_the_run(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ask("bundle", REFUND).code == 0
    assert ask("bundle", "batch/12").code == 0
    assert ask("bundle", "--where", "agent_name = 'milo'").code == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "4bf92f35.bundle",
        "batch_12.bundle",
        "runs.bundle",
    ]


def test_a_check_names_what_is_missing(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = ask("bundle", CUT_SHORT, "--check", "--exit-code")
    assert said.code == 1
    assert said.lines[0] == "run d2209b6c: 3 of 4 calls"
    assert "  1 call of get_weather: whether it was executed is not on record" in said.lines
    assert "  the run has not ended, or its end is not on record: what came after is missing" in said.lines
    (told,) = ask("bundle", CUT_SHORT, "--check", "--json").lines
    check = json.loads(told)
    assert (check["calls"], check["replayable"], check["ended"]) == (4, 3, False)
    assert [gap["calls"] for gap in check["missing"]] == [[4]]
    assert not list(tmp_path.iterdir())


def test_a_suite_is_counted(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "all.bundle"
    said = ask("bundle", "--where", "1", "--out", str(file))
    assert said.code == 0
    assert len(read_bundle(file).runs) == 8
    assert "of 8 runs can be replayed whole" in said.lines[-1]
    said = ask("bundle", "--where", "1", "-n", "2", "--check", "--json")
    assert len(said.lines) == 2
    assert "holds of more runs: the newest 2 are taken" in said.err


def test_hostile_contents_are_kept_and_reach_no_terminal(
    ask: Ask, terminal: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "bad.bundle"
    said = terminal("bundle", HOSTILE, "--out", str(file))
    assert said.code == 0
    assert "\x1b[2J" not in said.out and "\x9b" not in said.out and "\u202e" not in said.out
    (run,) = read_bundle(file).runs
    assert "\x1b[2J" in (run.question or "")
    assert "\x1b[2J" in run.tool_calls()[0].name


def test_the_sql_of_it_can_be_asked(ask: Ask) -> None:
    said = ask("bundle", LOOP, "--sql")
    assert said.code == 0 and "FROM model_calls" in said.out and f"'{LOOP}'" in said.out


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "name one RUN, or the runs of a suite by --where SQL."),
        ((LOOP, "--where", "1"), "name one RUN, or the runs of a suite by --where SQL."),
        ((LOOP, "--param", "a=b"), "--param is for --where."),
        ((LOOP, "--check", "--out", "x"), "--check writes nothing"),
        (("--where", "1; DROP TABLE runs"), "--where: ';' cannot stand in a condition"),
        (("--where", "agent_name = 'nobody'"), "--where is true of no run in"),
        (("--where", "no_such_column = 1"), "no_such_column"),
        (("ffffffff",), "no run starts with 'ffffffff'"),
        ((LOOP, "--out", "/no/such/place/x"), "cannot be written: No such file or directory"),
    ],
)
def test_mistakes_are_named(ask: Ask, words: tuple[str, ...], error: str) -> None:
    said = ask("bundle", *words)
    assert said.code == 2 and error in said.err, said.err
