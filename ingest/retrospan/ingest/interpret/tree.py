"""The spans of a run as a tree: order, ancestors, and what is missing from it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from retrospan.ingest.interpret.reading import Reading


class Tree:
    """Readings in the order of the run: started_at, then ended_at, then parents before children, then span id.

    A parent that never came, a parent that is the span itself and a cycle all count as no parent.
    """

    def __init__(self, readings: Iterable[Reading]) -> None:
        by_id = {(reading.span.trace_id, reading.span.span_id): reading for reading in readings}
        self._ids = by_id.keys()
        self._parents: dict[int, Reading] = {}
        for reading in by_id.values():
            parent = by_id.get(_parent_key(reading))
            if parent is not None and reading.span.parent_span_id:
                self._parents[id(reading)] = parent
        self._depths: dict[int, int] = {}
        for reading in by_id.values():
            self._measure(reading)
        self.readings = sorted(
            by_id.values(),
            key=lambda reading: (
                reading.span.started_at,
                reading.span.ended_at,
                self.depth(reading),
                reading.span.span_id,
                reading.span.trace_id,
            ),
        )

    def add(self, parent: Reading, told: Sequence[Reading]) -> None:
        """Add readings that have no span of their own under one that tells of them: each after all that had begun."""
        began = [reading.span.started_at for reading in self.readings]
        for reading in told:
            self._parents[id(reading)] = parent
            self._depths[id(reading)] = self.depth(parent) + 1
            place = bisect_right(began, reading.span.started_at)
            began.insert(place, reading.span.started_at)
            self.readings.insert(place, reading)

    def _measure(self, reading: Reading) -> None:
        """Note the depth of a span and of those above it; a cycle is cut where the walk meets itself."""
        path: list[Reading] = []
        on_path: set[int] = set()
        at: Reading | None = reading
        while at is not None and id(at) not in self._depths:
            path.append(at)
            on_path.add(id(at))
            at = self._parents.get(id(at))
            if at is not None and id(at) in on_path:
                self._cut_cycle(path[path.index(at) :])
                at = None
        depth = self._depths[id(at)] + 1 if at is not None else 0
        for above in reversed(path):
            depth = depth if id(above) in self._parents else 0
            self._depths[id(above)] = depth
            depth += 1

    def _cut_cycle(self, cycle: list[Reading]) -> None:
        """Take the parents from the spans of a cycle: none of them is above the others."""
        for reading in cycle:
            self._parents.pop(id(reading), None)

    def depth(self, reading: Reading) -> int:
        return self._depths[id(reading)]

    def parent(self, reading: Reading) -> Reading | None:
        """Return the span above, None where it never came or there is none."""
        return self._parents.get(id(reading))

    def ancestors(self, reading: Reading) -> Iterator[Reading]:
        """Yield parent, grandparent …"""
        above = self.parent(reading)
        while above is not None:
            yield above
            above = self.parent(above)

    def roots(self) -> list[Reading]:
        """Return the spans without a parent in the run, in order."""
        return [reading for reading in self.readings if self.parent(reading) is None]

    def missing_parents(self) -> dict[tuple[str, str], list[Reading]]:
        """Return each parent that is named and never came, with the spans that name it."""
        missing: dict[tuple[str, str], list[Reading]] = {}
        for reading in self.readings:
            span = reading.span
            if span.parent_span_id and _parent_key(reading) not in self._ids:
                missing.setdefault(_parent_key(reading), []).append(reading)
        return missing


def _parent_key(reading: Reading) -> tuple[str, str]:
    span = reading.span
    return (span.parent_trace_id or span.trace_id, span.parent_span_id)
