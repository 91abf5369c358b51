"""The report of a suite as JUnit's XML: golden runs and bisect, each verdict, and what would break the file."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from golden.agents import TOOL, golden, suite, write_agent

from retrospan.ingest.cli.views.junit import Case, write_junit
from retrospan.schemas.bundle.container import write_bundle
from retrospan.schemas.bundle.golden import write_golden

AGENT = [sys.executable, "main.py", "{question}"]


def retrospan(place: Path, *words: str) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", *words],
        cwd=place, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1"},
    )  # fmt: skip
    return done.returncode


def cases(file: Path) -> dict[str, tuple[str, str, str]]:
    """By name: failure, error or nothing; its message; its text."""
    found = dict[str, tuple[str, str, str]]()
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        inside = [each for each in case if each.tag != "system-out"]
        found[case.attrib["name"]] = (
            (inside[0].tag, inside[0].attrib["message"], inside[0].text or "") if inside else ("", "", "")
        )
    return found


def test_each_golden_run_is_a_case(tmp_path: Path) -> None:
    write_agent(tmp_path)
    folder = tmp_path / "golden"
    write_golden(folder, golden(), suite("run-1"))
    write_golden(folder, replace(golden("get_weather <= 0"), name="unmet"), suite("run-1"))
    command = ("--command", shlex.join(AGENT), "--junit", "junit.xml")
    assert retrospan(tmp_path, "golden", "run", *command) == 1
    found = cases(tmp_path / "junit.xml")
    assert found["weather"] == ("", "", "")
    assert found["unmet"][0] == "failure" and "get_weather <= 0" in found["unmet"][2]
    write_agent(tmp_path, "You are Orla.", "You are Nora.")
    assert retrospan(tmp_path, "golden", "run", "weather", *command) == 1
    (only,) = cases(tmp_path / "junit.xml").values()
    assert only[:2] == ("failure", "changed") and "system[0].content" in only[2]
    (tmp_path / "agent.py").write_text("import no_such_module\n")
    assert retrospan(tmp_path, "golden", "run", "weather", *command) == 2
    assert cases(tmp_path / "junit.xml")["weather"][:2] == ("error", "trouble")


def test_tools_that_ran_unseen_are_a_failure_of_their_own_kind(tmp_path: Path) -> None:
    write_agent(tmp_path, '"temp_c": 20', '"temp_c": -3')
    write_golden(tmp_path / "golden", replace(golden(), tools=()), suite("run-1"))
    write_bundle(tmp_path / "suite.bundle", suite("run-1"))
    assert retrospan(tmp_path, "golden", "run", "--command", shlex.join(AGENT), "--junit", "junit.xml") == 1
    assert cases(tmp_path / "junit.xml")["weather"][:2] == ("failure", "same_outside_tools")
    assert (
        retrospan(tmp_path, "bisect", "--suite", "suite.bundle", "--junit", "junit.xml", "--", *AGENT) == 125
    )
    assert cases(tmp_path / "junit.xml")["run-1"][:2] == ("error", "same_outside_tools")


def test_each_run_of_a_suite_is_a_case(tmp_path: Path) -> None:
    write_agent(tmp_path, "You are Orla.", "You are Nora.")
    write_bundle(tmp_path / "suite.bundle", suite("run-1", "run-2"))
    words = (
        "bisect",
        "--suite",
        "suite.bundle",
        "--tool",
        TOOL,
        "--all",
        "--junit",
        "junit.xml",
        "--",
        *AGENT,
    )
    assert retrospan(tmp_path, *words) == 1
    found = cases(tmp_path / "junit.xml")
    assert [each[:2] for each in found.values()] == [("failure", "changed")] * 2
    (suite_,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite_.attrib["tests"], suite_.attrib["failures"], suite_.attrib["errors"]) == ("2", "2", "0")


def test_what_xml_has_no_character_for_is_told(tmp_path: Path) -> None:
    evil = "\x00\x1b[2J<&>\"'\ud83d\uffff]]>é"
    write_junit(tmp_path / "junit.xml", evil, [Case(evil, "failure", "changed", [evil, evil])])
    ((name, found),) = cases(tmp_path / "junit.xml").items()
    assert name == "\\x00\\x1b[2J<&>\"'\\xd83d\\xffff]]>é" and found[2] == f"{name}\n{name}"
