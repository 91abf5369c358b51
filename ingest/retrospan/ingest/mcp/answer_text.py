"""A command's output as the answer of a tool: quoted line by line, and cut with a note of the call that continues it.
Pure.

The lines contain text of agents, tools and users. A mark at the head of each line cannot be closed from inside, as a
fence around all of them could.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

#: Before a line of data, and before the rest of one that is too long to be shown in one piece.
QUOTED, CONTINUED, REMARK = "| ", "|+ ", "|! "
#: Characters of a line that are shown in one piece.
LONGEST_LINE = 1_000
_MOST_REMARKS = 2_000
#: Characters kept for what is said about the cut: the call that goes on repeats what the caller gave.
_ROOM_FOR_CUT = 200


def quoted(text: str) -> list[str]:
    """Return the lines of a text, each with its mark; long ones in several."""
    lines: list[str] = []
    for line in text.splitlines():
        lines.append(QUOTED + line[:LONGEST_LINE])
        lines += [
            CONTINUED + line[at : at + LONGEST_LINE] for at in range(LONGEST_LINE, len(line), LONGEST_LINE)
        ]
    return lines


def remarks(text: str) -> list[str]:
    """Return what limits or explains an answer, each line with its mark, cut short."""
    cut = text if len(text) <= _MOST_REMARKS else text[:_MOST_REMARKS] + "…"
    return [REMARK + line for line in cut.splitlines()]


def answer_text(
    tool: str,
    given: Mapping[str, Any],
    output: str,
    explained: str,
    *,
    is_whole: bool,
    most: int,
) -> str:
    """Return the answer, of `most` characters at most.

    Args:
        tool: its name.
        given: its arguments, for the call that goes on.
        output: what the command printed.
        explained: what it printed about that.
        is_whole: False if it printed more, which was not kept.
        most: characters.
    """
    lines = quoted(output)
    begin = int(given.get("from_line", 1))
    head = remarks(explained)
    if begin > max(1, len(lines)):
        return _cut_at([*head, f"[the answer has {len(lines):,} lines: there is no line {begin:,}]"], most)
    called = json.dumps(
        {key: value for key, value in given.items() if key != "from_line"}, ensure_ascii=False
    )
    shown = list[str]()
    room = most - sum(len(line) + 1 for line in head) - len(called) - _ROOM_FOR_CUT
    for line in lines[begin - 1 :]:
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    following = begin + len(shown)
    if following <= len(lines) or not is_whole or begin > 1:
        shown.append(_cut(tool, given, begin, following, len(lines), is_whole=is_whole))
    return _cut_at([*head, *(shown or ["(nothing)"])], most)


def _cut(
    tool: str, given: Mapping[str, Any], begin: int, following: int, lines: int, *, is_whole: bool
) -> str:
    of = f"{lines:,}" if is_whole else f"more than {lines:,}, which is all that is kept: ask for less"
    said = f"lines {begin:,} to {following - 1:,} of {of}"
    if following > lines:
        return f"[{said}]"
    again = json.dumps({**given, "from_line": following}, ensure_ascii=False)
    return f"[{said}; next: {tool} {again}]"


def _cut_at(lines: Sequence[str], most: int) -> str:
    text = "\n".join(lines)
    return text if len(text) <= most else text[: most - 1] + "…"
