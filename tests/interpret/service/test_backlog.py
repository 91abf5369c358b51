"""An interpreter with nothing to read sleeps, and misses nothing that comes before it fell asleep."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from retrospan.ingest.interpret.service.backlog import Backlog

FOR_EVER, AT_ONCE, PATIENCE = 3600.0, 0.01, 30.0


@pytest.fixture
def backlog() -> Backlog:
    return Backlog(5.0, 100, None)


def asleep(backlog: Backlog, seconds: float = FOR_EVER, idle_seconds: float = FOR_EVER) -> threading.Thread:
    thread = threading.Thread(target=backlog.wait, args=(seconds, idle_seconds), daemon=True)
    thread.start()
    return thread


def has_woken(sleeper: threading.Thread) -> bool:
    sleeper.join(PATIENCE)
    return not sleeper.is_alive()


def notice(backlog: Backlog) -> None:
    backlog.notice(1, 2)


def wake(backlog: Backlog) -> None:
    backlog.wake()


def read_again(backlog: Backlog) -> None:
    backlog.read_again("t", ["a" * 32])


@pytest.mark.parametrize("come", [notice, wake])
def test_what_came_before_the_sleep_ends_it(backlog: Backlog, come: Callable[[Backlog], None]) -> None:
    come(backlog)
    assert has_woken(asleep(backlog))


@pytest.mark.parametrize("come", [notice, wake, read_again])
def test_what_comes_ends_the_sleep(backlog: Backlog, come: Callable[[Backlog], None]) -> None:
    sleeper = asleep(backlog)
    sleeper.join(AT_ONCE)
    assert sleeper.is_alive()
    come(backlog)
    assert has_woken(sleeper)


def test_while_a_trace_waits_its_turn_is_looked_for_often(backlog: Backlog) -> None:
    read_again(backlog)
    assert has_woken(asleep(backlog, AT_ONCE, FOR_EVER))


def test_a_wake_counts_once(backlog: Backlog) -> None:
    wake(backlog)
    assert has_woken(asleep(backlog))
    sleeper = asleep(backlog)
    sleeper.join(0.2)
    assert sleeper.is_alive()
    wake(backlog)
    assert has_woken(sleeper)


def test_what_is_being_read_lags_until_it_is_read(backlog: Backlog) -> None:
    read_again(backlog)
    (batch,) = backlog.take(0, [], None, room=10, patience=0.0)
    assert backlog.lag_traces == 1 and backlog.lag_seconds > 0.0, "one that hangs must be seen"
    backlog.done(batch.part([*batch.newest]))
    assert (backlog.lag_traces, backlog.lag_seconds) == (0, 0.0)
    read_again(backlog)
    assert backlog.take(0, [], None, room=10, patience=0.0)
    backlog.lose()
    assert backlog.lag_seconds == 0.0, "it is found again with the next connection"
