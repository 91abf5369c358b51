"""How long the loader waits after a small batch: little at first, and longer where a trickle goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrospan.ingest.load.rest import Rest


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def load(rest: Rest, clock: Clock, took: float, small: bool = True) -> float:
    """Load once the rest is over; how long the rest after it is."""
    clock.now += rest.seconds_left + took
    rest.begin(took, small)
    return rest.seconds_left


def test_a_trickle_is_waited_for_longer_each_time_and_a_pause_ends_it() -> None:
    clock = Clock()
    rest = Rest(clock)
    assert rest.seconds_left == 0.0
    assert [load(rest, clock, 0.1) for _ in range(8)] == pytest.approx(
        [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.7, 0.7]
    )
    clock.now += rest.seconds_left + 0.9  # what came late is still of it
    assert load(rest, clock, 0.1) == pytest.approx(0.7)
    clock.now += rest.seconds_left + 1.1
    assert load(rest, clock, 0.1) == pytest.approx(0.2)


def test_after_a_batch_that_was_not_small_there_is_none() -> None:
    clock = Clock()
    rest = Rest(clock)
    for _ in range(5):
        load(rest, clock, 0.1)
    assert load(rest, clock, 3.0, small=False) == 0.0
    assert load(rest, clock, 0.1) == pytest.approx(0.2)


@given(
    took=st.lists(
        st.tuples(st.floats(0.001, 5.0), st.booleans(), st.floats(0.0, 5.0)), min_size=1, max_size=50
    )
)
def test_none_is_longer_than_a_second_or_shorter_than_twice_the_insert(
    took: list[tuple[float, bool, float]],
) -> None:
    clock = Clock()
    rest = Rest(clock)
    for seconds, small, pause in took:
        left = load(rest, clock, seconds, small)
        assert left == 0.0 if not small else min(2 * seconds, 1.0) - 1e-6 <= left <= 1.0 + 1e-6
        assert left <= 7 * seconds + 1e-6
        clock.now += pause


def test_a_trickle_costs_an_eighth_of_a_core_where_an_insert_takes_a_seventh_of_a_second() -> None:
    clock = Clock()
    rest = Rest(clock)
    began, inserted = clock.now, 0.0
    while clock.now < began + 600.0:
        inserted += 0.14
        load(rest, clock, 0.14)
    assert inserted <= (clock.now - began) / 8 * 1.02
