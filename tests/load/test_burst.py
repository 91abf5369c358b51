"""What loading waits for: a burst, until it is over or has lasted too long, and once until the loader has caught up."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from retrospan.ingest.load.burst import Burst

RATE = 100.0


@dataclass(slots=True)
class Received:
    """Bytes that wait to be loaded, at a clock that only a pause moves on: `rates` in turn, a pause each."""

    rates: list[float]
    now: float = 50.0
    waiting: float = 1_000.0
    pauses: list[float] = field(default_factory=list[float])
    stops_after: int = 1_000

    def clock(self) -> float:
        return self.now

    def bytes(self) -> int:
        return round(self.waiting)

    def pause(self, seconds: float) -> bool:
        rate = self.rates.pop(0) if self.rates else 0.0
        self.now += seconds
        self.waiting += rate * seconds
        self.pauses.append(seconds)
        return len(self.pauses) >= self.stops_after


def waited(received: Received, burst: Burst | None = None) -> float:
    began = received.now
    (burst or Burst(received.clock)).let_pass(RATE, received.bytes, received.pause)
    return received.now - began


def test_a_burst_is_waited_for_until_it_is_over() -> None:
    none, short = Received([RATE * 0.9]), Received([RATE * 3, RATE * 2, RATE * 0.9, RATE * 9])
    waited(none)
    waited(short)
    assert (len(none.pauses), len(short.pauses)) == (1, 3)


@given(st.lists(st.floats(min_value=0.0, max_value=RATE * 20), max_size=80))
def test_whatever_comes_in_loading_goes_on_within_a_few_seconds(rates: list[float]) -> None:
    assert waited(Received(rates)) <= 5.5


def test_one_that_does_not_end_is_a_flood_and_is_not_waited_for_again() -> None:
    received = Received([RATE * 3] * 500)
    burst = Burst(received.clock)
    assert waited(received, burst) >= 5.0
    assert waited(received, burst) == 0.0
    burst.caught_up()
    assert waited(received, burst) >= 5.0


def test_a_stop_is_not_kept_waiting() -> None:
    received = Received([RATE * 3] * 500, stops_after=2)
    waited(received)
    assert len(received.pauses) == 2
