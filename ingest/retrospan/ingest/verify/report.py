"""The report of a verification: what is wrong and where, and what was checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Report = Callable[[Mapping[str, object]], None]
#: So many wrong places of a kind are named; the rest is counted.
MOST_NAMED = 100


@dataclass(slots=True)
class VerifiedPart:
    """One thing that was verified. `covered` counts what was compared, `not_covered` says what was not, and why."""

    name: str
    report: Report
    covered: dict[str, int] = field(default_factory=dict)
    not_covered: list[str] = field(default_factory=list)
    wrong: int = 0

    def count(self, **numbers: int) -> None:
        """Add to what was compared."""
        for name, number in numbers.items():
            self.covered[name] = self.covered.get(name, 0) + number

    def leave_out(self, why: str) -> None:
        """List once what was not compared."""
        if why not in self.not_covered:
            self.not_covered.append(why)

    def report_wrong(self, where: str, what: str, **place: object) -> None:
        """Report a wrong place. `place` holds the same for machines."""
        self.wrong += 1
        if self.wrong <= MOST_NAMED:
            self.report({"part": self.name, "where": where, "wrong": what, **place})

    def end(self, seconds: float) -> None:
        """Report what was covered."""
        self.report(
            {
                "part": self.name,
                "covered": self.covered,
                "not_covered": self.not_covered,
                "wrong_places": self.wrong,
                "seconds": round(seconds, 2),
            }
        )
