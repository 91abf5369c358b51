"""`retrospan sql` with answers longer than it may hold: as a table they are written as they come."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fix_cli import Ask, Terminal

from retrospan.ingest.cli.client import answer_table

#: 77 MB of values, of which none is like another.
LONG = "SELECT number, randomPrintableASCII(2560) AS text FROM numbers(30000)"


def _most_memory(collector: str, out: Path, *words: str) -> int:
    """Run the command with its output in a file; return the most memory that it took, in bytes."""
    environ = {**os.environ, "RETROSPAN_URL": collector}
    # Not from getrusage: there the memory of the process that started it counts as well.
    program = (
        "import re, sys; from pathlib import Path; from retrospan.ingest.cli.main import main\n"
        "code = main(sys.argv[1:])\n"
        "most = re.search(r'VmHWM:\\s*(\\d+) kB', Path('/proc/self/status').read_text())\n"
        "print(code, most[1], file=sys.stderr)"
    )
    with out.open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-c", program, "sql", LONG, *words],
            stdout=file,
            stderr=subprocess.PIPE,
            env=environ,
            text=True,
            check=True,
        )
    code, memory = done.stderr.split()[-2:]
    assert code == "0"
    return int(memory) * 1024


@pytest.mark.linux
@pytest.mark.parametrize("words", [(), ("--format", "csv")])
def test_a_long_answer_takes_no_more_memory_than_its_beginning(
    collector: str, tmp_path: Path, words: tuple[str, ...]
) -> None:
    out = tmp_path / "out"
    assert _most_memory(collector, out, *words) < 120e6
    assert out.stat().st_size > 76e6
    with out.open("rb") as file:
        assert sum(line.count(b"\n") for line in file) >= 30_000


def test_rows_after_those_that_were_measured_stand_under_the_same_columns(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_table, "ROWS_MEASURED", 3)
    said = ask("sql", "SELECT number, toString(number * 10) AS tens FROM numbers(120)")
    assert said.lines[:4] == ["number  tens", "     0  0", "     1  10", "     2  20"]
    assert said.lines[120] == "   119  1190" and len(said.lines) == 121
    assert "120 rows" in said.err


def test_a_longer_value_moves_the_rest_of_its_line_and_is_whole(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_table, "ROWS_MEASURED", 2)
    said = ask("sql", "SELECT repeat('x', number * number) AS x, number FROM numbers(1, 4)")
    assert said.lines == [
        "x     number",
        "x          1",
        "xxxx       2",
        "xxxxxxxxx       3",
        "xxxxxxxxxxxxxxxx       4",
    ]


def test_columns_of_one_name_are_all_shown(ask: Ask) -> None:
    assert ask("sql", "SELECT 1, 1, 2").lines == ["1  1  2", "1  1  2"]


def test_rows_of_many_characters_are_not_all_held(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_table, "CHARACTERS_MEASURED", 1_000)
    said = ask("sql", "SELECT repeat('y', 600) AS y FROM numbers(9)")
    assert said.lines == ["y", *["y" * 600] * 9]
    assert "9 rows" in said.err


def test_a_terminal_says_how_many_rows_it_left_out(terminal: Terminal) -> None:
    said = terminal("sql", "SELECT repeat('y', 600000) AS y FROM numbers(100)")
    assert "56 of 100 rows; all: --wide, or --format json" in said.out
