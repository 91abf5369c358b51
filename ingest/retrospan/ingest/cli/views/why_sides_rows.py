"""The questions behind `why --since`: the verdicts of drift, what runs ran with, then only what the rows call for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from retrospan.ingest.cli.client.collector_client import Parameter
from retrospan.ingest.cli.client.session import Asked, Session
from retrospan.ingest.cli.terminal.moments import Moment
from retrospan.ingest.cli.terminal.spans import Period
from retrospan.ingest.why.sentence import Row
from retrospan.ingest.why.sides.changed import results_wanted
from retrospan.ingest.why.sides.circumstance import changes
from retrospan.ingest.why.sides.metrics import worse
from retrospan.ingest.why.sides.rows import Place, SideRows
from retrospan.ingest.why.sides.texts import setups_wanted

#: The time before a moment that is compared with what came after it is as long as that, and this at least.
LEAST_SECONDS = 7 * 86_400
#: Rows of circumstances that are read, characters of instructions and of a result, and metrics looked at over time.
_ROWS, _TEXT, _RESULT, _METRICS = 500, 100_000, 20_000, 3
#: Up to so many days stretches are hours, else days.
_HOURLY_DAYS = 45


@dataclass(slots=True)
class SidesGathering:
    """Asks the questions about two sides. `since` is the moment between them, if there is one."""

    session: Session
    baseline: Period
    candidate: Period
    agent: str = ""
    since: Moment | None = None

    @classmethod
    def of_moment(cls, session: Session, since: Moment, agent: str) -> SidesGathering:
        """Compare what came after a moment with the time before it."""
        length = max(session.now - since, LEAST_SECONDS * 10**9)
        before = Period(Moment(max(since - length, 0)).clickhouse(), since.clickhouse())
        return cls(session, before, Period(since.clickhouse()), agent, since)

    def rows(self) -> SideRows:
        """Return all rows."""
        given = self.given
        rows = SideRows(given, self.since.rfc3339() if self.since is not None else "")
        drift, circumstances = self.of_every_two_sides()
        rows.drift = self._ask(*drift)
        if not rows.is_conclusive:
            return rows
        rows.circumstances = self._ask(*circumstances)
        found = changes(rows)
        if self.since is not None:
            self._moments(rows)
        rows.setups = self._texts("why_setups", setups_wanted(rows, found), _TEXT)
        rows.results = self._texts("why_results", results_wanted(found), _RESULT)
        return rows

    def of_every_two_sides(self) -> list[Asked]:
        """Return the questions that are asked about any two sides."""
        given: dict[str, Parameter] = {**self.given}
        return [("drift", given), ("why_circumstances", {**given, "rows": _ROWS})]

    @property
    def given(self) -> dict[str, str]:
        """Return the parameters of the views of two sides."""
        sides = {"baseline": self.baseline, "candidate": self.candidate}
        bounds = {
            f"{name}_{bound}": value
            for name, side in sides.items()
            for bound, value in (("from", side.start), ("to", side.end), ("version", side.version))
        }
        return {**bounds, "agent": self.agent}

    def _moments(self, rows: SideRows) -> None:
        start = datetime.fromisoformat(self.baseline.start[:19])
        now = datetime.fromisoformat(self.session.now.clickhouse()[:19])
        rows.stretch = 3_600 if (now - start).days <= _HOURLY_DAYS else 86_400
        for row in worse(rows)[:_METRICS]:
            metric = str(row["metric"])
            rows.moments[metric] = self._ask(
                "why_moments",
                {
                    "metric": metric,
                    "from": self.baseline.start,
                    "to": self.candidate.end,
                    "agent": self.agent,
                    "seconds": rows.stretch,
                },
            )

    def _texts(self, question: str, places: Sequence[Place], most: int) -> dict[Place, Row]:
        """Return the rows of calls by their places. Each run is asked about by itself: that reads the least."""
        found: dict[Place, Row] = {}
        for run_id in dict.fromkeys(run for run, _ in places):
            calls = [call for run, call in places if run == run_id]
            for row in self._ask(question, {"run_id": run_id, "calls": calls, "most": most}):
                found[str(row["run_id"]), int(str(row["ordinal"]))] = row
        return found

    def _ask(self, question: str, parameters: Mapping[str, Parameter]) -> list[Row]:
        asked = self.session.ask(question, **parameters)
        return [{name: _plain(value) for name, value in row.items()} for row in asked]


def _plain(value: object) -> object:
    return value.rfc3339() if isinstance(value, Moment) else value
