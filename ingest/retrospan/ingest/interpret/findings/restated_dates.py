"""Dates that an answer states otherwise than the result it was given: of the same event, and not so many days from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from retrospan.ingest.interpret.findings.said_values import (
    DATE,
    date_of,
    dates_in,
    readings,
    stated_numbers,
    without_dates,
    words_of,
)
from retrospan.ingest.interpret.findings.told import Told
from retrospan.schemas.canonical import ToolCallRow

_GENERAL = frozenset(
    [
        "at",
        "on",
        "by",
        "date",
        "time",
        "day",
        "the",
        "of",
        "in",
        "expected",
        "planned",
        "estimated",
        "scheduled",
        "actual",
        "last",
        "next",
        "timestamp",
    ]
)
_STEM, _SHORTEST = 6, 4
_BETWEEN = (
    r"(?:\W+(?:is|was|will|be|on|the|for|scheduled|planned|expected|date|set|it|now|still)\b){0,6}\W{1,6}"
)
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:$|([T ])\d)")
#: Days that are counted otherwise, numbers that are written as words, and the lengths of months and years.
_WORKING = re.compile(r"\b(?:business|working|week) ?days?\b|werktag", re.IGNORECASE)
_WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]
_CALENDAR = frozenset((28, 29, 30, 31, 59, 60, 61, 62, 89, 90, 91, 92, 365, 366))
_UNSURE = re.compile(
    r"\b(?:not|never|no longer|instead of|originally|previously|if|unless)\b|n't\b", re.IGNORECASE
)


def restated_dates(told: Told) -> Iterator[tuple[str, str, str, ToolCallRow]]:
    """Yield the dates that the answer gives another day, by the word that the name of the result's field begins with.

    A word counts that names one day in all results. A day that is as far from it as any number that the run was told, or
    by whole weeks, a month or a year, may have been computed, and is not yielded.
    """
    stated = dates_in(told.answer)
    if not stated or _WORKING.search(told.text):
        return
    days: dict[str, dict[date, tuple[str, bool, ToolCallRow]]] = {}
    for name, held in told.fields.items():
        for value, _, call in held:
            found = _DAY.match(value) if isinstance(value, str) else None
            read = dates_in(found[1]) if found is not None else []
            if found is None or not read:
                continue
            for word in words_of(name):
                if word not in _GENERAL and len(word) >= _SHORTEST:
                    of_word = days.setdefault(word[:_STEM], {})
                    of_word.setdefault(read[0][1], (str(value), bool(found[2]), call))
    said, spans = {day for _, day in stated}, _spans(told)
    for stem, of_stem in days.items():
        if len(of_stem) != 1:
            continue
        ((day, (value, timed, call)),) = of_stem.items()
        if day in said:
            continue
        for text, other in _labelled(told.answer, stem):
            apart = abs((other - day).days)
            if other not in told.dates and apart not in spans and apart % 7 and not (timed and apart <= 1):
                yield "date", value, text, call
                break


def _spans(told: Told) -> set[int]:
    """Return by how many days the run may have counted from a day that it was told."""
    text = without_dates(told.text)
    numbers = {number for each in stated_numbers(text) for number in readings(each)}
    words = {_WORDS.index(word) for word in re.findall(r"[a-z]+", text.casefold()) if word in _WORDS}
    return {int(number) for number in numbers if number == int(number)} | words | _CALENDAR


def _labelled(answer: str, stem: str) -> Iterator[tuple[str, date]]:
    """Yield the dates that stand after a word that begins so, with nothing of another meaning between."""
    for match in re.finditer(rf"\b{re.escape(stem)}\w*{_BETWEEN}(?P<date>{DATE})", answer, re.IGNORECASE):
        day = date_of(match)
        sentence = re.split(r"[.!?\n]\s", answer[: match.start()])[-1]
        if day is not None and not _UNSURE.search(sentence):
            yield match["date"], day
