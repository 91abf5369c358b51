"""The questions behind `diff --baseline --candidate`: which runs are pairs, then of each pair where it begins to differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from retrospan.ingest.cli.client.collector_client import Parameter, Row
from retrospan.ingest.cli.client.rows import whole
from retrospan.ingest.cli.client.session import Asked, Session
from retrospan.ingest.cli.terminal.progress import Progress
from retrospan.ingest.cli.terminal.spans import Period
from retrospan.ingest.why.sides.pairs import Pair, PairRows

#: Pairs of each kind that are compared: one costs the collector what `diff` of two runs does.
PAIRS, MOST_PAIRS = 40, 500
_SIZES = ("baseline_n", "candidate_n", "baseline_unknown", "candidate_unknown")


@dataclass(frozen=True, slots=True)
class PairGathering:
    """Asks the questions about pairs of two sides."""

    session: Session
    baseline: Period
    candidate: Period
    agent: str = ""
    most: int = PAIRS

    def rows(self) -> PairRows:
        """Return the pairs, each with where it begins to differ."""
        found = PairRows()
        question, given = self._chosen()
        listed = self.session.ask(question, **given)
        for tenant in dict.fromkeys(str(row["tenant"]) for row in listed):
            first = next(row for row in listed if row["tenant"] == tenant)
            found.sizes.update({name: whole(first, name) or 0 for name in _SIZES})
        sides = {kind: self._of_kind(listed, kind, found) for kind in ("across", "within")}
        done, total = 0, sum(map(len, sides.values()))
        with Progress(self.session.screen) as progress:
            for kind, pairs in (("across", found.across), ("within", found.within)):
                for run_a, run_b in sides[kind]:
                    progress.tell({"phase": "comparing", "done": done, "total": total, "unit": "pairs"})
                    pairs.append(Pair(run_a, run_b, self.session.one("divergence", a=run_a, b=run_b)))
                    done += 1
        return found

    def of_every_two_sides(self) -> list[Asked]:
        """Return the questions that are asked about any two sides; the second is asked of each pair."""
        return [self._chosen(), ("divergence", {"a": "…", "b": "…"})]

    def _chosen(self) -> Asked:
        given: dict[str, Parameter] = {"agent": self.agent, "most": self.most}
        for name, side in (("baseline", self.baseline), ("candidate", self.candidate)):
            given |= {f"{name}_from": side.start, f"{name}_to": side.end, f"{name}_version": side.version}
        return "run_pairs", given

    def _of_kind(self, listed: Sequence[Row], kind: str, found: PairRows) -> list[tuple[str, str]]:
        """Return the pairs of a kind that are compared: of several tenants one of each before a second of any."""
        by_tenant: dict[str, list[Row]] = {}
        for row in listed:
            if row["sides"] == kind:
                by_tenant.setdefault(str(row["tenant"]), []).append(row)
        found.possible[kind] = sum(whole(rows[0], "possible") or 0 for rows in by_tenant.values())
        in_turn = [row for row in chain.from_iterable(zip_longest(*by_tenant.values())) if row is not None]
        return [(str(row["run_a"]), str(row["run_b"])) for row in in_turn[: self.most]]
