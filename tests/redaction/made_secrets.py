"""Makes texts that a regular expression matches, the same ones in each run. Covers what gitleaks' rules are made of."""

from __future__ import annotations

import re
import string
import sys
from random import Random
from typing import Any

_parser: Any = getattr(re, "_parser") if sys.version_info >= (3, 11) else None  # noqa: B009
_ALL = string.ascii_letters + string.digits
_CLASSES = {
    "DIGIT": string.digits,
    "WORD": _ALL,
    "SPACE": " ",
    "NOT_SPACE": _ALL,
    "NOT_DIGIT": string.ascii_letters,
}
# Of an open repeat so many more than it needs are taken.
_MORE = 3


def made(expression: str, seed: int) -> tuple[str, str]:
    """A text that the expression matches, and what its first group holds: the text itself where it has none."""
    # Go writes some things in another way, and flags in the middle.
    plain = expression.replace("[[:alnum:]]", "[A-Za-z0-9]").replace("\\z", "\\Z")
    plain = re.sub(r"\(\?i\)", "", plain)
    maker = _Maker(Random(seed))
    text = maker.text(_parser.parse(plain))
    return text, maker.first or text


class _Maker:
    def __init__(self, random: Random) -> None:
        self._random = random
        self.first = ""

    def text(self, parts: Any) -> str:
        return "".join(self._part(str(kind), value) for kind, value in parts)

    def _part(self, kind: str, value: Any) -> str:
        if kind == "LITERAL":
            return chr(value)
        if kind == "ANY":
            return "."
        if kind == "NOT_LITERAL":
            return self._random.choice(_ALL.replace(chr(value), ""))
        if kind == "IN":
            return self._random.choice(_members(value))
        if kind == "BRANCH":
            return self.text(self._random.choice([branch for branch in value[1] if len(branch)] or value[1]))
        if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, inner = value
            times = self._random.randint(
                least if most < 100 else max(least, 8), min(most, max(least, 8) + _MORE)
            )
            return "".join(self.text(inner) for _ in range(times))
        if kind == "SUBPATTERN":
            found = self.text(value[3])
            if value[0] == 1:
                self.first = found
            return found
        assert kind == "AT", kind
        return ""


def _members(parts: Any) -> str:
    if str(parts[0][0]) == "NEGATE":
        without = _members(parts[1:])
        return "".join(character for character in _ALL + " " if character not in without)
    found = ""
    for kind, value in parts:
        if str(kind) == "LITERAL":
            found += chr(value)
        elif str(kind) == "RANGE":
            found += "".join(map(chr, range(value[0], value[1] + 1)))
        else:
            found += _CLASSES[str(value).removeprefix("CATEGORY_")]
    return found
