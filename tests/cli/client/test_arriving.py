"""A run that is replayed or kept the moment it was sent is read when all of it can be, and a part of it is told as that."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from retrospan.ingest.cli.client import arriving
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.views.golden_checks import require_met
from retrospan.schemas.bundle.form import RunRecord
from retrospan.schemas.bundle.golden import Golden
from retrospan.schemas.errors import PermanentError

OLD, NEW = "01" * 16, "02" * 16


class Collector:
    """Answers as a collector that has run NEW on disk, and reads a part of it each time that it is asked how it is."""

    def __init__(self, *, behind: int, ends: bool = True) -> None:
        self.behind, self.ends, self.notes = behind, ends, list[str]()
        self.warehouse = SimpleNamespace(health=self.health, address="here")
        self.screen = SimpleNamespace(note=lambda *parts: self.notes.append(parts[0][0]))

    def health(self) -> dict[str, object]:
        self.behind = max(0, self.behind - 1)
        return {"load_lag_records": 0, "interpretation_lag_traces": min(1, self.behind)}

    def one(self, question: str, **parameters: Any) -> dict[str, Any] | None:
        if question == "last_run":
            return {"run_id": OLD if self.behind > 2 else NEW}
        if question == "run_end":
            ended = parameters["run_id"] == OLD or (self.ends and not self.behind)
            return {"incomplete_because": None if ended else "not_ended"}
        assert question == "is_run"
        return {"run_id": parameters["run_id"]}


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arriving, "_PAUSE_SECONDS", 0.0)


@pytest.mark.parametrize("typed", ["last", NEW])
def test_what_has_arrived_is_waited_for(typed: str) -> None:
    collector = Collector(behind=5)
    assert arriving.find_whole_run(cast(Session, collector), typed) == NEW
    assert (collector.behind, collector.notes) == (0, [])


def test_a_run_that_has_ended_is_not_kept_waiting_by_others() -> None:
    collector = Collector(behind=5)
    assert arriving.find_whole_run(cast(Session, collector), OLD) == OLD
    assert collector.behind == 5


def test_a_run_without_an_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    collector = Collector(behind=0, ends=False)
    assert arriving.find_whole_run(cast(Session, collector), "last") == NEW
    assert collector.notes == ["run 02020202 has not ended, or its end is not on record"]
    # Where others send all the time, the waiting has an end.
    monkeypatch.setattr(arriving, "PATIENCE_SECONDS", 0.0)
    collector = Collector(behind=10**9)
    assert arriving.find_whole_run(cast(Session, collector), NEW) == NEW
    assert len(collector.notes) == 1


def test_no_golden_run_is_made_of_the_beginning_of_one() -> None:
    begun = RunRecord(run_id=NEW, outcome="running", incomplete_because="not_ended")
    with pytest.raises(PermanentError, match="has not ended, or its end is not on record"):
        require_met(Golden(name="refund", run_id=NEW), begun)
