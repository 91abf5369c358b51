"""Line by line, what is new and what is gone: in instructions, in definitions of tools, in parameters. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import cast

#: Lines of a text that are compared; what follows is left out, and that is said.
MOST_LINES = 2_000
#: A line is new where this part of the texts of one side has it, and none of the other.
_MOST = 0.8


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is new, or gone, with its number in the text that has it, from 1; 0 where it is not one of a text."""

    is_new: bool
    text: str
    number: int = 0


def text_of_instructions(value: str | None) -> str | None:
    """Return the text of instructions, a JSON array of parts; what is not text stands there as JSON."""
    parts = _read(value)
    if not isinstance(parts, list):
        return value
    texts: list[str] = []
    for part in cast("list[object]", parts):
        said = cast("dict[str, object]", part).get("content") if isinstance(part, dict) else part
        texts.append(said if isinstance(said, str) else _written(part))
    return "\n".join(texts)


def differing_lines(before: str, now: str) -> list[Line]:
    """Return the lines that are gone and those that are new, in their order; where one took another's place, gone first."""
    a, b = before.splitlines()[:MOST_LINES], now.splitlines()[:MOST_LINES]
    found: list[Line] = []
    for kind, a_from, a_to, b_from, b_to in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind != "equal":
            found += [Line(False, a[place], place + 1) for place in range(a_from, a_to) if a[place].strip()]
            found += [Line(True, b[place], place + 1) for place in range(b_from, b_to) if b[place].strip()]
    return found


def common_lines(before: Sequence[str], now: Sequence[str]) -> list[Line]:
    """Return the lines that nearly all texts of one side have, and none of the other.

    For texts that differ from run to run, such as by a date: what differs inside a side is not told.
    """
    if not before or not now:
        return []
    of_before, of_now = (
        Counter(line for text in texts for line in {*text.splitlines()[:MOST_LINES]} if line.strip())
        for texts in (before, now)
    )

    def order(texts: Sequence[str], lines: set[str]) -> Iterator[str]:
        told = dict.fromkeys(line for text in texts for line in text.splitlines()[:MOST_LINES])
        return (line for line in told if line in lines)

    gone = {line for line, n in of_before.items() if n >= _MOST * len(before) and not of_now[line]}
    new = {line for line, n in of_now.items() if n >= _MOST * len(now) and not of_before[line]}
    return [
        *(Line(False, line) for line in order(before, gone)),
        *(Line(True, line) for line in order(now, new)),
    ]


def differing_tools(before: str, now: str) -> list[Line]:
    """Return the definitions of tools that are gone, new or written otherwise, each as JSON; the order makes no difference."""
    a, b = _by_name(_read(before)), _by_name(_read(now))
    if a is None or b is None:
        return differing_lines(before, now)
    found: list[Line] = []
    for name in dict.fromkeys([*a, *b]):
        if a.get(name) != b.get(name):
            found += [Line(False, a[name])] if name in a else []
            found += [Line(True, b[name])] if name in b else []
    return found


def differing_members(before: str, now: str) -> list[Line]:
    """Return the members of two JSON objects that are gone, new or other, as `name: value`."""
    a, b = _read(before), _read(now)
    if not isinstance(a, dict) or not isinstance(b, dict):
        return differing_lines(before, now)
    of_a, of_b = cast("dict[str, object]", a), cast("dict[str, object]", b)
    found: list[Line] = []
    for name in dict.fromkeys([*of_a, *of_b]):
        if name in of_a and of_a[name] != of_b.get(name, ...):
            found.append(Line(False, f"{name}: {_written(of_a[name])}"))
        if name in of_b and of_b[name] != of_a.get(name, ...):
            found.append(Line(True, f"{name}: {_written(of_b[name])}"))
    return found


def _by_name(definitions: object) -> Mapping[str, str] | None:
    """Return definitions as JSON by the names of their tools; None if they are not a list of named ones."""
    if not isinstance(definitions, list):
        return None
    found: dict[str, str] = {}
    for each in cast("list[object]", definitions):
        if not isinstance(each, dict):
            return None
        tool = cast("dict[str, object]", each)
        function = tool.get("function")
        name = tool.get("name") or (
            cast("dict[str, object]", function).get("name") if isinstance(function, dict) else None
        )
        if not isinstance(name, str) or name in found:
            return None
        found[name] = _written(tool)
    return found


def _read(text: str | None) -> object:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(", ", ": "))
