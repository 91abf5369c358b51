"""Which traces are read with each other for the histories that they tell, and how much is held of those that are read together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from bench.long_run import LongRun, requests_of
from interpreting import canonical, load, settled
from spans import spans_of_requests
from told_turns import whole_of

from retrospan.ingest.interpret.conversations import Conversations
from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.interpret.service import batch as batch_module
from retrospan.ingest.interpret.service import dispatch as dispatch_module
from retrospan.ingest.interpret.service import related_traces as related_traces_module
from retrospan.ingest.interpret.service.histories import (
    StoredHistories,
    ToldHistories,
    related,
    traces_of_histories,
)
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.spans.decoded_traces import DecodedTraces
from retrospan.ingest.load.raw_row_reader import Fetch, span_pages
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse


def begins(trace_id: str, history: str) -> StoredHistories:
    return StoredHistories(trace_id, [], history, "")


def ends(trace_id: str, history: str) -> StoredHistories:
    return StoredHistories(trace_id, [], "", history)


def told(goes_on_from: str = "", inside: str = "", ends_with: str = "") -> ToldHistories:
    return ToldHistories(*(frozenset(some.split()) for some in (goes_on_from, inside, ends_with)))


@pytest.mark.parametrize(
    ("here", "elsewhere", "found"),
    [
        (told(ends_with="h"), [begins("a", "h")], "a"),
        (told(goes_on_from="h"), [ends("a", "h")], "a"),
        (told(inside="h"), [ends("a", "h"), begins("b", "h")], "a b"),
        (told(goes_on_from="h", ends_with="h"), [ends("a", "h")], "a"),
        # What goes on from a history as well may end with it in full.
        (told(goes_on_from="h"), [begins("a", "h")], "a"),
        # Nothing ends with it, or nothing goes on from it: each stays by itself.
        (told(inside="h"), [begins("a", "h"), begins("b", "h")], ""),
        (told(ends_with="h"), [ends("a", "h"), ends("b", "h")], ""),
        (told(ends_with="h k"), [ends("a", "h"), begins("b", "k")], "b"),
        (told(ends_with="h"), [StoredHistories("a", [], "of another turn", "h")], ""),
        (told(), [begins("a", ""), ends("b", "")], ""),
    ],
)
def test_a_history_leads_to_others_where_one_goes_on_from_it_and_one_ends_with_it(
    here: ToldHistories, elsewhere: list[StoredHistories], found: str
) -> None:
    assert " ".join(row.trace_id for row in related(here, elsewhere)) == found


class Warehouse:
    """Knows the histories of some traces; `asked` are those that it was asked for."""

    def __init__(self, *stored: StoredHistories) -> None:
        self.stored = stored
        self.asked: list[tuple[list[str], list[str]]] = []

    def rows(self, statement: str, named: dict[str, Any]) -> list[list[object]]:
        if "begun" not in named:
            return [[trace_id, [1]] for trace_id in named["trace_ids"]]
        self.asked.append((named["begun"], named["ended"]))
        return [
            [*row]
            for row in self.stored
            if row.goes_on_from in named["begun"] or row.ends_with in named["ended"]
        ]


def test_turns_told_in_parts_are_looked_for_only_where_one_is_told_whole() -> None:
    """The same question may have had the same answer a hundred thousand times."""
    parts = [begins(str(number), "h") for number in range(3)]
    store = Warehouse(*parts)
    assert traces_of_histories(store, "default", told(inside="h"), ["0"]) == {}  # type: ignore[arg-type]
    assert store.asked == [([], ["h"])]
    store = Warehouse(*parts, ends("whole", "h"))
    found = traces_of_histories(store, "default", told(inside="h"), ["0"])  # type: ignore[arg-type]
    assert found == {"1": (1,), "2": (1,), "whole": (1,)}


@pytest.fixture(params=[True, False], ids=["own-process", "one-process"])
def living(request: pytest.FixtureRequest, warehouse: EmbeddedWarehouse) -> Iterator[Interpreter]:
    with interpreter(warehouse, request.param) as started:
        yield started


@contextmanager
def interpreter(warehouse: EmbeddedWarehouse, own_process: bool) -> Iterator[Interpreter]:
    """One that waits for nothing."""
    started = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0), own_process)
    started.start()
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The pages of spans that are read, whoever interprets them."""
    pages: list[bytes] = []

    def noted(fetch: Fetch, *asked: Any) -> Iterator[bytes]:
        for page in span_pages(fetch, *asked):
            pages.append(page)
            yield page

    for module in (dispatch_module, related_traces_module):
        monkeypatch.setattr(module, "span_pages", noted)
    return pages


def bodies(run: LongRun) -> list[bytes]:
    return [*requests_of(run.spans(), 500)]


def test_a_run_is_not_read_with_those_that_were_asked_and_answered_the_same(
    store: EmbeddedStore, living: Interpreter, read: list[bytes]
) -> None:
    """Two long runs of one question took twice the memory of one, and as many as fifty may have it."""
    runs = [LongRun(30, 7), LongRun(30, 7, odd_step=3)]
    first, second = map(bodies, runs)
    living.notice(*load(store, first))
    settled(living)
    alone = sum(map(len, read))
    living.notice(*load(store, second))
    settled(living)
    assert runs[0].run_id != runs[1].run_id
    assert store.rows("SELECT uniqExact(goes_on_from), count() FROM canon_traces FINAL") == [[1, 2]]
    assert sum(map(len, read)) - alone < 1.1 * alone
    assert store.rows("SELECT count() FROM canon_runs FINAL") == [[2]]
    assert living.counters.failures == living.counters.broken == 0


@pytest.mark.parametrize(
    "own_process",
    [pytest.param(True, id="own-process", marks=pytest.mark.long), pytest.param(False, id="one-process")],
)
def test_a_turn_that_is_told_in_parts_and_whole_is_one_run_whatever_came_first(
    store: EmbeddedStore, warehouse: EmbeddedWarehouse, own_process: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = [*LongRun(13, 5).spans()]
    parts, whole = [*requests_of(spans, 500)], [*requests_of([whole_of(spans)], 500)]
    found = []
    interpreted: list[str] = []
    noting(monkeypatch, "interpret", lambda run: interpreted.append(run.run_id))
    for order, readings in (([parts, whole], 2), ([whole, parts], 2), ([parts + whole], 1)):
        for table in (*TABLES.values(), "raw_spans", "raw_logs", "arrivals"):
            store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})
        interpreted.clear()
        first, *others = order
        load(store, first)
        # A new one each time, which finds what is there: what has read a trace waits the longer for more of it, the
        # longer that took, so that two which came together would not be read together on a busy machine.
        with interpreter(warehouse, own_process) as living:
            settled(living)
            for some in others:
                living.notice(*load(store, some))
                settled(living)
        rows = canonical(store)
        # Of a run that is a part of another one now it is told that it is gone.
        gone = store.rows("SELECT run_id FROM canon_runs FINAL WHERE deleted")
        rows["canon_runs"] = [row for row in rows["canon_runs"] if [row[1]] not in gone]
        found.append(rows)
        if not own_process:
            assert len(interpreted) == readings, "a reading that leads to others interprets nothing"
    assert found[0] == found[1] == found[2]
    assert [len(found[0][TABLES[name]]) for name in ("runs", "traces")] == [1, 2]


def noting(monkeypatch: pytest.MonkeyPatch, name: str, note: Callable[[Any], object]) -> None:
    """Have each run told that is interpreted, or that gets its rows."""
    call = getattr(batch_module, name)

    def noted(*given: Any) -> Any:
        came = call(*given)
        note(came if name == "interpret" else given[0])
        return came

    monkeypatch.setattr(batch_module, name, noted)


class NothingStored:
    def rows(self, *_: object) -> list[list[object]]:
        return []


@pytest.mark.parametrize("most", [1, 20_000, 10**9])
def test_runs_of_one_job_are_held_until_they_are_as_large_as_may_be(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_module, "HELD_CHARACTERS", most)
    runs = [LongRun(13, seed) for seed in range(8)]
    spans = {run.run_id: spans_of_requests(bodies(run)) for run in runs}
    held: dict[str, int] = {}
    peaks: list[int] = []

    def begun(run: Any) -> None:
        held[run.run_id] = sum(len(value.json) for value in run.values.all)
        peaks.append(sum(held.values()))

    noting(monkeypatch, "interpret", begun)
    noting(monkeypatch, "rows_of", lambda run: held.pop(run.run_id))
    batch = batch_module.interpret_traces(
        "default",
        dict.fromkeys(spans, (1,)),
        DecodedTraces(
            spans,
            {trace_id: {} for trace_id in spans},
            {trace_id: [] for trace_id in spans},
            {trace_id: [] for trace_id in spans},
            {trace_id: len(own) for trace_id, own in spans.items()},
        ),
        lambda: 1,
        Conversations(NothingStored(), "default"),  # type: ignore[arg-type]  # asked for rows alone
    )
    assert [row.run_id for row in batch.rows.runs] == [run.run_id for run in runs]
    assert not held
    largest = max(b - a for a, b in zip([0, *peaks], peaks, strict=False))
    assert max(peaks) <= most + largest
    assert set(batch.effort) == set(spans)
    assert all(batch.effort.values())
