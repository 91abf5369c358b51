"""Several interpreters, one warehouse: each part of the runs is one's at a time, and nobody's for long."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from retrospan.ingest.interpret.service.partition_lease import PARTS, PartitionLease, part_of
from retrospan.ingest.interpret.sql import load
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.errors import WarehouseUnavailable

LEASE = 1.0


@pytest.fixture
def shares(warehouse: EmbeddedWarehouse) -> Iterator[Callable[[str], PartitionLease]]:
    """Starts interpreters' shares with short leases; all are stopped at the end."""
    started: list[PartitionLease] = []

    def begin(name: str) -> PartitionLease:
        share = PartitionLease(warehouse.connect, name, lease_seconds=LEASE)
        share.start()
        started.append(share)
        return share

    yield begin
    for share in started:
        share.stop()


class Watch:
    """Looks all the time whether two hold the same part."""

    def __init__(self, shares: list[PartitionLease]) -> None:
        self.shares = shares
        self.twice: set[int] = set()
        self.looks = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            for one, other in itertools.combinations(list(self.shares), 2):
                # A part may go from one to the other between two looks: what both have must still be the first one's.
                before, theirs = one.parts, other.parts
                self.twice |= before & theirs & one.parts
            self.looks += 1
            time.sleep(0.002)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < deadline, "did not come to hold"
        time.sleep(0.02)


def balanced(shares: list[PartitionLease]) -> bool:
    """Whether all parts are held, and nobody has more than a fair number; interpreters do their turns meanwhile."""
    for share in shares:
        share.renew_or_claim()
    fair = -(-PARTS // len(shares))
    sizes = [len(share.parts) for share in shares]
    return sum(sizes) == PARTS and max(sizes) <= fair


def test_parts_are_divided_and_never_held_twice(shares: Callable[[str], PartitionLease]) -> None:
    running = [shares("a")]
    until(lambda: balanced(running))
    watch = Watch(running)
    running.append(shares("b"))
    running.append(shares("c"))
    until(lambda: balanced(running))
    assert {share.name for share in running if share.parts} == {"a", "b", "c"}
    gone = running.pop(0)
    gone.stop()
    assert gone.parts == frozenset()
    until(lambda: balanced(running))
    watch.stop()
    assert watch.looks > 100 and not watch.twice


def test_what_a_dead_one_held_is_taken_over(
    shares: Callable[[str], PartitionLease], store: EmbeddedStore
) -> None:
    store.command(
        "INSERT INTO leases (part, holder, state) SELECT number, 'dead', 'held' FROM numbers({parts:UInt16})",
        {"parts": PARTS},
    )
    share = shares("living")
    began = time.monotonic()
    until(lambda: len(share.parts) == PARTS)
    assert time.monotonic() - began > LEASE / 2, "not before the leases of the dead have run out"


@pytest.mark.long
def test_who_cannot_say_so_any_more_stops_before_others_may_begin(
    warehouse: EmbeddedWarehouse, store: EmbeddedStore
) -> None:
    share = PartitionLease(warehouse.connect, "alone", lease_seconds=12.0)
    last = 0.0
    while not share.parts:
        last = time.monotonic()
        share.renew(store)
        time.sleep(0.1)
    assert share.owns("default", "run")
    # Nobody renews it from here on.
    until(lambda: not share.parts)
    assert not share.owns("default", "run") and not share.holds("default", "run")
    assert time.monotonic() - last < 12.0, "its rows still count for others"
    rows = store.rows(load("read_leases"), {"milliseconds": 60_000})
    assert {str(state) for _, _, state in rows} == {"held"}


def test_who_has_no_answer_from_the_warehouse_may_get_parts_yet(warehouse: EmbeddedWarehouse) -> None:
    is_away = True

    def connect() -> EmbeddedStore:
        if is_away:
            raise WarehouseUnavailable("away")
        return warehouse.connect()

    share = PartitionLease(connect, "early", lease_seconds=0.2)
    share.start()
    try:
        time.sleep(0.5)
        assert share.settling and not share.parts, "it is not idle, however long nobody answers"
        is_away = False
        until(lambda: bool(share.parts))
        assert share.gains and not share.settling
    finally:
        share.stop()


def test_a_part_that_is_given_up_is_held_until_the_work_on_it_is_done(
    warehouse: EmbeddedWarehouse, store: EmbeddedStore, shares: Callable[[str], PartitionLease]
) -> None:
    share = shares("first")
    until(lambda: len(share.parts) == PARTS)
    store.command(
        "INSERT INTO leases (part, holder, state) VALUES ({member:UInt16}, 'second', 'held')",
        {"member": PARTS},
    )
    runs = [f"run-{number}" for number in range(500)]
    until(lambda: any(not share.owns("default", run) for run in runs))
    left = [run for run in runs if not share.owns("default", run)]
    # A batch may be under way: nobody else gets the part before the turn.
    assert all(share.holds("default", run) for run in left)
    share.renew_or_claim()
    assert not any(share.holds("default", run) for run in left)


def test_runs_are_spread_over_all_parts() -> None:
    parts = {part_of("default", f"run-{number}") for number in range(2000)}
    assert parts == set(range(PARTS))
    assert part_of("a", "run") != part_of("b", "run")
