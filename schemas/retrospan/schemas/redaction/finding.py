"""What a finder is, and how one is built from an expression.

Python's `re` backtracks, so each expression of the built-in rules is linear by construction: every repeat is either
bounded, or the last thing in its expression (then nothing after it can fail), or held to one start per run by what
stands before it. `tests/redaction` feeds each of them hostile text of several sizes.

`hints` are lower-case texts of which one is in every match: most text has none of them, and is passed over at the
speed of `in`. They hold no character that JSON may write as an escape. `loose` is a shorter expression that finds at
least every match even where the text is still escaped as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

Spans: TypeAlias = Iterator[tuple[int, int]]

#: What stands before a secret: nothing that could belong to the same word. `\n` as two characters is not a word.
START = r"(?:(?<![A-Za-z0-9])|(?<=\\[abfnrtv]))"


#: Behind the prefix of a key comes more of it, and JSON escapes none of these characters.
RUN = 10
RUN_OF = r"[A-Za-z0-9_.=+~-]"


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds one kind of secret: `find` yields the ranges to take out."""

    rule: str
    hints: tuple[str, ...]
    find: Callable[[str], Spans]
    loosely: tuple[bytes, int] | None = None
    """The loose expression and its flags."""
    run: bool = False
    """Whether each match goes on behind its hint with RUN characters of a key or more."""

    @property
    def loose(self) -> re.Pattern[bytes] | None:
        """The loose expression, compiled."""
        return re.compile(*self.loosely) if self.loosely is not None else None


def expression(
    rule: str,
    hints: tuple[str, ...],
    pattern: str,
    *,
    flags: int = 0,
    holds: Callable[[str], bool] | None = None,
    loose: bytes = b"",
    run: bool = False,
) -> Finder:
    """Return a finder from an expression: the group that matched, or all of it, goes; `holds` has the last word."""

    @cache
    def compiled() -> re.Pattern[str]:
        # When first needed: there are a hundred, and a collector that takes out nothing starts without them.
        return re.compile(pattern, re.ASCII | flags)

    def find(text: str) -> Spans:
        for match in compiled().finditer(text):
            group = match.lastindex or 0
            if holds is None or holds(match[group]):
                yield match.span(group)

    return Finder(rule, hints, find, (loose, flags & re.IGNORECASE) if loose else None, run)


def mixed(text: str) -> bool:
    """Letters and digits together: what is made by chance, and no word."""
    return any(character.isdigit() for character in text) and any(character.isalpha() for character in text)
