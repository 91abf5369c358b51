"""Which step of one run stands beside which of another: common head, common tail, between them by name. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

#: What a step is aligned by.
Key = tuple[str, str]

_BEHIND_ALL = 4_294_967_295


class Place(NamedTuple):
    """A place of the alignment. Steps count from 1; 0 where a run has none there."""

    step_a: int
    step_b: int
    moved: bool
    """Both have the step, but in another order."""


def aligned(a: Sequence[Key], b: Sequence[Key]) -> list[Place]:
    """Return the alignment. Between head and tail what `a` has stands in its order, and what only `b` has before the
    next step that both have."""
    head = _shared(a, b)
    tail = _shared(a[head:][::-1], b[head:][::-1])
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    place_b = {key: place for place, key in enumerate(_numbered(middle_b), start=1)}
    partners = [place_b.get(key, 0) for key in _numbered(middle_a)]
    of_b = {partner: place for place, partner in enumerate(partners, start=1) if partner}
    in_order = iter(sorted(of_b))
    middle: list[tuple[int, int, Place]] = []
    for place, partner in enumerate(partners, start=1):
        moved = partner != 0 and partner != next(in_order)
        middle.append((place, 1, Place(head + place, head + partner if partner else 0, moved)))
    ahead = _BEHIND_ALL
    for place in range(len(middle_b), 0, -1):
        if place in of_b:
            ahead = of_b[place]
        else:
            middle.append((ahead, 0, Place(0, head + place, moved=False)))
    middle.sort()
    ends = [Place(len(a) - tail + i, len(b) - tail + i, moved=False) for i in range(1, tail + 1)]
    begin = [Place(i, i, moved=False) for i in range(1, head + 1)]
    return [*begin, *(place for _, _, place in middle), *ends]


def _shared(a: Sequence[Key], b: Sequence[Key]) -> int:
    """Return how many keys both begin with."""
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count


def _numbered(keys: Sequence[Key]) -> list[tuple[Key, int]]:
    """Return each key with which of its occurrences it is."""
    seen: Counter[Key] = Counter()
    found: list[tuple[Key, int]] = []
    for key in keys:
        seen[key] += 1
        found.append((key, seen[key]))
    return found
