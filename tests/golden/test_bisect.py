"""`retrospan bisect`: good, bad and trouble; and git finds the commit that changed what the agent does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from golden.agents import TOOL, suite, write_agent

from retrospan.schemas.bundle.container import write_bundle

BISECT = [sys.executable, "-m", "retrospan.ingest.cli.main", "bisect"]
AGENT = [sys.executable, "main.py", "{question}"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "repository").mkdir()
    write_agent(tmp_path / "repository")
    write_bundle(tmp_path / "suite.bundle", suite("run-1", "run-2"))
    return tmp_path


def bisect(place: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [*BISECT, *words], cwd=place / "repository", capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout + done.stderr


def of_suite(place: Path, *more: str) -> tuple[int, str]:
    return bisect(place, "--suite", str(place / "suite.bundle"), "--tool", TOOL, *more, "--", *AGENT)


def test_an_agent_that_does_what_is_on_record_is_good(place: Path) -> None:
    code, said = of_suite(place)
    assert (code, said) == (0, "2 of 2 runs do what is on record\n")


def test_one_that_does_something_else_is_bad_with_the_field(place: Path) -> None:
    write_agent(place / "repository", "You are Orla.", "You are Nora.")
    code, said = of_suite(place)
    assert code == 1 and "run run-1: changed" in said and "system[0].content" in said
    assert "run-2" not in said
    code, said = of_suite(place, "--all", "--json")
    assert code == 1
    assert [json.loads(line)["verdict"] for line in said.splitlines()] == ["changed", "changed"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--suite", "none.bundle", "--", "x"], "there is no file none.bundle"),
        (["--suite", "none.bundle", "--debug", "--", "x"], "Traceback"),
        (["--suite", "agent.py", "--", "x"], "is not a bundle"),
        (["--", "x"], "name the suite: --suite FILE"),
        (["--suite", "x"], "say how the agent is started"),
        (["--suit", "x"], "unknown flag '--suit'"),
        (["--suite", "../suite.bundle", "--", "no-such-program"], "no-such-program cannot be started"),
        (["--suite", "../suite.bundle", "--", "true"], "no Python in it began the replay"),
    ],
)
def test_any_trouble_is_125(place: Path, words: list[str], said: str) -> None:
    code, told = bisect(place, *words)
    assert code == 125 and said in told, told


def test_an_agent_that_cannot_begin_is_trouble(place: Path) -> None:
    (place / "repository/agent.py").write_text("import no_such_module\n")
    code, said = of_suite(place)
    assert code == 125 and "run run-1: trouble" in said and "before it made a call" in said


@pytest.mark.long
def test_git_finds_the_commit_that_was_planted(place: Path) -> None:
    repository, planted = place / "repository", 11
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for name in ("AUTHOR", "COMMITTER"):
        environ |= {f"GIT_{name}_NAME": "a test", f"GIT_{name}_EMAIL": "test@example.com"}

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=repository,
            env=environ,
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        return done.stdout

    git("init", "-q")
    commits = list[str]()
    for number in range(1, 17):
        changed = (
            ("You are Orla.", "You are Nora.") if number >= planted else ("import sys\n", "import sys\n")
        )
        write_agent(repository, *changed)
        (repository / "notes.txt").write_text(f"{number}\n")
        git("add", "-A")
        git("commit", "-q", "-m", f"commit {number}")
        commits.append(git("rev-parse", "HEAD").strip())
    git("bisect", "start", commits[-1], commits[0])
    found = git(
        "bisect", "run", *BISECT, "--suite", str(place / "suite.bundle"), "--tool", TOOL, "--", *AGENT
    )  # fmt: skip
    assert f"{commits[planted - 1]} is the first bad commit" in found.replace("'", "")
