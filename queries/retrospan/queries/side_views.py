"""Two populations of runs beside each other, in the Python interface."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, TypeVar

from retrospan.schemas.literals import Value

Frame = TypeVar("Frame")

_GIVEN = (
    "baseline_from = {baseline_from:String}, baseline_to = {baseline_to:String}, "
    "baseline_version = {baseline_version:String}, candidate_from = {candidate_from:String}, "
    "candidate_to = {candidate_to:String}, candidate_version = {candidate_version:String}, "
    "agent = {agent:String}"
)


class SideViews(Generic[Frame]):
    """Views of two sides. Times are texts; '' is open, or any."""

    def drift(
        self,
        *,
        baseline_from: str = "",
        baseline_to: str = "",
        baseline_version: str = "",
        candidate_from: str = "",
        candidate_to: str = "",
        candidate_version: str = "",
        agent: str = "",
    ) -> Frame:
        """Tell whether runs behave differently from earlier ones: one row per metric."""
        return self.sql(
            f"SELECT * FROM drift({_GIVEN}) ORDER BY drifted DESC, metric, statistic",
            baseline_from=baseline_from,
            baseline_to=baseline_to,
            baseline_version=baseline_version,
            candidate_from=candidate_from,
            candidate_to=candidate_to,
            candidate_version=candidate_version,
            agent=agent,
        )

    def circumstances(
        self,
        *,
        baseline_from: str = "",
        baseline_to: str = "",
        baseline_version: str = "",
        candidate_from: str = "",
        candidate_to: str = "",
        candidate_version: str = "",
        agent: str = "",
    ) -> Frame:
        """Return what runs of both sides ran with, and how many of each: one row per part, name and value."""
        return self.sql(
            f"SELECT * FROM circumstances({_GIVEN}) ORDER BY changed DESC, part, name, value",
            baseline_from=baseline_from,
            baseline_to=baseline_to,
            baseline_version=baseline_version,
            candidate_from=candidate_from,
            candidate_to=candidate_to,
            candidate_version=candidate_version,
            agent=agent,
        )

    def score_drift(
        self,
        *,
        baseline_from: str = "",
        baseline_to: str = "",
        baseline_version: str = "",
        candidate_from: str = "",
        candidate_to: str = "",
        candidate_version: str = "",
        agent: str = "",
    ) -> Frame:
        """Return the scores of evaluations of both sides: one row per name, and per label."""
        return self.sql(
            f"SELECT * FROM score_drift({_GIVEN}) ORDER BY drifted DESC, name, label",
            baseline_from=baseline_from,
            baseline_to=baseline_to,
            baseline_version=baseline_version,
            candidate_from=candidate_from,
            candidate_to=candidate_to,
            candidate_version=candidate_version,
            agent=agent,
        )

    def run_pairs(
        self,
        *,
        baseline_from: str = "",
        baseline_to: str = "",
        baseline_version: str = "",
        candidate_from: str = "",
        candidate_to: str = "",
        candidate_version: str = "",
        agent: str = "",
        most: int = 40,
    ) -> Frame:
        """Return pairs of runs that were asked the same, for `run_divergence`; at most so many of each kind."""
        return self.sql(
            f"SELECT * FROM run_pairs({_GIVEN}, most = {{most:UInt32}})",
            baseline_from=baseline_from,
            baseline_to=baseline_to,
            baseline_version=baseline_version,
            candidate_from=candidate_from,
            candidate_to=candidate_to,
            candidate_version=candidate_version,
            agent=agent,
            most=most,
        )

    @abstractmethod
    def sql(self, query: str, /, **parameters: Value) -> Frame: ...
