"""clickhouse-connect's own tests, run as a reader of port 8123: which of them apply, and what came of each.

They are in its repository only, not in what the package registry has, so a checkout of that is needed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from clients.environments import PROGRAMS, python_program

LISTED = Path(__file__).parent / "clickhouse_connect_tests.toml"
_PACKAGES = (
    "clickhouse-connect[alembic,async,sqlalchemy]==1.12.0",
    *("pandas==3.1.1", "polars==2.1.0", "pyarrow==26.0.1", "lz4==4.4.5", "pyjwt[crypto]==2.10.1"),
    *("pytest==9.2.0", "pytest-asyncio==1.5.0", "pytest-dotenv==0.5.2", "pytest-mock==3.17.0"),
    "pytest-xdist==3.8.0",
)
#: Three minutes alone on two processors.
_SUITE_SECONDS = 1200


@dataclass(frozen=True)
class NotApplied:
    """Tests that do not apply, and why."""

    why: str
    says: str
    """Found in how each of them fails."""
    tests: Sequence[str]
    """A file, `file::test`, or `file::test[case]`."""


@dataclass(frozen=True)
class Outcome:
    """What came of one case of a test: passed, failed or skipped, and what it said."""

    what: str
    said: str = ""


def not_applied() -> list[NotApplied]:
    """What the kept list says."""
    return [NotApplied(**each) for each in tomllib.loads(LISTED.read_text(encoding="utf-8"))["not_applied"]]


def outcomes(checkout: Path, address: str, place: Path) -> dict[str, Outcome]:
    """Run the tests of a checkout against a port, copied to a place of their own; each case by its name."""
    # Without the package beside them, which would be imported in place of the one that is installed.
    shutil.copytree(checkout / "tests", place / "tests")
    shutil.copy(checkout / "pyproject.toml", place)
    interpreter = python_program("reader_suite.py", _PACKAGES)[0]
    host, _, port = address.rpartition(":")
    options = ["-n", "2", "-q", "--tb", "short", "-o", "log_cli=false", "--junitxml", "told.xml"]
    done = subprocess.run(
        [str(interpreter), "-m", "pytest", "-p", "reader_suite", "tests/integration_tests", *options],
        cwd=place,
        env={
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "PYTHONPATH": str(PROGRAMS / "python"),
            "CLICKHOUSE_CONNECT_TEST_HOST": host,
            "CLICKHOUSE_CONNECT_TEST_PORT": port,
            "CLICKHOUSE_CONNECT_TEST_DATABASE": "retrospan",
        },
        capture_output=True,
        text=True,
        timeout=_SUITE_SECONDS,
        check=False,
    )
    assert (place / "told.xml").exists(), done.stdout[-3000:] + done.stderr[-3000:]
    cases = ElementTree.parse(place / "told.xml").iter("testcase")
    return {name: _outcome(case) for case in cases if (name := _name(case))}


def judged(found: Mapping[str, Outcome], listed: Sequence[NotApplied]) -> tuple[Counter[str], list[str]]:
    """How many cases passed, skipped themselves or do not apply; and all that contradicts the list."""
    counted: Counter[str] = Counter()
    wrong: list[str] = []
    unused = {test for each in listed for test in each.tests}
    for name, outcome in found.items():
        file, _, test = name.partition("::")
        names = {file, f"{file}::{test.partition('[')[0]}", name}
        unused -= names
        of = next((each for each in listed if names & {*each.tests}), None)
        counted["not applied" if of else outcome.what] += 1
        if of is None and outcome.what == "failed":
            wrong.append(f"{name} fails: {outcome.said[-500:]}")
        elif of is not None and outcome.what != "failed":
            wrong.append(f"{name} is listed, and it {outcome.what}")
        elif of is not None and not re.search(of.says, outcome.said):
            wrong.append(f"{name} fails otherwise than listed: {outcome.said[-500:]}")
    return counted, wrong + [f"{test} is listed and was not there" for test in sorted(unused)]


def _name(case: ElementTree.Element) -> str:
    """Return `file::test[case]`, the file as in the folder of the tests; '' for a file that skips itself."""
    file = case.get("classname", "").rpartition("tests.integration_tests.")[2].replace(".", "/")
    return f"{file}.py::{case.get('name')}" if file else ""


def _outcome(case: ElementTree.Element) -> Outcome:
    for tag, what in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        if (found := case.find(tag)) is not None:
            return Outcome(what, f"{found.get('message')}\n{found.text}")
    return Outcome("passed")
