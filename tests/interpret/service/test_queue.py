"""When a trace is due."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies

from retrospan.ingest.interpret.service.run_queue import FEW, SWEEP_BATCHES, RunQueue
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


def test_a_new_trace_that_has_ended_does_not_wait_for_quiet() -> None:
    queue = RunQueue(1.0)
    assert [*queue.may_be_read_at_once([A, B])] == [A, B]
    queue.touch(A, 1, (5,), now=0.0, ended=True)
    queue.touch(B, 1, (6,), now=0.0)
    assert queue.take(0.0, 10) == [(A, (5,))]
    assert [*queue.may_be_read_at_once([A, B])] == [B]
    queue.touch(A, 1, (7,), now=0.1, ended=True)
    assert queue.take(0.1, 10) == [], "it was read: what comes late may be followed by more"
    assert dict(queue.take(1.1, 10)) == {A: (7,), B: (6,)}


def test_where_many_traces_wait_it_is_not_asked_which_of_them_have_ended() -> None:
    queue = RunQueue(1.0)
    others = [("default", f"run {number}") for number in range(FEW + 5)]
    assert len([*queue.may_be_read_at_once(others)]) == FEW
    for trace in others[: FEW - 1]:
        queue.touch(trace, 1, (1,), now=0.0)
    assert [*queue.may_be_read_at_once([A, B])] == [A]
    queue.touch(A, 1, (1,), now=0.0)
    assert [*queue.may_be_read_at_once([B])] == []
    assert [*RunQueue(0.0).may_be_read_at_once([A])] == [], "it is due in any case"


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


def test_a_trace_that_grows_and_cost_much_waits_three_times_as_long() -> None:
    queue = RunQueue(1.0)
    queue.touch(A, 10, (1,), now=0.0)
    assert queue.take(1.0, 10) == [(A, (1,))]
    queue.done(A, effort=3.0)
    queue.touch(A, 1, (2,), now=4.0)
    queue.touch(A, 1, (3,), now=9.9)
    assert queue.take(9.9, 10) == []
    assert queue.take(10.0, 10) == [(A, (3,))]


def test_a_trace_that_never_falls_quiet_is_read_when_it_grew_by_half() -> None:
    queue = RunQueue(1.0)
    read_once(queue, B, 0.0, effort=5.0)
    queue.touch(B, 1, (2,), now=0.5)
    queue.touch(A, 10, (1,), now=0.0)
    assert queue.take(1.0, 10) == [(A, (1,))]
    queue.done(A, effort=1.0)
    for tick in range(8):
        queue.touch(A, 1, (tick + 2,), now=2.0 + tick / 2)
        due = queue.take(2.0 + tick / 2, 10)
        assert bool(due) == (tick == 4)
        if due:
            break


@pytest.mark.parametrize("every", [0.1, 0.4, 0.9, 1.0, 1.1, 1.9])
def test_a_trace_that_grows_is_read_every_two_seconds_whatever_its_rhythm(every: float) -> None:
    queue = RunQueue(1.0)
    read_once(queue, A, 0.0, effort=0.01)
    readings, waited, since, touched = 0, 0.0, 0.0, 0.0
    for tick in range(1, 1001):
        now = tick / 10
        if now >= touched + every:
            since, touched = since or now, now
            queue.touch(A, 1, (tick,), now=now)
        if queue.take(now, 10):
            queue.done(A, effort=0.01)
            readings, waited, since = readings + 1, max(waited, now - since), 0.0
    assert 25 <= readings <= 50
    assert waited < 2.3


def test_traces_that_grow_are_read_together() -> None:
    queue = RunQueue(1.0)
    growing = [("default", f"run {number}") for number in range(30)]
    for number, trace in enumerate(growing):
        read_once(queue, trace, number / 30, effort=0.01)
    passes = [0]
    for tick in range(20, 620):
        now = tick / 10
        for number, trace in enumerate(growing):
            if number % 10 == tick % 10:
                queue.touch(trace, 1, (tick,), now=now)
        if taken := queue.take(now, 1000):
            passes.append(len(taken))
            for trace, _ in taken:
                queue.done(trace, effort=0.01)
    assert len(passes) <= 45
    assert passes[-1] >= 27


def test_the_longest_waiting_come_first_and_no_more_than_asked() -> None:
    queue = RunQueue(0.0)
    queue.touch(A, 1, (2,), now=0.0)
    queue.touch(B, 1, (1,), now=1.0)
    queue.touch(A, 1, (3,), now=2.0)
    assert queue.take(5.0, 1) == [(A, (3,))]
    assert queue.oldest() == 1.0
    queue.touch(A, 1, (4,), now=5.0)
    assert queue.take(9.0, 1) == [(B, (1,))]


def test_of_many_that_are_due_those_are_read_together_whose_spans_lie_together() -> None:
    queue = RunQueue(0.0)
    names = [("default", f"{number * 7919 % 1000:03}") for number in range(SWEEP_BATCHES * 10 + 25)]
    for number, trace in enumerate(names):
        queue.touch(trace, 1, (number,), now=0.0)
    first, second = sorted(names[: SWEEP_BATCHES * 10]), sorted(names[SWEEP_BATCHES * 10 :])
    taken = [*iter(lambda: [trace for trace, _ in queue.take(5.0, 10)], [])]
    assert [len(batch) for batch in taken] == [10] * (SWEEP_BATCHES + 2) + [5]
    assert [trace for batch in taken for trace in batch] == first + second


def test_what_is_not_due_any_more_is_left_out_of_a_sweep() -> None:
    queue = RunQueue(1.0)
    for trace in (A, B):
        queue.touch(trace, 1, (1,), now=0.0)
    assert queue.take(1.0, 1) == [(A, (1,))]
    queue.touch(B, 1, (2,), now=1.0)
    assert queue.take(1.5, 1) == []
    assert queue.take(2.0, 1) == [(B, (2,))]


@given(
    strategies.lists(strategies.tuples(strategies.integers(0, 49), strategies.booleans()), max_size=150),
    strategies.integers(1, 4),
)
@example([(49, False), *((number % 40, True) for number in range(140))], 1)
@example([(0, False), *((49 - number % 40, True) for number in range(140))], 1)
def test_none_waits_longer_than_those_before_it_and_a_sweep_whatever_comes(
    arrivals: list[tuple[int, bool]], limit: int
) -> None:
    """Ids that come before, or behind, those that are being taken would keep the others waiting for ever."""
    queue, waiting, longest = RunQueue(0.0), dict[str, int](), 0

    def take() -> int:
        nonlocal longest
        batch = [trace_id for (_, trace_id), _ in queue.take(10.0, limit)]
        longest = max([longest, *map(waiting.pop, batch)])
        for trace_id in waiting:
            waiting[trace_id] += 1
        return len(batch)

    for number, is_free in arrivals:
        trace_id = f"{number:02}"
        queue.touch(("default", trace_id), 1, (1,), now=0.0)
        waiting.setdefault(trace_id, 0)
        if is_free:
            expected = min(limit, len(waiting))
            assert take() == expected, "as many as there is room for"
    while take():
        pass
    assert not waiting
    assert longest <= 50 // limit + SWEEP_BATCHES + 1


def test_traces_beyond_what_memory_is_meant_for_are_left_out_and_counted() -> None:
    queue = RunQueue(0.0, most=1)
    queue.touch(A, 1, (1,), now=0.0)
    queue.touch(B, 1, (2,), now=0.0)
    queue.touch(A, 1, (3,), now=0.0)
    assert (len(queue), queue.left_out) == (1, 1)
    queue.touch(B, 1, (4,), now=0.0, urgent=True)
    assert queue.take(1.0, 10) == [(A, (3,)), (B, (4,))]


def read_once(queue: RunQueue, trace: tuple[str, str], now: float, effort: float) -> None:
    """Have a trace come and be read at once, for this much effort."""
    queue.touch(trace, 100, (1,), now=now, urgent=True)
    assert trace in dict(queue.take(now, 1000))
    queue.done(trace, effort=effort)


def test_traces_that_grow_together_take_a_third_of_the_time() -> None:
    queue = RunQueue(1.0)
    growing = [("default", f"run {number}") for number in range(50)]
    now = 0.0
    for trace in growing:
        read_once(queue, trace, now, effort=0.2)
    began, spent = now + 60.0, 0.0
    while now < 660.0:
        now += 2.0
        for trace in growing:
            queue.touch(trace, 1, (2,), now=now)
        now += 1.5
        for trace, _ in queue.take(now, 1000):
            queue.done(trace, effort=0.2)
            spent += 0.2 if now > began else 0.0
    assert 0.0 < spent <= 0.36 * (now - began)


def test_a_trace_that_has_ended_is_not_kept_waiting_by_those_that_grow() -> None:
    queue = RunQueue(1.0)
    for number in range(50):
        read_once(queue, ("default", f"run {number}"), 0.0, effort=0.2)
        queue.touch(("default", f"run {number}"), 1, (2,), now=0.5)
    read_once(queue, A, 1.0, effort=0.2)
    assert queue.waits_its_turn(A)
    queue.touch(A, 1, (9,), now=1.5, ended=True)
    assert [trace for trace, _ in queue.take(3.0, 1000)] == [A]
    queue.touch(B, 1, (9,), now=3.0)
    assert not queue.waits_its_turn(B)
    assert [trace for trace, _ in queue.take(4.0, 1000)] == [B]


def test_a_trace_that_stopped_growing_takes_no_turns_of_others() -> None:
    queue = RunQueue(1.0)
    for number in range(50):
        read_once(queue, ("default", f"run {number}"), 0.0, effort=0.2)
        queue.touch(("default", f"run {number}"), 1, (2,), now=0.5)
    assert queue.take(29.0, 1000) == []
    assert len(queue.take(30.5, 1000)) == 50
    read_once(queue, A, 70.0, effort=0.2)
    queue.touch(A, 1, (3,), now=71.0)
    assert [trace for trace, _ in queue.take(72.0, 1000)] == [A]


def test_what_waits_for_its_turn_is_not_behind_until_then() -> None:
    queue = RunQueue(1.0)
    for number in range(50):
        read_once(queue, ("default", f"run {number}"), 0.0, effort=0.2)
        queue.touch(("default", f"run {number}"), 1, (2,), now=0.5)
    assert queue.lag(29.0) == 0.0
    assert queue.lag(40.0) == pytest.approx(10.0)
    queue.touch(A, 1, (1,), now=25.0)
    assert queue.lag(29.0) == 4.0
