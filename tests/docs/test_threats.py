"""docs/threats.md: every wall has a test, and every test that is named is there."""

from __future__ import annotations

import ast
import re

import pytest
from docs.pages import TOP, Page

PAGE = Page(TOP / "docs" / "threats.md")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE.text)))


def rows() -> list[list[str]]:
    """The cells of every row of a table, without heads."""
    lines = [line for line in PAGE.text.splitlines() if line.startswith("| ")]
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines
        if not line.endswith("held by |")
    ]


def test_there_are_walls() -> None:
    assert len(rows()) > 25 and len(NAMED) > 15


def test_every_wall_is_held_by_a_test_or_by_nothing_and_says_so() -> None:
    for who, why, held in rows():
        assert re.search(r"tests/", held) or why.startswith("nothing:"), who


@pytest.mark.parametrize("name", NAMED)
def test_what_holds_a_wall_is_there(name: str) -> None:
    tree = ast.parse((TOP / name).read_text(encoding="utf-8"))
    tests = [
        part for part in ast.walk(tree) if isinstance(part, ast.FunctionDef) and part.name.startswith("test_")
    ]
    assert tests, f"{name} holds no test"


def test_every_attack_is_named() -> None:
    attacks = {f"tests/attacks/{file.name}" for file in (TOP / "tests" / "attacks").glob("test_*.py")}
    assert attacks <= set(NAMED)
