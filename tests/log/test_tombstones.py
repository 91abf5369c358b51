"""Which records were removed on purpose: joined, kept in order, and counted like a set of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from retrospan.ingest.log.tombstones import NAME, Tombstones
from retrospan.ingest.machine.durable_files import Files

RANGES = st.tuples(st.integers(1, 60), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair)))


@given(st.lists(RANGES, max_size=20), RANGES)
def test_ranges_are_a_set_of_records(added: list[tuple[int, int]], asked: tuple[int, int]) -> None:
    removed, records = Tombstones(), set[int]()
    for first, last in added:
        removed.add(first, last)
        records |= set(range(first, last + 1))
    assert {number for first, last in removed.ranges for number in range(first, last + 1)} == records
    assert all(before[1] + 1 < after[0] for before, after in pairwise(removed.ranges)), "ascending and apart"
    first, last = asked
    between = set(range(first, last + 1))
    assert removed.holds(first, last) == (between <= records)
    assert removed.missing(first - 1, last + 1) == len(between - records)
    assert removed.missing(last, first) == 0


def test_a_hundred_thousand_ranges_are_read_and_lines_that_are_none_left_out(tmp_path: Path) -> None:
    made = Tombstones([(3 * number, 3 * number + 1) for number in range(1, 100_001)])
    made.write(tmp_path, Files())
    with (tmp_path / NAME).open("a") as file:
        file.write("9 3\nx 4\n400000\n")
    read = Tombstones.read(tmp_path)
    assert read == made
    assert read.missing(0, 300_003) == 300_002 - 200_000
