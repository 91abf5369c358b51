"""Several replays at a time: in their order, and none is begun once nobody waits for it."""

from __future__ import annotations

import threading
from contextlib import closing
from functools import partial

import pytest

from retrospan.exporter.replay.suite import several
from retrospan.schemas.errors import PermanentError


def test_so_many_are_done_at_a_time_and_told_in_their_order() -> None:
    met = threading.Barrier(2, timeout=30)
    last_first = threading.Event()

    def first() -> str:
        met.wait()
        assert last_first.wait(30)
        return "first"

    def second() -> str:
        met.wait()
        last_first.set()
        return "second"

    assert [*several([first, second], 2)] == ["first", "second"]


def test_one_at_a_time_is_one_after_the_other() -> None:
    done = list[int]()
    assert [*several([partial(done.append, number) for number in range(9)], 1)] == [None] * 9
    assert done == [*range(9)]


def test_what_was_not_begun_is_not_done_once_somebody_stops() -> None:
    done = list[int]()
    goes_on = threading.Event()

    def replay(number: int) -> int:
        assert number == 0 or goes_on.wait(30)
        done.append(number)
        return number

    with closing(several([partial(replay, number) for number in range(50)], 2)) as found:
        assert next(found) == 0
        threading.Timer(0.2, goes_on.set).start()
    assert len(done) < 10


def test_an_error_comes_in_its_turn() -> None:
    def fails() -> str:
        raise PermanentError("no file")

    found = several([lambda: "well", fails], 2)
    assert next(found) == "well"
    with pytest.raises(PermanentError, match="no file"):
        next(found)


def test_no_replay_at_all_is_nothing() -> None:
    assert [*several(list[partial[int]](), 2)] == []
