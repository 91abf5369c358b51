"""Since when a metric is worse: the moment at which its stretches of time part best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from retrospan.ingest.why.sentence import Row

#: Runs that must lie before the moment and after it.
FEWEST = 5


@dataclass(frozen=True, slots=True)
class Moment:
    """A metric before a moment and from it on, as means over the runs, or as shares of them."""

    at: str
    before: float
    after: float
    runs_before: int
    runs_after: int
    shown_by: str
    """The run after it that shows the metric most."""


def moment_of(stretches: Sequence[Row]) -> Moment | None:
    """Return the moment that parts the stretches into two of the most different means, of those where it grew.

    The difference counts as much as runs stand behind it: of n and m runs by n * m / (n + m). Numbers such as tokens are
    compared by their logarithms, so that one long run does not decide.
    """
    runs, scaled = [_number(row, "runs") for row in stretches], [_number(row, "scaled") for row in stretches]
    all_runs, all_scaled = sum(runs), sum(scaled)
    best, place, n, sum_before = 0.0, 0, 0.0, 0.0
    for each in range(1, len(stretches)):
        n += runs[each - 1]
        sum_before += scaled[each - 1]
        m = all_runs - n
        if n < FEWEST or m < FEWEST:
            continue
        grown = (all_scaled - sum_before) / m - sum_before / n
        weight = grown * grown * n * m / (n + m)
        if grown > 0 and weight > best:
            best, place = weight, each
    if not place:
        return None
    before, after = stretches[:place], stretches[place:]
    shown = max(after, key=lambda row: _number(row, "total") / max(_number(row, "runs"), 1))
    return Moment(
        str(after[0]["at"]), _mean(before), _mean(after), _runs(before), _runs(after), str(shown["shown_by"])
    )


def _mean(stretches: Sequence[Row]) -> float:
    return math.fsum(_number(row, "total") for row in stretches) / max(_runs(stretches), 1)


def _runs(stretches: Sequence[Row]) -> int:
    return round(sum(_number(row, "runs") for row in stretches))


def _number(row: Row, name: str) -> float:
    value = row[name]
    return float(value) if isinstance(value, int | float) else 0.0
