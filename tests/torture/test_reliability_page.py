"""The page on reliability names every case, and only tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PAGE = (TOP / "docs" / "reliability.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (R\d+) \| (.+?) \| (tested|partly|not tried) \| (.*) \|$", PAGE, re.MULTILINE)


def test_every_case_has_its_row() -> None:
    assert [row[0] for row in ROWS] == [f"R{number:02}" for number in range(1, 49)]


def test_the_tests_that_it_names_exist() -> None:
    named = re.findall(r"\[(test_\w+)\]\(\.\./(tests/[\w/]+\.py)\)", PAGE)
    assert len(named) > 50
    for name, path in named:
        assert f"def {name}(" in (TOP / path).read_text(encoding="utf-8"), f"{name} is not in {path}"


def test_a_case_that_tests_say_they_hold_names_one_of_them() -> None:
    bearing: dict[str, set[str]] = {}
    for file in sorted((TOP / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.requirement":
                    for case in mark.args:
                        bearing.setdefault(ast.literal_eval(case), set()).add(node.name)
    rows = {case: set(re.findall(r"\[(test_\w+)\]", cell)) for case, _, _, cell in ROWS}
    assert len(bearing) > 30
    assert bearing.keys() <= rows.keys()
    assert {case for case, tests in bearing.items() if not tests & rows[case]} == set()


def test_only_what_is_tested_says_so() -> None:
    for case, _, state, cell in ROWS:
        assert ("[test_" in cell) == (state != "not tried"), case
        assert ("missing: " in cell) == (state == "partly"), case


def test_the_counts_are_those_of_the_table() -> None:
    counts = [sum(row[2] == state for row in ROWS) for state in ("tested", "partly", "not tried")]
    assert f"Of the {len(ROWS)} cases {counts[0]} are tested, {counts[1]} partly, {counts[2]} not." in PAGE
