"""Killed while they write: `bundle`, `golden add` and `pytest --golden-update` leave no half file under a final name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fix_cli import HELD, REFUND
from golden.agents import golden, suite, write_agent
from golden.test_plugin import TESTS

from retrospan.schemas.bundle.container import read_bundle
from retrospan.schemas.bundle.golden import names_in, read_golden, write_golden

pytestmark = [pytest.mark.engine, pytest.mark.long]
#: Ends the process by force at the so-many-th write of a member, or before or after the so-many-th file is moved to its final name.
KILLING = """
import os, signal, zipfile

left = int(os.environ["KILLED_AT"])

def count():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

written, moved = zipfile.ZipFile.writestr, os.replace

def write(*given):
    count()
    written(*given)

def move(*given):
    if not str(given[1]).endswith((".bundle", ".toml")):
        return moved(*given)
    count()
    moved(*given)
    count()

zipfile.ZipFile.writestr, os.replace = write, move
"""
COMMAND = KILLING + "\nimport sys\nfrom retrospan.ingest.cli.main import main\nsys.exit(main(sys.argv[1:]))\n"


def killed(at: int, url: str, folder: Path, *words: str) -> bool:
    """Run a command that is killed at a moment; tell whether that moment came."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "RETROSPAN_URL": url, "KILLED_AT": str(at)},
    )  # fmt: skip
    assert done.returncode in (-9, 0), done.stderr
    return done.returncode == -9


def test_a_bundle_is_there_whole_or_not_at_all(collector: str, tmp_path: Path) -> None:
    file, at = tmp_path / "run.bundle", 1
    while killed(at, collector, tmp_path, "bundle", REFUND, "--out", "run.bundle"):
        if file.exists():
            read_bundle(file)
            file.unlink()
        at += 3
    assert at > 7
    before, at = file.read_bytes(), 1
    while killed(at, collector, tmp_path, "bundle", HELD, "--out", "run.bundle"):
        if file.read_bytes() != before:
            assert [run.run_id for run in read_bundle(file).runs] == [HELD]
            file.write_bytes(before)
        at += 3
    assert [run.run_id for run in read_bundle(file).runs] == [HELD]


def test_a_golden_run_is_added_whole_or_not_at_all(collector: str, tmp_path: Path) -> None:
    at = 1
    while killed(at, collector, tmp_path, "golden", "add", REFUND, "refund"):
        for name in names_in(tmp_path / "golden"):
            assert read_golden(tmp_path / "golden", name)[0].run_id == REFUND
            (tmp_path / "golden" / f"{name}.toml").unlink()
        at += 3
    assert at > 7
    # What was left of the others is in nobody's way.
    assert read_golden(tmp_path / "golden", "refund")[0].run_id == REFUND


def test_an_update_in_pytest_leaves_the_old_run_whole_or_the_new_one(tmp_path: Path) -> None:
    write_agent(tmp_path)
    agent = (tmp_path / "agent.py").read_text()
    # It says only half of what it knows: nothing has to be asked, and the record is another one.
    (tmp_path / "agent.py").write_text(
        agent.replace('if not said.get("tool_calls"):', "if True:").replace(
            'return said["content"]', 'return "-3"'
        )
    )
    (tmp_path / "test_agent.py").write_text(
        TESTS.replace('assert [call.name for call in replayed.run.tool_calls()] == ["get_weather"]', "")
    )
    (tmp_path / "conftest.py").write_text(KILLING)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--golden-update"]
    plugin = ["-p", "retrospan.exporter.replay.pytest_plugin"]
    found, at = list[str](), 1
    while True:
        write_golden(tmp_path / "golden", golden(), suite("run-1"))
        done = subprocess.run(
            [*command, *plugin], cwd=tmp_path, env={**environ, "KILLED_AT": str(at)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in (-9, 0), done.stdout
        told, bundle = read_golden(tmp_path / "golden", "weather")
        run = bundle.run(told.run_id)
        assert run is not None and len(run.calls) == (3 if told.run_id == "run-1" else 1)
        found.append("old" if told.run_id == "run-1" else "new")
        if done.returncode == 0:
            break
        at += 4
    assert found[0] == "old" and found[-1] == "new" and found == sorted(found, reverse=True)
