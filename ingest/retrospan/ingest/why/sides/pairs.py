"""Where the runs of two sides begin to differ, and why: what many pairs of runs say together. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import comb

from retrospan.ingest.row_values import whole
from retrospan.ingest.why.sentence import Row
from retrospan.ingest.why.sides.rows import FEWEST

#: What a pair comes to besides a cause of `run_divergence`: equal, or equal as far as the shorter run goes.
IDENTICAL, LENGTH = "identical", "length"
#: At most this probability of chance, as `drift` has it; and pairs that are named for a cause.
_BY_CHANCE, _NAMED = 0.01, 3


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs that were asked the same, and their row of `run_divergence`; None if one of them is gone."""

    run_a: str
    run_b: str
    row: Row | None

    @property
    def outcome(self) -> str:
        """Return identical, length, or the cause that the steps show; '' if it is not on record whether they differ.

        Another version is not such a cause: every pair across two versions would have it, and none within one.
        """
        row = self.row
        if row is None:
            return ""
        if row["identical"]:
            return IDENTICAL
        if row["prefix"] in ("a", "b"):
            return LENGTH
        return str(row["shown_cause"])

    @property
    def is_of_versions(self) -> bool:
        """Return whether they differ, and in the version of the agent or of its service too."""
        return self.row is not None and self.row["cause"] == "code"

    @property
    def step(self) -> int | None:
        """Return the step of the first run where they begin to differ, else that of the second; None if no step does."""
        return None if self.row is None else whole(self.row, "step_a") or whole(self.row, "step_b")


@dataclass(frozen=True, slots=True)
class Share:
    """In how many pairs across the sides something is so, and in how many of the baseline's own."""

    across: int
    within: int
    p_value: float | None
    """Of such a difference by chance; None where there are too few pairs."""


@dataclass(slots=True)
class PairRows:
    """The pairs that were compared, and the runs that they were chosen from."""

    across: list[Pair] = field(default_factory=list[Pair])
    within: list[Pair] = field(default_factory=list[Pair])
    possible: Counter[str] = field(default_factory=Counter[str])
    """Pairs that there are, by `across` and `within`."""
    sizes: Counter[str] = field(default_factory=Counter[str])
    """The numbers of runs: `baseline_n`, `candidate_n`, `baseline_unknown`, `candidate_unknown`."""

    @property
    def lacking(self) -> tuple[int, int]:
        """Return how many pairs across the sides, and how many within the baseline, a verdict lacks."""
        return max(FEWEST - len(known(self.across)), 0), max(FEWEST - len(known(self.within)), 0)

    @property
    def is_conclusive(self) -> bool:
        return self.lacking == (0, 0)

    def parted(self) -> Share:
        """Return how many pairs differ at all."""
        return self._shares()[""]

    def causes(self) -> Iterator[tuple[str, Share, Sequence[Pair]]]:
        """Yield each cause with its share and the first pairs of it, the most frequent first."""
        for cause, share in self._shares().items():
            if cause:
                pairs = [pair for pair in self.across if pair.outcome == cause]
                yield (
                    cause,
                    share,
                    (pairs or [pair for pair in self.within if pair.outcome == cause])[:_NAMED],
                )

    def steps(self) -> list[tuple[int | None, int, int]]:
        """Return at how many pairs across, and within, the runs begin to differ at each step; None is before any."""
        across, within = (Counter(pair.step for pair in _apart(side)) for side in (self.across, self.within))
        return [
            (step, across[step], within[step]) for step in sorted({*across, *within}, key=lambda s: s or 0)
        ]

    def is_apart(self, share: Share) -> bool:
        """Return whether something is more frequent across the sides than within the baseline, beyond chance.

        A cause that is less frequent does not count: of two causes in a pair the earlier is told, and hides the other.
        """
        if share.p_value is None or share.p_value > _BY_CHANCE:
            return False
        return share.across * len(known(self.within)) > share.within * len(known(self.across))

    def differs(self) -> bool:
        """Return whether the sides differ in anything that was tested."""
        return any(self.is_apart(share) for share in self._shares().values())

    def _shares(self) -> dict[str, Share]:
        """Return the shares by cause, '' for pairs that differ at all; chances are adjusted over all of them."""
        sides = [Counter(pair.outcome for pair in _apart(side)) for side in (self.across, self.within)]
        across, within = sides
        counts = {"": (across.total(), within.total())}
        for cause in sorted({*across, *within}, key=lambda name: (-across[name], -within[name], name)):
            counts[cause] = (across[cause], within[cause])
        chances: list[float | None] = [None] * len(counts)
        if self.is_conclusive:
            sizes = len(known(self.across)), len(known(self.within))
            chances = [*adjusted([chance_of(pair, sizes) for pair in counts.values()])]
        return {
            cause: Share(*found, chance)
            for (cause, found), chance in zip(counts.items(), chances, strict=True)
        }


def known(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs of which it is known whether they differ."""
    return [pair for pair in pairs if pair.outcome]


def chance_of(found: tuple[int, int], sizes: tuple[int, int]) -> float:
    """Return the probability of so different shares by chance: Fisher's exact test, as in `drift`."""
    (one, other), total = sizes, sum(found)
    ways = {
        number: comb(one, number) * comb(other, total - number)
        for number in range(max(0, total - other), min(one, total) + 1)
    }
    return sum(way for way in ways.values() if way <= ways[found[0]]) / sum(ways.values())


def adjusted(chances: Sequence[float]) -> list[float]:
    """Return the chances adjusted by Benjamini and Hochberg over all of them."""
    order = sorted(range(len(chances)), key=lambda place: chances[place], reverse=True)
    found, least = [1.0] * len(chances), 1.0
    for rank, place in zip(range(len(chances), 0, -1), order, strict=True):
        least = min(least, chances[place] * len(chances) / rank)
        found[place] = least
    return found


def _apart(pairs: Sequence[Pair]) -> list[Pair]:
    return [pair for pair in pairs if pair.outcome not in ("", IDENTICAL)]
