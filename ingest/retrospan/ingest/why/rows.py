"""What is asked about a run, question by question, before anything is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from retrospan.ingest.why.sentence import Row


@dataclass(frozen=True, slots=True)
class Baseline:
    """A run to compare with, and how it was found; `is_chosen` is false where somebody named it.

    Steps are compared where it was asked the same: after another question nothing else could be expected.
    """

    run_id: str
    how: str
    is_chosen: bool = True
    is_equal: bool = True


@dataclass(slots=True)
class RunRows:
    """The rows of the questions about one run. What was not asked, because nothing calls for it, is empty or None."""

    run: Row
    failures: Sequence[Row] = ()
    tools: Sequence[Row] = ()
    calls: Sequence[Row] = ()
    context: Sequence[Row] = ()
    findings: Sequence[Row] = ()
    cut_answers: Sequence[Row] = ()
    effects: Sequence[Row] = ()
    stale: Sequence[Row] = ()
    touched: Sequence[Row] = ()
    prompt: Sequence[Row] = ()
    missing: Row | None = None
    problem: Row | None = None
    peers: Sequence[Row] = ()
    signs: Sequence[Row] = ()
    divergence: Row | None = None
    origin: Row | None = None
    documents: Sequence[Row] = ()
    baseline: Baseline | None = None
    places: dict[int, int] = field(default_factory=dict)
    """Which step a model call is, of those whose place matters."""
    switches: dict[str, str] = field(default_factory=dict)
    """How a layer that is missing is turned on, by its name."""

    @property
    def run_id(self) -> str:
        return str(self.run["run_id"])

    def call(self, ordinal: object) -> Row | None:
        """Return a tool call by its number, if it was asked for."""
        return next((row for row in self.calls if row["ordinal"] == ordinal), None)

    def groups(self, kind: str) -> list[Row]:
        """Return the groups of tool calls that have this in common: status, arguments or result."""
        return [row for row in self.tools if row["kind"] == kind]

    def own_loops(self) -> list[Row]:
        return [row for row in self.signs if row["view"] == "loops" and row["run_id"] == self.run_id]
