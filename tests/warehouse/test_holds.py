"""A hold at one collector of a server while another deletes: it holds, or its answer says what went before."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from keeping import Keeper, agent_run, linked_run, trace_of
from warehouse.engine_server import EngineServer

from retrospan.ingest.log.record import Note
from retrospan.ingest.settings.server_address import parse_server
from retrospan.ingest.warehouse.server import ServerWarehouse
from retrospan.schemas.errors import RetrospanError, TooLate, WarehouseUnavailable


@contextmanager
def collector(
    server: EngineServer, directory: Path, number: int, *, patience: float = 60.0
) -> Iterator[Keeper]:
    """One of those that share the server, with a log of that number. The first interprets."""
    address = parse_server(server.address, user="me", password="p@ss/word")
    reached = ServerWarehouse(address, timeout_seconds=60.0, log_number=number)
    made = Keeper(
        reached, directory, interprets=number == 0, log_number=number, alone=False, patience=patience
    )
    yield made
    made.close()
    reached.close()


@pytest.fixture
def deleting(server: EngineServer, tmp_path: Path) -> Iterator[Keeper]:
    """The collector that receives, interprets and deletes."""
    with collector(server, tmp_path / "one", 0) as made:
        yield made


@pytest.fixture
def holding(server: EngineServer, tmp_path: Path) -> Iterator[Keeper]:
    """The collector that is asked to hold."""
    with collector(server, tmp_path / "two", 2) as made:
        yield made


def at_receipts(keeper: Keeper, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Have something happen at the last moment before receipts of runs are written, once."""
    append, waiting = keeper.log.append, [act]

    def appending(*, tenant: str, notes: Sequence[Note] = ()) -> int:
        if waiting and notes and notes[0].kind == "receipt":
            waiting.pop()()
        return append(tenant=tenant, notes=notes)

    monkeypatch.setattr(keeper.log, "append", appending)


@pytest.mark.long
def test_a_hold_placed_while_another_collector_judges_spares_the_run(
    deleting: Keeper, holding: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleting.send([agent_run(name, "ok") for name in ("held", "plain")])
    deleting.send([linked_run("heir", "origin", "resumes"), agent_run("origin", "ok")])
    deleting.settle()
    deleting.after(8)
    judged = deleting.retention._delete_announced

    def hold_and_delete(*given: object) -> object:
        for name in ("held", "heir"):
            assert holding.marks.hold({"run": trace_of(name)})["set"] is True
        return judged(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(deleting.retention, "_delete_announced", hold_and_delete)
    assert deleting.apply() == [trace_of("plain")]
    assert deleting.runs() == sorted(trace_of(name) for name in ("held", "heir", "origin"))
    assert {row[0] for row in deleting.rows("SELECT trace_id FROM raw_spans")} == set(deleting.runs())


@pytest.mark.long
def test_a_hold_that_came_too_late_says_what_was_deleted(
    deleting: Keeper, holding: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleting.send(
        [agent_run("late", "ok"), linked_run("heir", "origin", "resumes"), agent_run("origin", "ok")]
    )
    deleting.settle()
    deleting.after(8)
    answers: dict[str, RetrospanError] = {}

    def hold(name: str) -> None:
        with pytest.raises(RetrospanError) as raised:
            holding.marks.hold({"run": trace_of(name)})
        answers[name] = raised.value

    asking = [threading.Thread(target=hold, args=(name,), daemon=True) for name in ("late", "heir")]

    def place_holds() -> None:
        for number, thread in enumerate(asking, 1):
            thread.start()
            while deleting.rows("SELECT count() FROM run_marks") != [[number]]:
                pass

    at_receipts(deleting, monkeypatch, place_holds)
    assert deleting.apply() == sorted(trace_of(name) for name in ("late", "heir", "origin"))
    for thread in asking:
        thread.join(60.0)
    assert {type(error) for error in answers.values()} == {TooLate}
    assert f"it came too late for run {trace_of('late')}: deleted at " in str(answers["late"])
    assert "by the collector of log 0 (receipt " in str(answers["late"])
    assert f"came too late for run {trace_of('heir')}" in str(answers["heir"])


@pytest.mark.long
def test_a_hold_is_in_doubt_while_a_collector_that_died_may_have_begun_to_delete(
    deleting: Keeper, server: EngineServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleting.send([agent_run("a", "ok")])
    deleting.settle()
    deleting.after(8)

    def die() -> None:
        raise OSError("killed")

    with monkeypatch.context() as patched:
        at_receipts(deleting, patched, die)
        with pytest.raises(OSError, match="killed"):
            deleting.apply()
    doubted = "the collector of log 0 began at .* whether this came in time is not known"
    with collector(server, tmp_path / "two", 2, patience=0.0) as holding:
        with pytest.raises(WarehouseUnavailable, match=doubted):
            holding.marks.hold({"run": trace_of("a")})
        assert deleting.retention.has_unburied()
        deleting.retention.finish()
        assert not deleting.retention.has_unburied()
        assert holding.marks.hold({"run": trace_of("a")})["set"] is True
        assert deleting.apply() == []


@pytest.mark.long
def test_a_hold_that_another_collectors_clock_outdoes_is_not_acknowledged(
    deleting: Keeper, holding: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other's clock is an hour ahead: what it said counts for an hour, and who is told otherwise would lose the run."""
    deleting.send([agent_run("a", "ok")])
    deleting.settle()
    ahead = time.time_ns() + 3_600 * 10**9
    with monkeypatch.context() as other:
        other.setattr(time, "time_ns", lambda: ahead)
        deleting.marks.hold({"run": trace_of("a")})
        deleting.marks.hold({"run": trace_of("a"), "lift": True})
    with pytest.raises(TooLate, match=f"the hold of run {trace_of('a')} is on record, but .* taken away at "):
        holding.marks.hold({"run": trace_of("a")})
    deleting.marks.hold({"run": trace_of("a")})  # its own words follow each other, whatever its clock does
    with pytest.raises(TooLate, match="it was set at "):
        holding.marks.hold({"run": trace_of("a"), "lift": True})
