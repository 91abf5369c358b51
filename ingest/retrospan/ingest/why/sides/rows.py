"""What is asked about two sides, question by question, before anything is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from retrospan.ingest.why.sentence import Basis, Row, Value

#: Runs that each side needs for a verdict, as `drift` has it.
FEWEST = 20
#: Runs of each side that `circumstances` looks at.
LOOKED_AT = 200
#: Which of several runs or calls a text stands in: a run, and the number of a call in it.
Place = tuple[str, int]


@dataclass(slots=True)
class SideRows:
    """The rows of the questions about two sides. What was not asked, because nothing calls for it, is empty."""

    given: Mapping[str, str]
    """The parameters of `drift` and `circumstances`: times and versions of both sides, and the agent."""
    since: str = ""
    """The moment between the sides; '' where they are chosen otherwise."""
    drift: Sequence[Row] = ()
    circumstances: Sequence[Row] = ()
    moments: dict[str, Sequence[Row]] = field(default_factory=dict)
    """By metric, its stretches of time."""
    stretch: int = 3_600
    """Seconds of such a stretch."""
    setups: dict[Place, Row] = field(default_factory=dict)
    results: dict[Place, Row] = field(default_factory=dict)

    @property
    def is_conclusive(self) -> bool:
        """Return whether there are runs enough for a verdict."""
        return bool(self.drift) and self.drift[0]["statistic"] != "too_few_runs"

    @property
    def sizes(self) -> tuple[int, int]:
        """Return how many runs the sides have. Each metric counts those that have it: some have them all."""
        counts = [(row["baseline_n"], row["candidate_n"]) for row in self.drift]
        baseline = max((n for n, _ in counts if isinstance(n, int)), default=0)
        return baseline, max((n for _, n in counts if isinstance(n, int)), default=0)

    def basis(self, view: str, **where: Value) -> Basis:
        """Return rows of one of the two views of sides."""
        return Basis(view, where, dict(self.given))


def clock(time: object) -> str:
    """Return a time to the second: `2026-11-21T14:32:00Z`."""
    return f"{str(time)[:19].replace(' ', 'T')}Z"
