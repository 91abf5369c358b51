"""Which runs go at which age, and that a plan is what apply does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from itertools import pairwise

import pytest
from keeping import DAYS, KINDS, Keeper, agent_run, trace_of

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.retention.deletion import retention
from retrospan.ingest.retention.policy.policy import default_policy
from retrospan.ingest.retention.receipts.evidence import key_of
from retrospan.schemas.errors import ConfigError


def expected(numbers: int, days: float) -> list[str]:
    """Which of the runs are kept at an age of so many days."""
    return sorted(
        trace_of(f"{kind}-{number}")
        for kind in KINDS
        for number in range(numbers)
        if (limit := DAYS[kind]) is None or limit > days
    )


def assert_no_row_of(keeper: Keeper, table: str, key: str, gone: set[str]) -> None:
    """No row of what was deleted is left, but the one that hides a run for another day."""
    hides = "deleted" if table == "canon_runs" else "0"
    rows = keeper.rows(f"SELECT {key}, {hides} FROM {table}")
    assert not {name for name, hidden in rows if not hidden} & gone, table


@pytest.mark.parametrize(
    "numbers", [pytest.param(2, marks=pytest.mark.long), pytest.param(223, marks=pytest.mark.soak)]
)
def test_the_right_runs_go_at_each_age_as_planned(keeper: Keeper, numbers: int) -> None:
    """At 1, 7, 30 and 90 days, of 18 runs and of two thousand."""
    keeper.send([agent_run(f"{kind}-{n}", kind) for n in range(numbers) for kind in KINDS], together=5)
    keeper.settle()
    everything = expected(numbers, 0)
    assert keeper.traces() == everything
    assert keeper.plan() == []
    for days in (0.9, 1, 7, 29.9, 30, 90):
        keeper.after(days)
        before, kept = keeper.traces(), expected(numbers, days)
        due = sorted(set(before) - set(kept))
        assert keeper.plan() == due
        assert keeper.traces() == before, "a plan changes nothing"
        assert keeper.apply() == due
        assert keeper.traces() == kept
        assert keeper.runs() == sorted(set(kept) - {trace_of(f"other-{n}") for n in range(numbers)})
    assert keeper.plan() == keeper.apply() == []
    assert keeper.traces() == expected(numbers, 1e6), "what is golden stays"
    for name, table in TABLES.items():
        assert_no_row_of(keeper, table, key_of(name), set(everything) - set(keeper.traces()))
    assert all(not checked.wrong for checked in keeper.verify())
    assert not keeper.loader.missing_rows(), "what was deleted does not count as lost"


class _Bustle:
    """Sends a golden run again and again, and asks for the runs, each in a thread of its own."""

    def __init__(self, keeper: Keeper) -> None:
        self.sent: list[str] = []
        self.seen: list[set[str]] = []
        self._keeper = keeper
        self._ending = threading.Event()
        self._happened = threading.Condition()
        self._wrong: list[BaseException] = []
        self._threads = [threading.Thread(target=self._repeat, args=(do,)) for do in (self._send, self._ask)]
        for thread in self._threads:
            thread.start()

    def await_more(self) -> None:
        """Wait until another run was sent, and the runs were asked for once more."""
        sent, seen = len(self.sent), len(self.seen)
        with self._happened:
            more = self._happened.wait_for(
                lambda: self._wrong or (len(self.sent) > sent and len(self.seen) > seen), 120.0
            )
        assert more and not self._wrong, self._wrong

    def end(self) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()
        assert not self._wrong

    def _repeat(self, do: Callable[[], None]) -> None:
        try:
            while not self._ending.is_set():
                do()
                with self._happened:
                    self._happened.notify_all()
        except BaseException as error:  # noqa: BLE001 (told to the test, whatever it is)
            with self._happened:
                self._wrong.append(error)
                self._happened.notify_all()

    def _send(self) -> None:
        name = f"meanwhile-{len(self.sent)}"
        self._keeper.send([agent_run(name, "golden")])
        self.sent.append(trace_of(name))
        self._ending.wait(0.2)

    def _ask(self) -> None:
        self.seen.append(set(self._keeper.runs()))
        self._ending.wait(0.1)


@pytest.mark.soak
def test_spans_come_in_and_questions_are_answered_while_runs_go(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "AT_ONCE", 20)
    numbers = 12
    keeper.send([agent_run(f"{kind}-{n}", kind) for n in range(numbers) for kind in KINDS], together=5)
    keeper.settle()
    before = set(keeper.runs())
    keeper.after(30)
    bustle = _Bustle(keeper)
    pages: list[Mapping[str, object]] = []

    def report(progress: Mapping[str, object]) -> None:
        if progress.get("phase") == "deleting":
            pages.append(progress)
            bustle.await_more()

    try:
        keeper.retention.apply(default_policy(), report, by="tests")
    finally:
        bustle.end()
    assert len(pages) > 3
    keeper.settle()
    kept = set(expected(numbers, 30))
    assert set(keeper.runs()) == kept | set(bustle.sent), "what came in meanwhile is there, and what is kept"
    for earlier, later in pairwise(bustle.seen):
        assert kept <= later <= before | set(bustle.sent)
        assert later & before <= earlier, "what is gone does not come back"
    assert not keeper.loader.missing_rows()
    assert all(not checked.wrong for checked in keeper.verify())


def test_a_clock_that_was_set_back_is_refused(keeper: Keeper) -> None:
    keeper.send([agent_run("a", "ok")])
    keeper.settle()
    keeper.after(-3)
    with pytest.raises(ConfigError, match="Set the clock right"):
        keeper.apply()
    keeper.after(8)
    assert keeper.apply() == [trace_of("a")]
    keeper.after(2)
    with pytest.raises(ConfigError, match="the last deletion was at"):
        keeper.apply()
