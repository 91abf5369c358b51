"""Tools that are plain functions of the program itself: named they are answered, else the report says how to name them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from golden.agents import AGENT, golden, suite
from replay.recorded import QUESTION, asks, bundle, model_call, tells, text, tool_call

from retrospan.schemas.bundle.container import write_bundle
from retrospan.schemas.bundle.golden import write_golden

#: All in one file, as one begins.
PROGRAM = AGENT + "\nTABLE = {'get_weather': get_weather}\nprint(run(sys.argv[1]))\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "my_agent.py").write_text(PROGRAM)
    write_bundle(tmp_path / "run.bundle", suite("run-1"))
    return tmp_path


def retrospan(place: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", *words],
        cwd=place, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1"},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def replayed(place: Path, *flags: str) -> tuple[int, str]:
    command = (sys.executable, "my_agent.py", "What is the weather in Oslo?")
    return retrospan(place, "replay", "run.bundle", *flags, "--", *command)


@pytest.mark.parametrize("name", ["my_agent:get_weather", "__main__:get_weather"])
def test_a_function_of_the_program_is_answered_if_it_is_named(place: Path, name: str) -> None:
    code, said = replayed(place, "--tool", name)
    assert code == 0 and "identical: 2 of 2 model calls and 1 of 1 tool calls" in said, said
    assert "nobody imported" not in said
    assert not (place / "ran").exists()


def test_one_that_is_not_named_runs_and_the_report_says_so(place: Path) -> None:
    # The tool says something else than what was recorded.
    code, said = replayed(place)
    assert code == 1 and (place / "ran").exists()
    assert (
        "not at the boundary of tools: get_weather. What of it was called, ran: --tool __main__:get_weather"
        in said
    )


def test_a_run_whose_tool_ran_is_not_called_identical_as_a_whole(place: Path) -> None:
    (place / "my_agent.py").write_text(PROGRAM.replace('"temp_c": 20', '"temp_c": -3'))
    code, said = replayed(place, "--report", "report.json")
    assert code == 1 and (place / "ran").exists()
    assert (
        "identical, but for tools that came to no boundary: 2 of 2 model calls and 0 of 1 tool calls" in said
    )
    report = json.loads((place / "report.json").read_text())
    assert (report["verdict"], report["tools_not_at_the_boundary"]) == (
        "identical_outside_tools", ["get_weather"],
    )  # fmt: skip


def test_a_tool_that_was_allowed_to_run_weakens_nothing(place: Path) -> None:
    (place / "my_agent.py").write_text(PROGRAM.replace('"temp_c": 20', '"temp_c": -3'))
    code, said = replayed(place, "--run-tool", "get_weather")
    assert code == 0 and (place / "ran").exists()
    assert "identical: 2 of 2 model calls" in said and "let run, as they were named: get_weather" in said


def test_a_tool_at_a_boundary_that_may_run_is_held_to_the_record_all_the_same(place: Path) -> None:
    changed = PROGRAM.replace('"temp_c": 20', '"temp_c": -3')
    (place / "my_agent.py").write_text(changed)
    flags = ("--tool", "my_agent:get_weather", "--run-tool", "get_weather")
    code, said = replayed(place, *flags)
    assert code == 0 and "identical: 2 of 2 model calls" in said and (place / "ran").exists(), said
    (place / "ran").unlink()
    (place / "my_agent.py").write_text(
        changed.replace("get_weather(**json.loads(call", "get_weather('Rome' or json.loads(call")
    )
    code, said = replayed(place, *flags)
    assert code == 1 and 'city: recorded "Oslo", asked "Rome"' in said and not (place / "ran").exists(), said


def test_a_tool_that_is_not_called_any_more_is_not_called_the_same(place: Path) -> None:
    called = 'get_weather(**json.loads(call["function"]["arguments"]))'
    assert called in PROGRAM
    (place / "my_agent.py").write_text(PROGRAM.replace(called, "{'temp_c': -3}"))
    code, said = replayed(place, "--tool", "my_agent:get_weather")
    assert code == 1 and "identical, but for tools that came to no boundary" in said, said
    assert "not at the boundary of tools: get_weather" in said


def test_what_nobody_imported_and_what_is_not_there_is_told(place: Path) -> None:
    code, said = replayed(place, "--tool", "other:get_weather")
    assert code == 1 and "named as tools, but nobody imported them: other:get_weather" in said
    (place / "ran").unlink()
    code, said = replayed(place, "--tool", "my_agent:get_whether")
    assert code == 1 and "the module __main__ has no function get_whether" in said
    assert not (place / "ran").exists()


def test_a_call_that_a_framework_refuses_before_the_boundary_is_not_called_missing(tmp_path: Path) -> None:
    """The model asks twice, the second time without a city: the framework tells it so, and the tool does not run."""
    asked = [text("user", QUESTION)]
    first, second = asks("c1", "get_weather", city="Oslo"), asks("c2", "get_weather")
    refused = {"error": "city is missing"}
    record = bundle(
        model_call(1, [*asked], first),
        tool_call(2, "get_weather", {"city": "Oslo"}, {"temp_c": -3}, "c1"),
        model_call(3, [*asked, first, tells("c1", {"temp_c": -3})], second),
        tool_call(4, "get_weather", {}, refused, "c2"),
        model_call(
            5,
            [*asked, first, tells("c1", {"temp_c": -3}), second, tells("c2", refused)],
            text("assistant", "Cold."),
        ),
    )
    called = 'get_weather(**json.loads(call["function"]["arguments"]))'
    checked = f'{called} if "city" in call["function"]["arguments"] else {refused!r}'
    (tmp_path / "my_agent.py").write_text(PROGRAM.replace(called, checked))
    write_bundle(tmp_path / "run.bundle", record)
    code, said = replayed(tmp_path, "--tool", "my_agent:get_weather")
    assert (
        code == 1
        and "identical, but for tools that came to no boundary: 3 of 3 model calls and 1 of 2" in said
    )
    assert "not made" not in said and not (tmp_path / "ran").exists()
    code, said = replayed(tmp_path, "--tool", "my_agent:get_weather", "--run-tool", "get_weather")
    assert code == 1 and (tmp_path / "ran").exists(), "it runs now, and says something else"


def test_a_golden_run_is_not_green_for_tools_that_ran_unseen(place: Path) -> None:
    (place / "my_agent.py").write_text(PROGRAM.replace('"temp_c": 20', '"temp_c": -3'))
    write_golden(place / "golden", replace(golden(), tools=()), suite("run-1"))
    command = f"{sys.executable} my_agent.py {{question}}"
    code, said = retrospan(place, "golden", "run", "--command", command)
    assert code == 1 and "✗ weather\n  identical, but for tools that came to no boundary" in said
    assert "--tool __main__:get_weather answers it from the record" in said and "0 of 1" in said
    code, said = retrospan(place, "golden", "run", "--json", "--command", command)
    assert (code, json.loads(said)["verdict"]) == (1, "same_outside_tools")
    code, said = retrospan(place, "golden", "run", "--command", command, "--run-tool", "get_weather")
    assert code == 0 and "✓ weather\n1 of 1" in said
    write_golden(place / "golden", replace(golden(), tools=(), run_tools=("get_weather",)), suite("run-1"))
    code, said = retrospan(place, "golden", "run", "--command", command)
    assert code == 0 and "✓ weather\n1 of 1" in said
    (place / "ran").unlink()
    write_golden(place / "golden", replace(golden(), tools=()), suite("run-1"))
    code, said = retrospan(place, "golden", "run", "--command", command, "--tool", "my_agent:get_weather")
    assert code == 0 and "✓ weather\n1 of 1" in said and not (place / "ran").exists()


def test_a_commit_whose_tools_ran_unseen_is_neither_good_nor_bad(place: Path) -> None:
    (place / "my_agent.py").write_text(PROGRAM.replace('"temp_c": 20', '"temp_c": -3'))
    command = (sys.executable, "my_agent.py", "{question}")
    code, said = retrospan(place, "bisect", "--suite", "run.bundle", "--", *command)
    assert code == 125 and "run run-1: same_outside_tools" in said and "--tool __main__:get_weather" in said
    for flag, name in (("--tool", "my_agent:get_weather"), ("--run-tool", "get_weather")):
        code, said = retrospan(place, "bisect", "--suite", "run.bundle", flag, name, "--", *command)
        # On a slow machine the progress of the replay is said after it.
        assert code == 0 and said.startswith("1 of 1 run does what is on record\n")


def forked(place: Path, step: int, *flags: str) -> tuple[int, str]:
    command = (sys.executable, "my_agent.py", "What is the weather in Oslo?")
    tools = ("--tool", "my_agent:get_weather")
    return retrospan(place, "fork", "run.bundle", "--step", str(step), *flags, *tools, "--", *command)


@pytest.mark.parametrize("flags", [("--prompt", "prompt.txt"), ()], ids=["with a change", "without one"])
def test_a_fork_at_the_end_says_that_it_changed_nothing(place: Path, flags: tuple[str, ...]) -> None:
    (place / "prompt.txt").write_text("You are curt.")
    code, said = forked(place, 4, *flags)
    assert code == 1 and "nothing was changed: the agent made no call from step 4 on" in said


def test_a_step_beyond_the_end_is_refused_before_the_agent_starts(place: Path) -> None:
    (place / "my_agent.py").write_text(f"open('started', 'w')\n{PROGRAM}")
    code, said = forked(place, 5)
    assert code == 2 and "there is no step 5: run run-1 ends with step 3" in said
    code, said = replayed(place, "--until", "99")
    assert code == 2 and "there is no step 99: run run-1 ends with step 3" in said
    assert not (place / "started").exists()


def test_a_program_that_leaves_at_once_and_one_that_is_killed_are_told_apart(place: Path) -> None:
    (place / "my_agent.py").write_text(PROGRAM + "\nimport os\nos._exit(0)\n")
    code, said = replayed(place, "--tool", "my_agent:get_weather")
    assert code == 0 and "identical: 2 of 2" in said, said
    (place / "my_agent.py").write_text(PROGRAM + "\nimport os\nos.kill(os.getpid(), 9)\n")
    code, said = replayed(place, "--tool", "my_agent:get_weather")
    assert code == 2 and "killed before it could tell" in said
