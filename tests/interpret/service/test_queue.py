"""When a trace is due."""

from __future__ import annotations

from retrospan.ingest.interpret.service.run_queue import RunQueue
from retrospan.schemas.sequences import base_of

A, B = ("default", "a"), ("default", "b")


def test_a_trace_is_due_once_it_is_quiet() -> None:
    queue = RunQueue(1.0)
    queue.touch(A, 1, (5,), now=0.0)
    assert queue.take(0.5, 10) == []
    queue.touch(A, 1, (6,), now=1.0)
    assert queue.take(1.5, 10) == []
    assert queue.take(2.0, 10) == [(A, (6,))]
    assert len(queue) == 0


def test_what_several_logs_hold_of_a_trace_is_kept_for_each() -> None:
    queue = RunQueue(1.0)
    first, second = base_of(7), base_of(2)
    for sequence in (first + 4, second + 90, first + 3):
        queue.touch(A, 1, (sequence,), now=0.0)
    assert queue.take(2.0, 10) == [(A, (second + 90, first + 4))]


def test_urgent_traces_do_not_wait() -> None:
    queue = RunQueue(60.0)
    queue.touch(A, 1, (1,), now=0.0)
    queue.touch(B, 1, (2,), now=0.0, urgent=True)
    assert queue.take(0.0, 10) == [(B, (2,))]


def test_a_trace_that_cost_much_waits_four_times_as_long() -> None:
    queue = RunQueue(1.0)
    queue.touch(A, 10, (1,), now=0.0)
    assert queue.take(1.0, 10) == [(A, (1,))]
    queue.done(A, effort=3.0)
    queue.touch(A, 1, (2,), now=10.0)
    assert queue.take(21.9, 10) == []
    assert queue.take(22.0, 10) == [(A, (2,))]


def test_a_trace_that_never_falls_quiet_is_read_when_it_grew_by_half() -> None:
    queue = RunQueue(1.0)
    queue.touch(A, 10, (1,), now=0.0)
    assert queue.take(1.0, 10) == [(A, (1,))]
    queue.done(A, effort=0.01)
    for tick in range(8):
        queue.touch(A, 1, (tick + 2,), now=2.0 + tick / 2)
        due = queue.take(2.0 + tick / 2, 10)
        assert bool(due) == (tick == 4)
        if due:
            break


def test_the_longest_waiting_come_first_and_no_more_than_asked() -> None:
    queue = RunQueue(0.0)
    queue.touch(A, 1, (2,), now=0.0)
    queue.touch(B, 1, (1,), now=1.0)
    queue.touch(A, 1, (3,), now=2.0)
    assert queue.take(5.0, 1) == [(A, (3,))]
    assert queue.oldest() == 1.0
    queue.touch(A, 1, (4,), now=5.0)
    assert queue.take(9.0, 1) == [(B, (1,))]


def test_traces_beyond_what_memory_is_meant_for_are_left_out_and_counted() -> None:
    queue = RunQueue(0.0, most=1)
    queue.touch(A, 1, (1,), now=0.0)
    queue.touch(B, 1, (2,), now=0.0)
    queue.touch(A, 1, (3,), now=0.0)
    assert (len(queue), queue.left_out) == (1, 1)
    queue.touch(B, 1, (4,), now=0.0, urgent=True)
    assert queue.take(1.0, 10) == [(A, (3,)), (B, (4,))]
