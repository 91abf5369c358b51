"""The pytest plugin in a project of its own: green, red with a reason, in parallel, in JUnit."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from golden.agents import golden, suite, write_agent

from retrospan.schemas.bundle.golden import write_golden

TESTS = """
import pytest
import agent


@pytest.mark.golden("weather")
def test_the_weather(replayed):
    answer = agent.run(replayed.question)
    assert "-3" in answer
    assert [call.name for call in replayed.run.tool_calls()] == ["get_weather"]


def test_another():
    pass
"""


def run_pytest(folder: Path, *flags: str) -> tuple[int, str]:
    """pytest of its own, with the plugin as its entry point loads it."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:langsmith_plugin"]
    # As often as an environment that was made before it knows of no entry point.
    known = subprocess.run(
        [sys.executable, "-m", "pytest", "--fixtures", "-q", "-p", "no:cacheprovider"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "replayed --" not in known.stdout:
        command += ["-p", "retrospan.exporter.replay.pytest_plugin"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [*command, "--strict-markers", *flags],
        cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_agent(tmp_path)
    (tmp_path / "test_agent.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    write_golden(tmp_path / "golden", golden("tools = get_weather", "answer ~ oslo"), suite("run-1"))
    return tmp_path


@pytest.mark.long
def test_an_agent_that_does_it_again_is_green_and_touches_nothing(project: Path) -> None:
    code, said = run_pytest(project)
    assert code == 0, said
    assert "2 passed" in said
    assert not (project / "ran").exists()


def test_a_changed_prompt_is_red_with_the_field(project: Path) -> None:
    write_agent(project, "You are Orla.", "You are Nora.")
    code, said = run_pytest(project, "--junit-xml", "junit.xml")
    assert code == 1 and "1 failed, 1 passed" in said
    assert "system[0].content" in said and "You are Nora." in said and "You are Orla." in said
    assert "1 error" not in said
    (failure,) = ElementTree.parse(project / "junit.xml").getroot().iter("failure")
    assert "You are Nora." in (failure.text or "")


@pytest.mark.long
def test_an_agent_that_stops_before_the_end_is_red(project: Path) -> None:
    write_agent(project, 'if not said.get("tool_calls"):', "if True:")
    (project / "test_agent.py").write_text(TESTS.replace('assert "-3" in answer', "pass"))
    code, said = run_pytest(project)
    assert code == 1 and "prefix: 1 of 2 model calls and 0 of 1 tool calls were answered" in said


@pytest.mark.long
def test_an_agent_that_hides_the_miss_is_red_all_the_same(project: Path) -> None:
    write_agent(project, "You are Orla.", "You are Nora.")
    hiding = TESTS.replace(
        "answer = agent.run(replayed.question)", "try: agent.run('x')\n    except Exception: return"
    )
    (project / "test_agent.py").write_text(hiding)
    code, said = run_pytest(project)
    assert code == 1 and "1 failed, 1 passed" in said and "1 error" not in said and "You are Nora." in said


@pytest.mark.long
@pytest.mark.engine
def test_an_expectation_that_is_not_met_is_red(project: Path) -> None:
    in_sql = "SELECT count() = 0 FROM tool_calls WHERE run_id = {run:String}"
    write_golden(
        project / "golden", replace(golden("get_weather <= 0"), expect_sql=(in_sql,)), suite("run-1")
    )
    code, said = run_pytest(project)
    assert code == 1 and "get_weather <= 0: it called get_weather 1 times" in said
    assert f"{in_sql}: it gives 0" in said


@pytest.mark.long
def test_they_run_in_parallel(project: Path) -> None:
    many = TESTS.replace(
        '@pytest.mark.golden("weather")',
        '@pytest.mark.parametrize("n", range(8))\n@pytest.mark.golden("weather")',
    ).replace("def test_the_weather(replayed)", "def test_the_weather(replayed, n)")
    (project / "test_agent.py").write_text(many)
    code, said = run_pytest(project, "-n", "2")
    assert code == 0 and "9 passed" in said, said


@pytest.mark.parametrize(
    ("marker", "reason"),
    [
        ('@pytest.mark.golden("none")', "there is no golden run 'none' in"),
        pytest.param('@pytest.mark.golden("../weather")', "cannot name a golden run", marks=pytest.mark.long),
        pytest.param("", 'name the golden run: @pytest.mark.golden("NAME")', marks=pytest.mark.long),
    ],
)
def test_a_test_without_its_golden_run_is_told_so(project: Path, marker: str, reason: str) -> None:
    (project / "test_agent.py").write_text(TESTS.replace('@pytest.mark.golden("weather")', marker))
    code, said = run_pytest(project)
    assert code == 1 and reason in said


@pytest.mark.long
def test_a_test_that_is_not_in_the_cage_of_its_golden_run_does_not_begin(project: Path) -> None:
    outside = TESTS.replace("test_the_weather(replayed)", "test_the_weather()").replace("replayed", "None")
    (project / "test_agent.py").write_text(outside)
    code, said = run_pytest(project)
    assert code == 1 and 'golden goes with the fixture "replayed"' in said and "1 passed, 1 error" in said
    assert not (project / "ran").exists()
