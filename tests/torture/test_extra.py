"""`retrospan torture` is a distribution of its own; without it, the command names the line that installs it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
WITHOUT = f"""
import sys
sys.path = [place for place in sys.path if place != {str(TOP / "torture")!r}]
from retrospan.ingest.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Python with these words."""
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=60, check=False, cwd="/"
    )


@pytest.mark.parametrize("words", [("torture",), ("torture", "--help"), ("help", "torture")])
def test_without_the_extra_the_command_names_the_line_to_type(words: tuple[str, ...]) -> None:
    done = run("-c", WITHOUT, *words)
    assert done.returncode == 2 and done.stdout == ""
    assert 'pip install "retrospan[torture]"' in done.stderr


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_completion_does_without_it(shell: str) -> None:
    done = run("-c", WITHOUT, "completion", shell)
    assert done.returncode == 0 and "torture" in done.stdout, done.stderr


def test_with_it_the_command_is_there() -> None:
    done = run("-m", "retrospan.ingest.cli.main", "torture", "--help")
    assert done.returncode == 0 and "--seed" in done.stdout, done.stderr


def test_both_distributions_are_of_one_release_and_hold_nothing_of_each_other() -> None:
    ours = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    theirs = tomllib.loads((TOP / "torture/pyproject.toml").read_text(encoding="utf-8"))
    release = ours["project"]["version"]
    assert theirs["project"]["version"] == release
    assert theirs["project"]["dependencies"] == [f"retrospan[embedded]=={release}"]
    assert ours["project"]["optional-dependencies"]["torture"] == [f"retrospan-torture=={release}"]
    packages = ours["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert not any(list((TOP / package).glob("torture")) for package in packages)
    assert [place.name for place in (TOP / "torture/retrospan").iterdir() if place.name != "__pycache__"] == [
        "torture"
    ]
