"""About how large the JSON of a value will be, found without writing it.

A value that holds one object in many places is small in memory and may be endless as JSON: eighteen levels of
`{"left": a, "right": a}` are eight megabytes. Each object is looked at once here, however often it is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from gc import get_referents
from types import NoneType
from typing import cast

#: Containers nested deeper than this weigh nothing: their form has an end of its own.
_DEEPEST = 200
_FLAT = frozenset((int, float, bool, NoneType))
_FLAT_CHARACTERS = 4


_CONTAINERS = frozenset((dict, list, tuple))
#: What a number, or a text without its own, takes at most, nearly always.
_MOST_CHARACTERS = 25


class TooLarge(Exception):
    """The JSON would be larger than what it is written for."""


def most_of(value: object, enough: int) -> int:
    """Return more characters than the JSON of a value has, what is shared counted as often as it is held; more than
    `enough` where that is so, or where it is too deep to tell. Found in a few steps in C for each level of it."""
    if type(value) is str:
        return len(value)
    size, level = 0, [value] if type(value) in _CONTAINERS else []
    for _ in range(_DEEPEST):
        if not level or size > enough:
            return size
        held = get_referents(*level)
        size += _MOST_CHARACTERS * len(held) + sum(map(len, [each for each in held if type(each) is str]))
        level = [each for each in held if type(each) in _CONTAINERS]
    return enough + 1


class Sizes:
    """The sizes of one value and of all that it holds, in characters."""

    def __init__(self, near: Callable[[object], object] | None = None) -> None:
        """`near` returns one level of an object in JSON's own values; without it objects weigh nothing."""
        self._near = near
        self._known: dict[int, int] = {}
        self._opened: dict[int, tuple[object, object]] = {}

    def of(self, value: object) -> int:
        """Return the size of a value, in which what is shared counts as often as it is held."""
        return len(value) if type(value) is str else self._of(value, 0)

    def near(self, value: object) -> object:
        """Return a dict or list as it is, and an object by one level nearer to them."""
        if self._near is None or value is None or isinstance(value, dict | list | tuple | str | int | float):
            return value
        if id(value) not in self._opened:
            # Both are held: neither's id may come to mean another.
            self._opened[id(value)] = (value, self._near(value))
        return self._opened[id(value)][1]

    def _of(self, value: object, depth: int) -> int:
        kind = type(value)
        if kind in _FLAT:
            return _FLAT_CHARACTERS
        if isinstance(value, str):
            return len(value) + 2
        known = self._known.get(id(value))
        if known is not None or depth > _DEEPEST:
            return known or 0
        # What holds itself weighs nothing inside itself.
        self._known[id(value)] = 0
        try:
            size = self._held(value, depth + 1)
        except Exception:  # noqa: BLE001 - a guest: whoever writes it finds out
            size = 0
        self._known[id(value)] = size
        return size

    def _held(self, value: object, depth: int) -> int:
        members: Iterable[object]
        if isinstance(value, dict):
            size = sum(map(len, value)) if _is_named(value) else 0
            size += 4 * len(value)
            members = list(value.values())
        elif isinstance(value, list | tuple):
            size, members = len(value), value
        else:
            near = self.near(value)
            return 0 if near is value else self._of(near, depth)
        for each in members:
            kind = type(each)
            if kind is str:
                size += len(cast(str, each)) + 2
            elif kind in _FLAT:
                size += _FLAT_CHARACTERS
            else:
                size += self._of(each, depth)
        return size


def _is_named(value: dict[object, object]) -> bool:
    return set(map(type, value)) == {str}
