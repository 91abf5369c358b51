"""What the demo prints, and the blocks of the README that show it.

Run as a program, `.venv/bin/python tests/docs/demo.py`, it plays the demo and brings the README's blocks up to date:
blocks without a cut are replaced, blocks with one keep the lines they had.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"
COLUMNS = 100
CUT = "[…]"

#: What differs from one demo to the next.
_VARIES = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d(\.\d+)?")
_BLOCK = re.compile(r"(?<=^```text\n)[^`]*?^\$ retrospan .*?(?=^```$)", re.MULTILINE | re.DOTALL)


def plain(line: str) -> str:
    """A line without dates and times."""
    return _VARIES.sub("·", line).rstrip()


def on_a_terminal(arguments: list[str]) -> list[str]:
    """The lines that a command of this environment writes to a terminal without colours."""
    terminal, inside = pty.openpty()
    settings = {"COLUMNS": str(COLUMNS), "NO_COLOR": "1", "TERM": "xterm", "TZ": "UTC", "PAGER": "cat"}
    program = os.path.join(os.path.dirname(sys.executable), "retrospan")
    process = subprocess.Popen(
        [program, *arguments], env={**os.environ, **settings}, stdin=inside, stdout=inside, stderr=inside
    )
    os.close(inside)
    written = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            # Linux answers a read with EIO once the other side is closed.
            break
        if not piece:
            break
        written += piece
    os.close(terminal)
    assert process.wait() == 0, written.decode(errors="replace")
    lines = written.decode().replace("\r\n", "\n").split("\n")
    # Progress erases its own line.
    return [re.split(r"\r|\x1b\[2?K", line)[-1].rstrip() for line in lines]


def sections(printed: list[str]) -> dict[str, list[str]]:
    """The demo's answers by their question: question, command, answer."""
    starts = [at - 1 for at, line in enumerate(printed) if line.startswith("$ retrospan ")]
    ends = [*starts[1:], next(at for at, line in enumerate(printed) if line.startswith("Done in "))]
    found = {}
    for start, end in zip(starts, ends, strict=True):
        lines = printed[start:end]
        while lines and not lines[-1]:
            lines.pop()
        found[lines[0]] = lines
    return found


def shown(text: str) -> list[list[str]]:
    """The blocks of a page that show the demo, as lines."""
    return [found[0].splitlines() for found in _BLOCK.finditer(text)]


def cut_like(block: list[str], section: list[str]) -> list[str]:
    """A section with the cuts that a block of it had."""
    if CUT not in block:
        return section
    kept = {plain(line) for line in block}
    lines: list[str] = []
    for line in section:
        if plain(line) in kept:
            lines.append(line)
        elif lines[-1:] != [CUT]:
            lines.append(CUT)
    return lines


def refresh() -> None:
    """Write what the demo prints now into the README."""
    answers = sections(on_a_terminal(["demo"]))
    text = README.read_text(encoding="utf-8")

    def renewed(block: re.Match[str]) -> str:
        lines = block[0].splitlines()
        return "\n".join(cut_like(lines, answers[lines[0]])) + "\n"

    README.write_text(_BLOCK.sub(renewed, text), encoding="utf-8")


if __name__ == "__main__":
    refresh()
