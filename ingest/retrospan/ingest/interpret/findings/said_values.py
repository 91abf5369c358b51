"""Values inside results and texts that can be told again: identifiers, numbers and dates. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from retrospan.ingest.json_text import read_value

#: Letters, then groups joined by - or _, with three digits at least: ORD-4471, inv_2024_0017, AB12345.
_IDENTIFIER = re.compile(r"(?<![\w./@-])[A-Za-z]{1,8}(?:[-_][A-Za-z0-9]+|\d)[A-Za-z0-9_-]{2,40}(?![\w@-])")
NUMBER = r"\d{1,3}(?:[,'\u202f]\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d+(?:[.,]\d+)?"
_NUMBER = re.compile(rf"(?<![\w.,]){NUMBER}(?![\w]|[.,]\d)")
_LOOSE = re.compile(r"\d+(?:[.,']\d+)*")
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = r"(?P<{0}>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
DATE = (
    r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})"
    rf"|{_MONTH.format('m1')} (?P<d1>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y1>\d{{4}})"
    rf"|(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\.? (?:of )?{_MONTH.format('m2')},? (?P<y2>\d{{4}})"
)
_DATE = re.compile(rf"(?<![\w-])(?:{DATE})", re.IGNORECASE)

_SMALL = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_TEENS = ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_ONES = {word: number for number, word in enumerate(_SMALL + _TEENS, start=2)}
_WORDS_OF_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_TENS = {word: 10 * number for number, word in enumerate(_WORDS_OF_TENS, start=2)}
_UNITS_OF_TENS = "|".join(["one", *_SMALL[:8]])
_WORDED = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?:[\s-](?P<unit>{_UNITS_OF_TENS}))?|(?P<ones>{'|'.join(_ONES)}))\b",
    re.IGNORECASE,
)


def identifiers(text: str) -> Iterator[re.Match[str]]:
    """Yield the identifiers of a text: with three digits at least, and no dates."""
    for found in _IDENTIFIER.finditer(text):
        if sum(map(str.isdigit, found[0])) >= 3:
            yield found


def shape_of(identifier: str) -> str:
    """Return what two identifiers of one kind share: all but their digits."""
    return re.sub(r"\d", "9", identifier.casefold())


def differing(one: str, other: str) -> int:
    """Return in how many places two texts of one length differ."""
    return sum(a != b for a, b in zip(one, other, strict=True))


def readings(text: str) -> set[Decimal]:
    """Return the numbers that a text such as 1,299.00 or 1.299,00 may mean."""
    plain = re.sub(r"['\u202f\s]", "", text)
    forms = {plain.replace(",", ""), plain.replace(".", "").replace(",", "."), plain.replace(",", ".")}
    found: set[Decimal] = set()
    for form in forms:
        try:
            found.add(Decimal(form))
        except InvalidOperation:
            continue
    return found


def numbers_in(text: str) -> set[Decimal]:
    """Return all numbers that a text may hold, also inside identifiers and dates."""
    found: set[Decimal] = set()
    for match in _LOOSE.finditer(text):
        if len(match[0]) <= 30:
            found |= readings(match[0])
            found |= {Decimal(part) for part in re.split(r"\D", match[0]) if part}
    return found


def worded_numbers(text: str) -> set[Decimal]:
    """Return the numbers from two to ninety-nine that a text writes as English words."""
    found: set[Decimal] = set()
    for match in _WORDED.finditer(text):
        tens, unit, ones = (str(match[name] or "").lower() for name in ("tens", "unit", "ones"))
        found.add(Decimal(_TENS.get(tens, 0) + _ONES.get(unit or ones, 1 if unit else 0)))
    return found


def stated_numbers(text: str) -> list[str]:
    """Return the numbers that stand by themselves in a text, as they are written."""
    return _NUMBER.findall(text)


def without_dates(text: str) -> str:
    """Return a text with its dates left out."""
    return _DATE.sub(" ", text)


def dates_in(text: str) -> list[tuple[int, date]]:
    """Return the dates of a text that can be read in one way only, each with its place."""
    found: list[tuple[int, date]] = []
    for match in _DATE.finditer(text):
        day = date_of(match)
        if day is not None:
            found.append((match.start(), day))
    return found


def date_of(match: re.Match[str]) -> date | None:
    """Return the day that a match of DATE means; None if there is no such day."""
    year = match["y"] or match["y1"] or match["y2"]
    named = match["m1"] or match["m2"]
    month = MONTHS.index(named.lower()) + 1 if named else int(match["m"])
    try:
        return date(int(year), month, int(match["d"] or match["d1"] or match["d2"]))
    except ValueError:
        return None


def fields_of(result: str | None) -> Iterator[tuple[str, object, dict[str, object]]]:
    """Yield the fields of a JSON result: name, value that is not a container, and the object that holds it."""
    stack: list[object] = [read_value(result)]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            for name, value in item.items():
                if isinstance(value, dict | list):
                    stack.append(value)
                else:
                    yield str(name), value, item
        elif isinstance(item, list):
            stack += item


@lru_cache(1_024)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a field's name: orderTotal and order_total are `order total`."""
    return tuple(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_\-\s.]+", " ", name).casefold().split())
