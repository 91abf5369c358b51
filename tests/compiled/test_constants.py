"""Which names of a module the compiler is told never change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from compiled.constants import with_constants
from compiled.modules import files_in

TOP = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("MOST = 5\n", "MOST: Final = (5)\n"),
        ("_ONE, _TWO = 1, 'b'\n", "_ONE: Final = (1); _TWO: Final = ('b')\n"),
        ("KINDS: Mapping[str, str] = {}\n", "KINDS: Final[Mapping[str, str]] = ({})\n"),
        ("SAID = f(x)  # type: ignore[x]\n", "SAID: Final = (f(x))  # type: ignore[x]\n"),
        ("ÄÖ = 'ä'; X = 1\n", "ÄÖ = 'ä'; X = 1\n"),
        # What is no constant, or is assigned again, stays as it is.
        ("lower = Other = 1\nCamel = 2\n", "lower = Other = 1\nCamel = 2\n"),
        ("MOST = 5\nMOST += 1\n", "MOST = 5\nMOST += 1\n"),
        ("MOST = 5\ndef f():\n    global MOST\n    MOST = 6\n", "MOST = 5\ndef f():\n    global MOST\n    MOST = 6\n"),
        ("T = TypeVar('T')\nROW = NewType('ROW', str)\n", "T = TypeVar('T')\nROW = NewType('ROW', str)\n"),
        ("ROW: TypeAlias = 'list[ROW]'\nLATER: int\n", "ROW: TypeAlias = 'list[ROW]'\nLATER: int\n"),
        ("_A, *_B = f()\n", "_A, *_B = f()\n"),
        ("class C:\n    MOST = 5\n", "class C:\n    MOST = 5\n"),
    ],
)  # fmt: skip
def test_names_in_capitals_that_are_assigned_once_are_constants(source: str, made: str) -> None:
    assert with_constants(source) == made


def test_a_value_of_several_lines_keeps_what_follows_in_its_place() -> None:
    source = "AB = (\n    'a'\n    'b'\n)\nONE, TWO = (\n    [1],\n    {2: 3},\n)\nlast = [AB, ONE, TWO]\n"
    names: dict[str, Any] = {"Final": None}
    made = with_constants(source)
    exec(made, names)  # noqa: S102 (the source is above)
    assert names["last"] == ["ab", [1], {2: 3}]
    assert made.count("Final") == 3


@pytest.mark.parametrize("root", ["ingest", "schemas"])
def test_every_module_that_is_compiled_means_the_same(root: str) -> None:
    for file in files_in(TOP / root):
        source = (TOP / root / file).read_text(encoding="utf-8")
        compile(with_constants(source), str(file), "exec")
