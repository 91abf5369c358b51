"""Which steps of two runs are the same, in the order of both: the longest common subsequence. Pure.

A row of the table of lengths is the bits of one integer, so that a step costs a few additions of long integers
(Hyyrö, "Bit-parallel LCS-length computation revisited", 2004).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import pairwise

#: So many pairs of steps are compared exactly: a bit each, 50 MB in all.
MOST_PAIRS = 400_000_000

#: Places in both, from 0.
Pair = tuple[int, int]


def common_steps(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """Return as many pairs of equal keys as can stand in the order of both; of equally many the earliest, in `a` first.

    Beyond `MOST_PAIRS` common head and tail are set aside, and if what is left between them is still too much, equal
    keys are paired by occurrence, as far as that is the order of both: maybe fewer than there could be.
    """
    head = shared(a, b)
    ends = [(i, i) for i in range(head)]
    tail = 0
    if (len(a) - head) * (len(b) - head) > MOST_PAIRS:
        tail = shared(a[head:][::-1], b[head:][::-1])
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    few = len(middle_a) * len(middle_b) <= MOST_PAIRS
    pairs = _longest(middle_a, middle_b) if few else in_turn(middle_a, middle_b)
    ends += [(head + i, head + j) for i, j in pairs]
    return ends + [(len(a) - i, len(b) - i) for i in range(tail, 0, -1)]


def shared(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Return how many keys both begin with."""
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count


def _longest(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    places: defaultdict[Hashable, list[int]] = defaultdict(list)
    for j, key in enumerate(b):
        places[key].append(j)
    rows = _rows(a, places, len(b))
    found: list[Pair] = []
    begin, left = 0, _length(rows[0], len(b))
    for i, key in enumerate(a):
        if not left:
            break
        of_key = places.get(key, ())
        n = bisect_left(of_key, begin)
        if n < len(of_key) and 1 + _length(rows[i + 1], len(b) - of_key[n] - 1) == left:
            found.append((i, of_key[n]))
            begin, left = of_key[n] + 1, left - 1
    return found


def _rows(a: Sequence[Hashable], places: dict[Hashable, list[int]], width: int) -> list[int]:
    """Return for each rest of `a`, the empty one last, a row: its clear bits count what is common with a rest of `b`.

    The last place of `b` is the lowest bit, so that the lowest n bits are of its last n places.
    """
    masks = {key: sum(1 << (width - 1 - j) for j in of_key) for key, of_key in places.items()}
    whole = (1 << width) - 1
    row = whole
    rows = [row]
    for key in reversed(a):
        both = row & masks.get(key, 0)
        if both:
            row = ((row + both) | (row & ~both)) & whole
        rows.append(row)
    rows.reverse()
    return rows


def _length(row: int, places: int) -> int:
    """Return how much the rest of `a` that the row is of has in common with the last places of `b`."""
    return places - (row & ((1 << places) - 1)).bit_count()


def in_turn(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """Return equal keys, the first with the first, the second with the second, as far as that is the order of both."""
    place_b = {key: place for place, key in enumerate(numbered(b))}
    pairs = [(i, place_b[key]) for i, key in enumerate(numbered(a)) if key in place_b]
    found: list[Pair] = []
    for pair in pairs:
        if not found or pair[1] > found[-1][1]:
            found.append(pair)
    return found


def numbered(keys: Sequence[Hashable]) -> list[tuple[Hashable, int]]:
    """Return each key with which of its occurrences it is."""
    seen: defaultdict[Hashable, int] = defaultdict(int)
    found: list[tuple[Hashable, int]] = []
    for key in keys:
        seen[key] += 1
        found.append((key, seen[key]))
    return found


def gaps(pairs: Sequence[Pair], length_a: int, length_b: int) -> list[tuple[range, range]]:
    """Return the places between pairs that follow each other, of both; also those before the first and behind the last."""
    edges = [(-1, -1), *pairs, (length_a, length_b)]
    return [(range(i + 1, k), range(j + 1, n)) for (i, j), (k, n) in pairwise(edges)]
