"""Finds out which of many short texts stand in a long one, much faster than by looking for each.

Each text is looked for by its rarest character: all that share one make an expression that begins with it, and what
stands before and behind is compared only where that character is. Costs grow in proportion to the long text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: From rare to frequent in what agents send: English, JSON, names in programs. Others count as rare.
_FREQUENT = 'zqxj@kwvb/y-_g.8p0fm1ucdlh2nirsoat:e" '
_RANK = {ord(character): place for place, character in enumerate(_FREQUENT)}


class Hints:
    """A set of texts, as bytes, of at least one byte each."""

    def __init__(self, texts: Iterable[bytes], behind: bytes = b"") -> None:
        """`behind`: what follows each of the texts, and may stand in them, as an expression of at least as many
        characters. It saves most of the looking."""
        by_anchor: dict[int, list[bytes]] = {}
        left = set(texts)
        while left:
            # Each anchor costs a look at the whole text, and the more the more frequent it is.
            worth = {byte: sum(byte in text for text in left) / _cost(byte) for text in left for byte in text}
            anchor = max(sorted(worth), key=worth.__getitem__)
            by_anchor[anchor] = sorted(text for text in left if anchor in text)
            left.difference_update(by_anchor[anchor])
        self._groups = [
            (_expression(anchor, group, behind), group) for anchor, group in sorted(by_anchor.items())
        ]

    def any_in(self, data: bytes) -> bool:
        """Return whether one of them stands in the data."""
        return any(expression.search(data) for expression, _ in self._groups)

    def all_in(self, data: bytes) -> set[bytes]:
        """Those that stand in the data."""
        found: set[bytes] = set()
        for expression, group in self._groups:
            if expression.search(data):
                found.update(text for text in group if text in data)
        return found


def _cost(byte: int) -> float:
    """Of looking for a character, as a multiple of looking for one that is not there."""
    return 1 + max(_RANK.get(byte, 0), 0) / 8


def _expression(anchor: int, texts: list[bytes], behind: bytes) -> re.Pattern[bytes]:
    places = [(text, text.index(anchor)) for text in texts]
    alternatives: list[bytes] = []
    # What stands behind first: it is told from its first character whether an alternative is worth a try.
    for text, place in places:
        before = b"(?<=" + re.escape(text) + b")" if place else b""
        alternatives.append(re.escape(text[place + 1 :]) + before)
    single = re.escape(bytes((anchor,)))
    # One look at the neighbours saves most of the comparing.
    near = b"(?=" + behind + b")" if behind else b""
    if not behind and all(place + 1 < len(text) for text, place in places):
        near += b"(?=" + _one_of(text[place + 1] for text, place in places) + b")"
    if all(place for _, place in places):
        near += b"(?<=" + _one_of(text[place - 1] for text, place in places) + single + b")"
    return re.compile(single + near + b"(?:" + b"|".join(alternatives) + b")")


def _one_of(characters: Iterable[int]) -> bytes:
    return b"[" + b"".join(re.escape(bytes((each,))) for each in sorted(set(characters))) + b"]"
