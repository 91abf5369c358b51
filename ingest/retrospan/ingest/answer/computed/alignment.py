"""Which step of one run stands beside which of another: by content, then by name, then by place. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from retrospan.ingest.answer.computed.common_steps import Pair, common_steps, gaps, numbered


class Key(NamedTuple):
    """What a step is aligned by."""

    kind: str
    name: str
    content: str | None
    """What a tool was given, what a model answered; NULL where that is unknown, and empty for steps that have neither."""


class Place(NamedTuple):
    """A place of the alignment. Steps count from 1; 0 where a run has none there."""

    step_a: int
    step_b: int
    moved: bool = False
    """Both have the step, but in another order."""
    inherited: bool = False
    """One run goes on from here; the step is its parent's."""


def aligned(a: Sequence[Key], b: Sequence[Key], begins_a: int = 0, begins_b: int = 0) -> list[Place]:
    """Return the alignment. Between steps that both have in this order, what `a` has comes before what only `b` has.

    The first `begins_a` steps of `a` are history that `b` inherits, or the other way round. As many steps as possible
    stand beside one of equal content, in the order of both. What is left and has its equal elsewhere has moved. Then,
    between two places that are settled, a step stands beside one of its kind and name, and a tool's beside a tool's.
    """
    begin = [Place(i + 1, 0, inherited=True) for i in range(begins_a)]
    begin += [Place(0, i + 1, inherited=True) for i in range(begins_b)]
    own_a, own_b = a[begins_a:], b[begins_b:]
    equal = common_steps(own_a, own_b)
    moved = _moved(own_a, own_b, equal)
    settled = _named(own_a, own_b, equal, moved, lambda key: (key.kind, key.name))
    settled = _named(own_a, own_b, settled, moved, lambda key: key.kind if key.kind == "tool" else None)
    return begin + [
        place._replace(
            step_a=place.step_a and place.step_a + begins_a, step_b=place.step_b and place.step_b + begins_b
        )
        for place in _in_order(settled, moved, len(own_a), len(own_b))
    ]


def _moved(a: Sequence[Key], b: Sequence[Key], equal: Sequence[Pair]) -> dict[int, int]:
    """Return pairs of equal steps beyond those in order: places of `a` and `b`, by occurrence."""
    in_a, in_b = {i for i, _ in equal}, {j for _, j in equal}
    left_a = [i for i in range(len(a)) if i not in in_a and a[i].content is not None]
    left_b = [j for j in range(len(b)) if j not in in_b and b[j].content is not None]
    place_b = dict(zip(numbered([b[j] for j in left_b]), left_b, strict=True))
    found: dict[int, int] = {}
    for i, key in zip(left_a, numbered([a[i] for i in left_a]), strict=True):
        if key in place_b:
            found[i] = place_b[key]
    return found


def _named(
    a: Sequence[Key],
    b: Sequence[Key],
    settled: Sequence[Pair],
    moved: dict[int, int],
    name_of: Callable[[Key], Hashable],
) -> list[Pair]:
    """Return the pairs with those that have the same name between the same two of them."""
    taken = set(moved.values())
    left_a: list[tuple[int, Hashable]] = []
    left_b: list[tuple[int, Hashable]] = []
    for gap, (of_a, of_b) in enumerate(gaps(settled, len(a), len(b))):
        named_a = [(i, name_of(a[i])) for i in of_a if i not in moved]
        named_b = [(j, name_of(b[j])) for j in of_b if j not in taken]
        left_a += [(i, (gap, name)) for i, name in named_a if name is not None]
        left_b += [(j, (gap, name)) for j, name in named_b if name is not None]
    pairs = common_steps([key for _, key in left_a], [key for _, key in left_b])
    return sorted([*settled, *((left_a[i][0], left_b[j][0]) for i, j in pairs)])


def _in_order(settled: Sequence[Pair], moved: dict[int, int], length_a: int, length_b: int) -> list[Place]:
    taken = set(moved.values())
    found: list[Place] = []
    for n, (of_a, of_b) in enumerate(gaps(settled, length_a, length_b)):
        found += [Place(i + 1, moved[i] + 1 if i in moved else 0, moved=i in moved) for i in of_a]
        found += [Place(0, j + 1) for j in of_b if j not in taken]
        if n < len(settled):
            found.append(Place(settled[n][0] + 1, settled[n][1] + 1))
    return found
