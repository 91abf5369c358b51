"""Which of a run's steps lie inside a span, asked of many spans of a run of any depth."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree


class Inside:
    """Steps by where they lie: a question takes the square of the logarithm of their number, all together its product
    with their number in memory."""

    def __init__(self, tree: Tree, steps: Sequence[NormalizedSpan]) -> None:
        """Take `steps` in order: their numbers count from 1."""
        numbers = {span: number for number, span in enumerate(steps, start=1)}
        # On the way down each span is met before those inside it, and left after them.
        self._bounds: dict[NormalizedSpan, tuple[int, int]] = {}
        met: list[int] = []
        begun: dict[NormalizedSpan, int] = {}
        for span, enters in tree.walk():
            if enters:
                if span in numbers:
                    met.append(numbers[span])
                begun[span] = len(met)
            else:
                self._bounds[span] = (begun[span], len(met))
        # Level n holds runs of 2**n numbers as they were met, each sorted.
        self._levels: list[list[list[int]]] = [[[number] for number in met]]
        while len(self._levels[-1]) > 1:
            below = self._levels[-1]
            self._levels.append(
                [
                    sorted(below[at] + (below[at + 1] if at + 1 < len(below) else []))
                    for at in range(0, len(below), 2)
                ]
            )

    def last(self, span: NormalizedSpan, most: int) -> int | None:
        """Return the highest number up to `most` of a step inside a span."""
        found = [run[place - 1] for run in self._runs(span) if (place := bisect_right(run, most))]
        return max(found, default=None)

    def first(self, span: NormalizedSpan) -> int | None:
        """Return the lowest number of a step inside a span."""
        return min((run[0] for run in self._runs(span)), default=None)

    def _runs(self, span: NormalizedSpan) -> list[list[int]]:
        """Return sorted runs that together are the numbers of the steps inside."""
        begin, end = self._bounds.get(span, (0, 0))
        runs: list[list[int]] = []
        for level in self._levels:
            if begin >= end:
                break
            if begin % 2:
                runs.append(level[begin])
                begin += 1
            if end % 2:
                end -= 1
                runs.append(level[end])
            begin, end = begin // 2, end // 2
        return runs
