"""What came of a suite of replays as JUnit's XML, which servers for builds read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple
from xml.etree import ElementTree

from retrospan.schemas.errors import PermanentError

#: What XML 1.0 has no character for.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Case(NamedTuple):
    """One replay: it passed, failed, or could not be told; and the lines that say why."""

    name: str
    outcome: Literal["passed", "failure", "error"]
    verdict: str
    lines: Sequence[str]


@contextmanager
def junit_of(file: Path | None, suite: str, cases: Sequence[Case]) -> Iterator[None]:
    """Write the cases that are there in the end, also where something was raised; nothing without a file."""
    try:
        yield
    finally:
        if file is not None:
            write_junit(file, suite, cases)


def write_junit(file: Path, suite: str, cases: Sequence[Case]) -> None:
    """Write the report of a suite. Raises PermanentError if it cannot be written."""
    outcomes = [case.outcome for case in cases]
    counts = {"tests": len(cases), "failures": outcomes.count("failure"), "errors": outcomes.count("error")}
    top = ElementTree.Element("testsuites")
    told = {name: str(count) for name, count in counts.items()}
    made = ElementTree.SubElement(top, "testsuite", {"name": _plain(suite), **told, "skipped": "0"})
    for case in cases:
        place = ElementTree.SubElement(
            made, "testcase", {"classname": _plain(suite), "name": _plain(case.name)}
        )
        text = _plain("\n".join(case.lines))
        if case.outcome == "passed":
            if text:
                ElementTree.SubElement(place, "system-out").text = text
            continue
        ElementTree.SubElement(place, case.outcome, {"message": case.verdict}).text = text
    try:
        ElementTree.ElementTree(top).write(file, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise PermanentError(f"{file} cannot be written: {error.strerror or error}.") from error


def _plain(text: str) -> str:
    return _NO_XML.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
