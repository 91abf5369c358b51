"""Which of many texts may hold a value, without a search through all of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

#: Texts that share a set of marks: one that has a mark stands among so many that are searched.
_TOGETHER = 16
#: Digits in a row that are a mark.
_LEAST_DIGITS = 3
_ONLY_DIGITS = bytes(sign if sign < 128 and chr(sign).isdigit() else 32 for sign in range(256))
_AFTER_AT, _AFTER_SCHEME = re.compile(r"@[\w-]+"), re.compile(r"://[\w-]+")


class TextIndex:
    """Texts, numbered from 0 on, by their marks: longer numbers, and what follows an @ or ://."""

    def __init__(self) -> None:
        self.texts = 0
        self._marks: list[set[str]] = []

    def add(self, text: str) -> None:
        """Take in the next text."""
        if self.texts % _TOGETHER == 0:
            self._marks.append(set())
        marks = self._marks[-1]
        marks.update(_numbers(text))
        marks.update(_signed(text))
        self.texts += 1

    def candidates(self, marks: Collection[str], begin: int) -> Iterator[int]:
        """Yield the texts from a number on that may have one of the marks, in order."""
        for block in range(begin // _TOGETHER, len(self._marks)):
            if not self._marks[block].isdisjoint(marks):
                first = block * _TOGETHER
                yield from range(max(first, begin), min(first + _TOGETHER, self.texts))


def marks_of(spellings: Iterable[str]) -> set[str] | None:
    """Return marks of which every text has one that holds one of the spellings; None if one of these has no mark."""
    found: set[str] = set()
    for spelling in spellings:
        marks = [mark for mark in _numbers(spelling) if len(mark) >= _LEAST_DIGITS]
        mark = max((*_signed(spelling), *marks), key=lambda mark: (mark[0] in "@:", len(mark)), default=None)
        if mark is None:
            return None
        found.add(mark)
    return found


def _numbers(text: str) -> list[str]:
    return text.encode("utf-8", "surrogatepass").translate(_ONLY_DIGITS).decode("ascii").split()


def _signed(text: str) -> Iterator[str]:
    if "@" in text:
        yield from _AFTER_AT.findall(text)
    if "://" in text:
        yield from _AFTER_SCHEME.findall(text)
