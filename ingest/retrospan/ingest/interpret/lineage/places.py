"""Where in a text or a JSON value a telling value stands. Pure.

A place is a path into the value, `items[2].email`, and where in the text that it leads to: `[120:138]`, the characters from
120 on and before 138.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

from retrospan.ingest.interpret.lineage.telling_values import TellingValue
from retrospan.ingest.json_text import path_into

#: Values of one JSON value that are looked at.
MOST_LEAVES = 5_000
#: Signs that join what stands on both sides of them to one value.
_JOINS_BEFORE, _JOINS_AFTER = frozenset(".-/+%@&'"), frozenset(".-/+%@?#&='")
_UNSEEN = frozenset("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
_QUOTES = frozenset("\"'`“”‘’«»„*")
#: So many places in one text are tried where a value stands inside longer ones.
_MOST_TRIED = 1_000


def may_hold(text: str, value: TellingValue) -> bool:
    """Return whether a text has one of the spellings, be it inside something longer."""
    return any(map(text.__contains__, value.spellings))


def place_of(said: object, value: TellingValue) -> str | None:
    """Return where a value stands in a text or JSON value; None if it only stands inside longer ones."""
    found = _found(said, value)
    return None if found is None else _path(found[0]) + found[1]


def path_of(said: object, value: TellingValue, begin: str) -> str:
    """Return the way to the text or number in which a value stands, from `begin` on; `begin` where it stands in none."""
    found = _found(said, value)
    return begin if found is None else _path(found[0], begin)


def _found(said: object, value: TellingValue) -> tuple[_Trail | None, str] | None:
    """Return the way to what holds the value, and where in it; '' for all of it."""
    if isinstance(said, str):
        inside = _in_text(said, value)
        return None if inside is None else (None, inside)
    for trail, leaf in _leaves(said):
        if not isinstance(leaf, str):
            if str(leaf).lstrip("-") in value.spellings:
                return trail, ""
        elif leaf in value.spellings:
            return trail, ""
        elif may_hold(leaf, value):
            inside = _in_text(leaf, value)
            if inside is not None:
                return trail, inside
    return None


def _in_text(text: str, value: TellingValue) -> str | None:
    first: tuple[int, int] | None = None
    for spelling in value.spellings:
        begin, tried = text.find(spelling), 0
        while begin >= 0 and tried < _MOST_TRIED and (first is None or begin < first[0]):
            end = begin + len(spelling)
            if _stands_alone(text, begin, end, quoted=value.quoted):
                first = begin, end
                break
            begin, tried = text.find(spelling, begin + 1), tried + 1
    return None if first is None else f"[{first[0]}:{first[1]}]"


def _stands_alone(text: str, begin: int, end: int, *, quoted: bool) -> bool:
    if quoted:
        before, after = text[max(begin - 1, 0) : begin], text[end : end + 1]
        return (before in _QUOTES and after in _QUOTES) or len(text.strip()) == end - begin
    before, after = text[max(begin - 2, 0) : begin][::-1], text[end : end + 2]
    return not _goes_on(text[begin], before, _JOINS_BEFORE) and not _goes_on(
        text[end - 1], after, _JOINS_AFTER
    )


def _goes_on(edge: str, beside: str, joins: frozenset[str]) -> bool:
    """Return whether what stands beside the edge of a value, read away from it, belongs to the value."""
    if not beside or _is_word(beside[0]):
        return bool(beside)
    if len(beside) < 2:
        return False
    if beside[0] == ",":  # joins digits only
        return edge.isdigit() and beside[1].isdigit()
    return beside[0] in joins and _is_word(beside[1])


def _is_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_" or sign in _UNSEEN


class _Trail(NamedTuple):
    """The way to a value: the way to what holds it, and its name or place there."""

    # A class, for `make compiled` never ends with an alias that names itself.
    before: _Trail | None
    part: str | int


def _leaves(said: object) -> Iterator[tuple[_Trail | None, str | int | float]]:
    """Yield the texts and numbers of a JSON value with the way to each; the name of a field counts as one."""
    stack: list[tuple[_Trail | None, object]] = [(None, said)]
    for _ in range(MOST_LEAVES):
        if not stack:
            return
        trail, item = stack.pop()
        if isinstance(item, dict):
            for name, each in reversed(item.items()):
                field = _Trail(trail, str(name))
                stack += ((field, each), (field, str(name)))
        elif isinstance(item, list):
            stack += [(_Trail(trail, place), each) for place, each in enumerate(item)][::-1]
        elif isinstance(item, str | int | float) and not isinstance(item, bool):
            yield trail, item


def _path(trail: _Trail | None, begin: str = "") -> str:
    parts: list[str | int] = []
    while trail is not None:
        parts.append(trail.part)
        trail = trail.before
    return reduce(path_into, reversed(parts), begin)
