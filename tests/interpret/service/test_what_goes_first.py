"""What comes now is read before what was left unread, or is read anew because somebody asked for all of it."""

from __future__ import annotations

from bench.long_run import LongRun, requests_of
from interpreting import load

from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.service.run_queue import FRESH_BATCHES, RunQueue, TraceKey
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse


def names(count: int, tenant: str = "default") -> list[TraceKey]:
    return [(tenant, f"{number:03}") for number in range(count)]


def taken(queue: RunQueue, now: float, limit: int) -> list[TraceKey]:
    return [trace for trace, _ in queue.take(now, limit)]


def test_what_comes_now_goes_before_what_is_late_however_much_of_that_waits() -> None:
    queue = RunQueue(1.0)
    late = names(1000)
    for trace in late:
        queue.touch(trace, 1, (1,), now=0.0, late=True)
    new = ("default", "zzz")
    assert [*queue.may_be_read_at_once([new])] == [new], "what is late does not count"
    queue.touch(new, 1, (2,), now=0.5, ended=True)
    first = taken(queue, 0.5, 10)
    assert first[0] == new and set(first[1:]) <= set(late) and len(first) == 10


def test_what_is_late_is_not_forgotten_however_much_comes() -> None:
    queue = RunQueue(0.0)
    late = names(20)
    for trace in late:
        queue.touch(trace, 1, (1,), now=0.0, late=True)
    for trace in names(100, "now"):
        queue.touch(trace, 1, (1,), now=1.0)
    batches = [taken(queue, 2.0, 10) for _ in range(2 * FRESH_BATCHES + 2)]
    are_late = [{trace in late for trace in batch} for batch in batches]
    assert are_late == ([{False}] * FRESH_BATCHES + [{True}]) * 2
    assert len(taken(queue, 2.0, 100)) == 40, "nothing is late any more"


def test_a_trace_that_is_late_and_goes_on_is_not_late_any_more() -> None:
    queue = RunQueue(0.0)
    for trace in names(50):
        queue.touch(trace, 1, (1,), now=0.0, late=True)
    going_on = names(50)[30]
    queue.touch(going_on, 1, (2,), now=0.0)
    assert taken(queue, 0.0, 10)[0] == going_on
    queue.touch(going_on, 1, (3,), now=0.0)
    queue.touch(going_on, 1, (2,), now=0.0, late=True)
    assert taken(queue, 0.0, 10)[0] == going_on


def test_there_is_room_for_what_comes_now_however_much_is_late() -> None:
    queue = RunQueue(0.0, most=4)
    for trace in names(100):
        queue.touch(trace, 1, (1,), now=0.0, late=True)
    for trace in names(5, "now"):
        queue.touch(trace, 1, (1,), now=0.0)
    assert (len(queue), queue.left_out, queue.has_room) == (104, 1, False)
    assert {*names(4, "now")} < {*taken(queue, 1.0, 10)}
    assert not queue.has_room
    assert len(taken(queue, 1.0, 100)) == 94
    rooms = []
    for trace in names(4, "now"):
        rooms.append(queue.has_room)
        queue.touch(trace, 1, (2,), now=2.0)
    assert rooms == [True, True, True, False]


def test_a_run_that_comes_while_everything_is_loaded_again_is_read_in_the_next_batch(
    store: EmbeddedStore, warehouse: EmbeddedWarehouse
) -> None:
    bodies = [body for seed in range(60) for body in requests_of(LongRun(1, seed).spans(), 500)]
    before = load(store, bodies)
    # More than there is room for of what comes now.
    settings = InterpreterSettings(quiet_seconds=0.0)
    interpreter = Interpreter(warehouse, settings, own_process=False, most_waiting=50, noticed_to=before[1])
    try:
        # Rounds of its thread, which is not started.
        interpreter.run_once()
        interpreter.run_once()
        assert store.rows("SELECT count() FROM canon_runs FINAL") == [[60]]
        interpreter.notice(*before)  # loaded again
        new = LongRun(1, 99)
        interpreter.notice(*load(store, [*requests_of(new.spans(), 500)]))
        interpreter._runner._trace_bytes = 5e6  # a batch of a few
        interpreter.run_once()
        assert interpreter.lag_traces > 50
        assert store.rows(f"SELECT count() FROM canon_runs FINAL WHERE run_id = '{new.run_id}'") == [[1]]
    finally:
        interpreter.end()
