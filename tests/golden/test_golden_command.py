"""`retrospan golden`: runs are added from the warehouse, listed, done again by a command, and replaced."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from fix_cli import ASKED, CUT_SHORT, HELD, REFUND, Ask
from golden.agents import golden, suite, write_agent

from retrospan.schemas.bundle.golden import read_golden, write_golden

pytestmark = pytest.mark.engine
COMMAND = shlex.join([sys.executable, "main.py", "{question}"])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_is_added_listed_and_replaced(ask: Ask, folder: Path) -> None:
    said = ask("golden", "add", HELD, "ship", "--expect", "send_email <= 1", "--description", "Ships")
    assert said.code == 0, said.err
    (told,) = ask("golden", "list", "--json").lines
    assert json.loads(told)["run_id"] == HELD
    listed = ask("golden", "list")
    assert "ship" in listed.out and "Ships" in listed.out
    said = ask("golden", "add", HELD, "ship")
    assert said.code == 2 and "golden update ship" in said.err
    said = ask("golden", "update", "ship", ASKED)
    assert said.code == 0 and said.out.startswith("golden run ship: parts at step 3: ")
    found, bundle = read_golden(folder / "golden", "ship")
    assert (found.run_id, found.expect, found.description) == (ASKED, ("send_email <= 1",), "Ships")
    assert [run.run_id for run in bundle.runs] == [ASKED]


def test_a_run_that_does_not_meet_what_is_expected_is_not_taken(ask: Ask, folder: Path) -> None:
    said = ask("golden", "add", REFUND, "x", "--expect", "tools = send_email")
    assert (
        said.code == 2
        and "does not meet what is expected: tools = send_email: it called search_docs" in said.err
    )
    said = ask("golden", "add", CUT_SHORT, "x")
    assert said.code == 2 and "cannot be replayed whole: whether it was executed is not on record" in said.err
    said = ask("golden", "add", REFUND, "x", "--expect", "be nice")
    assert said.code == 2 and "'be nice' is not an expectation" in said.err
    assert not (folder / "golden").exists()


def test_golden_runs_are_done_again(ask: Ask, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    write_agent(folder)
    write_golden(folder / "golden", golden("tools = get_weather"), suite("run-1"))
    said = ask("golden", "run", "--command", COMMAND)
    assert (said.code, said.lines) == (0, ["✓ weather", "1 of 1 golden run done again as on record"])
    assert not (folder / "ran").exists() and not (folder / "__pycache__").exists()
    write_agent(folder, "You are Orla.", "You are Nora.")
    said = ask("golden", "run", "weather", "--command", COMMAND)
    assert said.code == 1 and said.lines[0] == "✗ weather"
    assert "You are Nora." in said.out and "system[0].content" in said.out
    (told,) = ask("golden", "run", "--command", COMMAND, "--json").lines
    assert json.loads(told)["verdict"] == "changed"
    (folder / "main.py").write_text("import no_such_module\n")
    said = ask("golden", "run", "--command", COMMAND)
    assert said.code == 2 and "exit code 1 before it made a call" in said.err


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("run",), "there is no golden run in golden"),
        (("run", "x"), "there is no golden run 'x' in golden"),
        (("add", REFUND), "golden add RUN NAME: give both"),
        (("add", REFUND, "../x"), "cannot name a golden run"),
        (("update", "x", REFUND), "there is no golden run 'x' in golden"),
        (("list", "--expect", "answer ~ x"), "--expect, --expect-sql and --description are for golden add"),
        (("run", "--hold"), "--hold is for golden add and golden update"),
        (("run", "--jobs", "0"), "--jobs"),
        (("forget",), "'forget' is not one of add, list, run, update"),
    ],
)
def test_mistakes_are_named(ask: Ask, words: tuple[str, ...], error: str) -> None:
    said = ask("golden", *words)
    assert said.code == 2 and error in said.err, said.err
