"""Answers are quoted line by line, no longer than asked for, and can be read to their end."""

from __future__ import annotations

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from retrospan.ingest.mcp.answer_text import LONGEST_LINE, answer_text, quoted

_TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=200)
_OUTPUT = st.lists(
    st.one_of(_TEXT, st.integers(0, 3 * LONGEST_LINE).map(lambda n: "x" * n)), max_size=60
).map("\n".join)


@settings(deadline=None)
@given(output=_OUTPUT, explained=_TEXT, most=st.integers(3_000, 20_000))
def test_pages_are_short_enough_and_together_everything(output: str, explained: str, most: int) -> None:
    asked: dict[str, object] = {"run": "a run", "max_characters": most}
    found: list[str] = []
    for _ in range(1_000):
        page = answer_text("show", asked, output, explained, is_whole=True, most=most)
        assert len(page) <= most
        found += [line for line in page.split("\n") if line.startswith(("| ", "|+ "))]
        again = re.search(r"; next: show (\{.*\})\]$", page)
        if again is None:
            break
        asked = json.loads(again[1])
        assert asked["run"] == "a run"
    assert found == quoted(output)


@settings(deadline=None)
@given(output=_OUTPUT)
def test_every_line_of_data_is_marked_whatever_it_holds(output: str) -> None:
    assert all(line.startswith(("| ", "|+ ")) and len(line.splitlines()) == 1 for line in quoted(output))
    joined = "".join(line[2:] if line.startswith("| ") else line[3:] for line in quoted(output))
    assert joined == "".join(output.splitlines())


def test_what_was_not_kept_is_said() -> None:
    page = answer_text("sql", {"query": "SELECT 1"}, "1\n2", "", is_whole=False, most=8_000)
    assert page == "| 1\n| 2\n[lines 1 to 2 of more than 2, which is all that is kept: ask for less]"
    assert "no line 9" in answer_text("sql", {"from_line": 9}, "1\n2", "", is_whole=True, most=8_000)
    assert answer_text("sql", {}, "", "no rows (n)", is_whole=True, most=8_000) == "|! no rows (n)\n(nothing)"
