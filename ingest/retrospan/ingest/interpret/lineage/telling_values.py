"""Values that a text says again only if it has them from somewhere: addresses, URLs, ids, amounts, dates, quoted names. Pure.

They are read out of arguments and answers, which are short, and looked for in what was said before; so each comes with all
the ways in which it is written. Numbers of few digits, single words and `true` are in too many texts to tell anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from retrospan.ingest.json_text import read_value

#: Bounds of what is read of one call or answer.
MOST_LEAVES, MOST_CHARACTERS, MOST_VALUES = 1_000, 4_000, 40
LONGEST_NAME, SHORTEST_NAME = 80, 8
#: Digits of a whole number, of one with decimals, and of an id; and those of a number that are left without its zeros.
LEAST_WHOLE, LEAST_DECIMAL, LEAST_OF_ID, LEAST_TELLING = 5, 4, 3, 3
_SHORTEST_URL, _SHORTEST_ID, _LEAST_JOINED, _LONGEST_NUMBER, _CENTS = 12, 5, 7, 30, 2
_UNSEEN = "\u00ad\u200b-\u200f\u2060\ufeff"
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_MONTH = "|".join(name[:3] for name in _MONTHS)
_BEFORE, _AFTER = rf"(?<![\w@.+%{_UNSEEN}/-])", rf"(?![\w@{_UNSEEN}])"
#: Each repetition is bounded and begins where no other can: a text is read in time linear in its length.
_URL = r"(?P<url>(?<!\w)https?://[^\s<>\"'`\\{}|^\[\]]{4,300})"
_ADDRESS = rf"(?P<address>{_BEFORE}[\w.+%-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,8}}{_AFTER})"
_DATE_OR_TOKEN = (
    rf"(?P<date>(?<![\w-])(?:(?P<y>\d{{4}})-(?P<m>\d\d)-(?P<d>\d\d)(?![\d-])"
    rf"|(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\.? (?P<m1>{_MONTH})[a-z]{{0,6}}\.?,? (?P<y1>\d{{4}})\b"
    rf"|(?P<m2>{_MONTH})[a-z]{{0,6}}\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y2>\d{{4}})\b))"
    rf"|(?P<token>{_BEFORE}\w{{1,64}}(?:(?:[-./']|(?<=\d),(?=\d))\w{{1,64}}){{0,8}}{_AFTER})"
)
_VALUE = re.compile(f"{_URL}|{_ADDRESS}|{_DATE_OR_TOKEN}")
#: The same for a text without the signs of the others, as most are: these look at every word for their sign.
_PLAIN_VALUE = re.compile(_DATE_OR_TOKEN)
_NAME = re.compile(r"(?:(?<!\w)[\"'`]|[“‘«„])(?! )([^\"'`“”‘’«»„\n]{8,80})(?<! )[\"'`”’»“]")
#: A text without any of the first holds no name between quotes, without any of the others no other value.
_QUOTES, _SIGNS = re.compile(r"[\"'`“‘«„]"), re.compile(r"[\d@]|://")
_NAME_SIGNS = re.compile(r"[\w .&'/()+-]+")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d{1,4})?|\d{1,12}\.\d{1,4}|\d{1,15}")
_GROUPED_ABROAD = re.compile(r"\d{1,3}(?:\.\d{3})+,\d{1,4}|\d{1,12},\d{1,2}")
_ABROAD, _NO_SIGNS = str.maketrans(",.", ".,"), str.maketrans("", "", ",.")


class TellingValue(NamedTuple):
    """A value, and the ways in which it may be written; a `quoted` one counts only between quotes or by itself."""

    text: str
    spellings: tuple[str, ...]
    quoted: bool = False


def telling_values(said: object, most: int = MOST_CHARACTERS) -> tuple[list[TellingValue], int]:
    """Return the values in a JSON value or a text, each once, in their order; and how many characters were read."""
    found: dict[TellingValue, None] = {}
    left = most = min(most, MOST_CHARACTERS)
    is_text = isinstance(said, str) and said[:1] not in ("{", "[")
    for leaf in (said,) if is_text else _leaves(said):
        text = leaf if isinstance(leaf, str) else str(leaf)
        for value in _in_text(text[:left]):
            found[value] = None
            if len(found) >= MOST_VALUES:
                return [*found], most
        left -= len(text)
        if left <= 0:
            return [*found], most
    return [*found], most - left


def _leaves(said: object) -> Iterator[str | int | float]:
    stack = [read_value(said)]
    for _ in range(MOST_LEAVES):
        if not stack:
            return
        item = stack.pop()
        if isinstance(item, dict):
            stack += reversed(item.values())
        elif isinstance(item, list):
            stack += reversed(item)
        elif isinstance(item, str | int | float) and not isinstance(item, bool):
            yield item


def _in_text(text: str) -> Iterator[TellingValue]:
    whole = text.strip()
    if SHORTEST_NAME <= len(whole) <= LONGEST_NAME and _is_name(whole):
        yield TellingValue(whole, (whole,), quoted=True)
    for match in _NAME.finditer(text) if _QUOTES.search(text) else ():
        if _is_name(match[1]):
            yield TellingValue(match[1], (match[1],), quoted=True)
    pattern = _VALUE if "@" in text or "://" in text else _PLAIN_VALUE
    for match in pattern.finditer(text) if _SIGNS.search(text) else ():
        value = _READ[match.lastgroup or ""](match)
        if value is not None:
            yield value


def _url(match: re.Match[str]) -> TellingValue | None:
    text = match[0].rstrip(".,;:!?)*_")
    spellings = tuple(dict.fromkeys((text.rstrip("/"), text)))
    return TellingValue(text, spellings) if len(text) >= _SHORTEST_URL else None


def _address(match: re.Match[str]) -> TellingValue:
    text = match[0]
    return TellingValue(text, tuple(dict.fromkeys((text, text.lower()))) if text.isascii() else (text,))


def _date(match: re.Match[str]) -> TellingValue | None:
    month = match["m"] or match["m1"] or match["m2"]
    number = int(month) if month.isdigit() else [name[:3] for name in _MONTHS].index(month) + 1
    try:
        day = date(
            int(match["y"] or match["y1"] or match["y2"]),
            number,
            int(match["d"] or match["d1"] or match["d2"]),
        )
    except ValueError:
        return None
    names = dict.fromkeys((_MONTHS[number - 1], _MONTHS[number - 1][:3]))
    spelled = [
        form for name in names for form in (f"{day.day} {name} {day.year}", f"{name} {day.day}, {day.year}")
    ]
    return TellingValue(match[0], tuple(dict.fromkeys((match[0], day.isoformat(), *spelled))))


def _token(match: re.Match[str]) -> TellingValue | None:
    """Return an id or a number. Words, and words joined by signs, are neither."""
    text = match[0]
    if text.isalpha():
        return None  # as most are
    digits = sum(map(str.isdigit, text))
    if digits < LEAST_OF_ID:
        return None
    if len(text) <= _LONGEST_NUMBER and text.isascii() and text.translate(_NO_SIGNS).isdigit():
        return _number(text)
    letters = sum(map(str.isalpha, text))
    if digits + letters < (_SHORTEST_ID if letters else _LEAST_JOINED) or (not letters and "." in text):
        return None  # 10-12, 1/2, 10.0.0.1: in too many texts
    return TellingValue(text, (text,))


def _number(text: str) -> TellingValue | None:
    """Return a number that is long enough, with the ways in which it is written."""
    plain = text.lstrip("-")
    if _GROUPED.fullmatch(plain):
        number = plain.replace(",", "")
    elif _GROUPED_ABROAD.fullmatch(plain):
        number = plain.replace(".", "").replace(",", ".")
    elif plain.isdigit():
        return TellingValue(text, (plain,))  # of so many digits: an id
    else:
        return None
    whole, point, decimals = number.partition(".")
    whole, decimals = whole.lstrip("0"), decimals.rstrip("0")
    digits = len(whole) + len(decimals)
    if len((whole + decimals).strip("0")) < LEAST_TELLING or digits < (
        LEAST_DECIMAL if point else LEAST_WHOLE
    ):
        return None
    forms = _written(Decimal(number), {0} if not point else {len(decimals), max(len(decimals), 1), _CENTS})
    return TellingValue(text, tuple(dict.fromkeys((plain, *forms))))


def _written(amount: Decimal, decimals: set[int]) -> Iterator[str]:
    """Yield what can be read in one way only: 1.299 may be another number, 1.299,00 may not."""
    for places in sorted(decimals):
        for form in (f"{amount:.{places}f}", f"{amount:,.{places}f}"):
            yield form
            if places == _CENTS:
                yield form.translate(_ABROAD)


def _is_name(text: str) -> bool:
    """Return whether a text may be a name: of two words or more, of which two begin with a capital or a digit."""
    words = text.split()
    if not 2 <= len(words) <= 8 or sum(word[0].isupper() or word[0].isdigit() for word in words) < 2:
        return False
    return _NAME_SIGNS.fullmatch(text) is not None


_READ = {"url": _url, "address": _address, "date": _date, "token": _token}
