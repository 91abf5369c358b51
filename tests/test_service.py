"""A service runs turn after turn in its thread, whatever a turn meets, until it is stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from retrospan.ingest.service import Service
from retrospan.schemas.errors import ConfigError, WarehouseUnavailable

PATIENCE = 30.0


class Counting(Service):
    thread_name = "counting"
    work = "counting"
    pauses = (0.01, 0.02)
    permanent_pauses = (3600.0, 3600.0)

    def __init__(self, turn: Callable[[int], None] = lambda number: None, left: int = 0) -> None:
        super().__init__(0.001)
        self.turns = 0
        self.left = left
        self.names: set[str] = set()
        self.cleared: list[Exception] = []
        self.ended = 0
        self._turn = turn

    @property
    def has_more(self) -> bool:
        return self.left > 0

    def run_once(self) -> None:
        self.turns += 1
        self.left -= 1
        self.names.add(threading.current_thread().name)
        self._turn(self.turns)

    def failed(self, error: Exception) -> None:
        self.cleared.append(error)

    def end(self) -> None:
        self.ended += 1


def until(found: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_it_runs_in_a_thread_of_its_name_until_it_is_stopped() -> None:
    service = Counting()
    service.start()
    until(lambda: service.turns > 3)
    assert service.stop() and service.stop()
    turns = service.turns
    assert service.names == {"counting"} and service.ended == 1
    time.sleep(0.02)
    assert service.turns == turns and "counting" not in {thread.name for thread in threading.enumerate()}


def test_a_stop_before_a_start_is_harmless() -> None:
    assert Counting().stop(1.0)


def test_what_may_go_better_is_tried_again_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def turn(number: int) -> None:
        if number <= 5:
            raise WarehouseUnavailable("away")

    service = Counting(turn)
    service.start()
    until(lambda: service.turns > 5)
    service.stop()
    assert [str(error) for error in service.cleared] == ["away"] * 5
    assert service.failure == ""
    assert [record.getMessage() for record in caplog.records] == [
        "counting failed, trying again in 0.0 s: away"
    ]


def test_what_fails_now_and_then_with_other_numbers_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def turn(number: int) -> None:
        if number % 2 and number < 10:
            raise WarehouseUnavailable(f"the disk has {1000 - number:,}.5 bytes free")
        if number == 10:
            raise WarehouseUnavailable("the disk is gone")

    service = Counting(turn)
    service.start()
    until(lambda: service.turns > 10)
    service.stop()
    assert len(service.cleared) == 6
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "the disk has 999.5 bytes free",
        "the disk is gone",
    ]


def test_what_trying_again_cannot_help_has_longer_pauses() -> None:
    def turn(number: int) -> None:
        raise ConfigError("wrong")

    service = Counting(turn)
    service.start()
    until(lambda: bool(service.cleared))
    time.sleep(0.1)
    assert (service.turns, service.failure) == (1, "wrong")
    service.stop()  # the pause does not hold it up


def test_a_fault_of_ours_does_not_end_it() -> None:
    def turn(number: int) -> None:
        raise KeyError(number)

    service = Counting(turn)
    service.permanent_pauses = service.pauses
    service.start()
    until(lambda: service.turns > 2)
    assert service.failure.startswith("KeyError: ")
    service.stop()


def test_a_stop_waits_for_what_is_left_as_long_as_it_may() -> None:
    service = Counting(lambda number: time.sleep(0.005), left=20)
    service.start()
    assert service.stop(PATIENCE)
    assert service.turns >= 20
    endless = Counting(lambda number: time.sleep(0.005), left=10**9)
    endless.start()
    assert not endless.stop(0.05)
