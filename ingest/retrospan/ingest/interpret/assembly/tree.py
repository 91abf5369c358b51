"""The spans of a run as a tree: order, ancestors, and what is missing from it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan

Nearest = Mapping[int, NormalizedSpan]
"""A span above, by the id of the reading below it."""


class Tree:
    """Readings in the order of the run: started_at, then ended_at, then parents before children, then span id.

    A parent that never came, a parent that is the span itself and a cycle all count as no parent. A run may be as deep
    as it is long: what is asked of the ancestors of every span is asked once, from the top down.
    """

    def __init__(self, readings: Iterable[NormalizedSpan]) -> None:
        by_id = {(reading.span.trace_id, reading.span.span_id): reading for reading in readings}
        self._ids = by_id.keys()
        self._parents: dict[int, NormalizedSpan] = {}
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

    def add(self, told: Iterable[tuple[NormalizedSpan, NormalizedSpan]]) -> None:
        """Add readings that have no span of their own, each with the one that tells of it: after all that had begun."""
        began = [reading.span.started_at for reading in self.readings]
        after: dict[int, list[NormalizedSpan]] = {}
        for parent, reading in told:
            self._parents[id(reading)] = parent
            self._depths[id(reading)] = self.depth(parent) + 1
            after.setdefault(bisect_right(began, reading.span.started_at), []).append(reading)
        for added in after.values():
            added.sort(key=lambda reading: reading.span.started_at)
        whole: list[NormalizedSpan] = []
        for place, reading in enumerate(self.readings):
            whole += after.get(place, ())
            whole.append(reading)
        self.readings = whole + after.get(len(began), [])

    def _measure(self, reading: NormalizedSpan) -> None:
        """Note the depth of a span and of those above it; a cycle is cut where the walk meets itself."""
        path: list[NormalizedSpan] = []
        on_path: set[int] = set()
        at: NormalizedSpan | None = reading
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

    def _cut_cycle(self, cycle: list[NormalizedSpan]) -> None:
        """Take the parents from the spans of a cycle: none of them is above the others."""
        for reading in cycle:
            self._parents.pop(id(reading), None)

    def depth(self, reading: NormalizedSpan) -> int:
        return self._depths[id(reading)]

    def parent(self, reading: NormalizedSpan) -> NormalizedSpan | None:
        """Return the span above, None where it never came or there is none."""
        return self._parents.get(id(reading))

    def ancestors(self, reading: NormalizedSpan) -> Iterator[NormalizedSpan]:
        """Yield parent, grandparent …: to be left early, or asked of few spans."""
        above = self.parent(reading)
        while above is not None:
            yield above
            above = self.parent(above)

    def top_down(self) -> list[NormalizedSpan]:
        """Return the spans, each after the one above it."""
        return sorted(self.readings, key=self.depth)

    def walk(self) -> Iterator[tuple[NormalizedSpan, bool]]:
        """Yield each span as it is entered (True) and as it is left (False), those inside it in between."""
        below: dict[int, list[NormalizedSpan]] = {}
        for reading in self.readings:
            parent = self.parent(reading)
            if parent is not None:
                below.setdefault(id(parent), []).append(reading)
        waiting = [(root, True) for root in reversed(self.roots())]
        while waiting:
            reading, enters = waiting.pop()
            yield reading, enters
            if enters:
                waiting.append((reading, False))
                waiting += ((inner, True) for inner in reversed(below.get(id(reading), ())))

    def nearest(self, wanted: Callable[[NormalizedSpan], bool]) -> Nearest:
        """Return, for every span that has one, the nearest span above it that is wanted."""
        above: dict[int, NormalizedSpan] = {}
        for reading in self.top_down():
            parent = self.parent(reading)
            if parent is not None:
                found = parent if wanted(parent) else above.get(id(parent))
                if found is not None:
                    above[id(reading)] = found
        return above

    def around(self, readings: Iterable[NormalizedSpan]) -> set[int]:
        """Return the ids of all spans above any of these."""
        found: set[int] = set()
        for reading in readings:
            for above in self.ancestors(reading):
                if id(above) in found:
                    break  # as are all above it
                found.add(id(above))
        return found

    def roots(self) -> list[NormalizedSpan]:
        """Return the spans without a parent in the run, in order."""
        return [reading for reading in self.readings if self.parent(reading) is None]

    def missing_parents(self) -> dict[tuple[str, str], list[NormalizedSpan]]:
        """Return each parent that is named and never came, with the spans that name it."""
        missing: dict[tuple[str, str], list[NormalizedSpan]] = {}
        for reading in self.readings:
            span = reading.span
            if span.parent_span_id and _parent_key(reading) not in self._ids:
                missing.setdefault(_parent_key(reading), []).append(reading)
        return missing


def _parent_key(reading: NormalizedSpan) -> tuple[str, str]:
    span = reading.span
    return (span.parent_trace_id or span.trace_id, span.parent_span_id)
