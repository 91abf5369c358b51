"""The spans of a run as a tree: order, ancestors, and what is missing from it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan

#: A span above, by the span below it.
Nearest = Mapping[NormalizedSpan, NormalizedSpan]


class Tree:
    """Spans in the order of the run: started_at, then ended_at, then parents before children, then span id.

    A parent that never came, a parent that is the span itself and a cycle all count as no parent. A run may be as deep
    as it is long: what is asked of the ancestors of every span is asked once, from the top down.
    """

    def __init__(self, spans: Iterable[NormalizedSpan]) -> None:
        by_id = {(span.sent.trace_id, span.sent.span_id): span for span in spans}
        self._ids = by_id.keys()
        self._parents: dict[NormalizedSpan, NormalizedSpan] = {}
        self._depths: dict[NormalizedSpan, int] = {}
        for span in by_id.values():
            parent = by_id.get(_parent_key(span)) if span.sent.parent_span_id else None
            if parent is not None:
                self._parents[span] = parent
            else:
                self._depths[span] = 0
        for span in self._parents.copy() if self._parents else ():
            if span not in self._depths:
                self._measure(span)
        self.spans = sorted(by_id.values(), key=self._order)
        self._roots: list[NormalizedSpan] | None = None
        self._top_down: list[NormalizedSpan] | None = None
        self._holding: list[NormalizedSpan] | None = None

    def _order(self, span: NormalizedSpan) -> tuple[int, int, int, str, str]:
        sent = span.sent
        return sent.started_at, sent.ended_at, self._depths[span], sent.span_id, sent.trace_id

    def add(self, told: Iterable[tuple[NormalizedSpan, NormalizedSpan]]) -> None:
        """Add spans that were never sent, each with the one that tells of it: after all that had begun."""
        began = [span.sent.started_at for span in self.spans]
        after: dict[int, list[NormalizedSpan]] = {}
        for parent, span in told:
            self._parents[span] = parent
            self._depths[span] = self.depth(parent) + 1
            after.setdefault(bisect_right(began, span.sent.started_at), []).append(span)
        for added in after.values():
            added.sort(key=lambda span: span.sent.started_at)
        whole: list[NormalizedSpan] = []
        for place, span in enumerate(self.spans):
            whole += after.get(place, ())
            whole.append(span)
        self.spans = whole + after.get(len(began), [])
        self._top_down = self._holding = self._roots = None

    def _measure(self, span: NormalizedSpan) -> None:
        """Note the depth of a span and of those above it; a cycle is cut where the walk meets itself."""
        path: list[NormalizedSpan] = []
        on_path: set[NormalizedSpan] = set()
        at: NormalizedSpan | None = span
        while at is not None and at not in self._depths:
            path.append(at)
            on_path.add(at)
            at = self._parents.get(at)
            if at is not None and at in on_path:
                self._cut_cycle(path[path.index(at) :])
                at = None
        depth = self._depths[at] + 1 if at is not None else 0
        for above in reversed(path):
            depth = depth if above in self._parents else 0
            self._depths[above] = depth
            depth += 1

    def _cut_cycle(self, cycle: list[NormalizedSpan]) -> None:
        """Take the parents from the spans of a cycle: none of them is above the others."""
        for span in cycle:
            self._parents.pop(span, None)

    def depth(self, span: NormalizedSpan) -> int:
        return self._depths[span]

    def parent(self, span: NormalizedSpan) -> NormalizedSpan | None:
        """Return the span above, None where it never came or there is none."""
        return self._parents.get(span)

    def ancestors(self, span: NormalizedSpan) -> Iterator[NormalizedSpan]:
        """Yield parent, grandparent …: to be left early, or asked of few spans."""
        above = self._parents.get(span)
        while above is not None:
            yield above
            above = self._parents.get(above)

    def is_below(self, span: NormalizedSpan, above: NormalizedSpan) -> bool:
        """Tell whether a span has another among its ancestors."""
        return any(each is above for each in self.ancestors(span))

    def top_down(self) -> Sequence[NormalizedSpan]:
        """Return the spans, each after the one above it."""
        if self._top_down is None:
            self._top_down = sorted(self.spans, key=self._depths.__getitem__)
        return self._top_down

    def walk(self) -> Iterator[tuple[NormalizedSpan, bool]]:
        """Yield each span as it is entered (True) and as it is left (False), those inside it in between."""
        below: dict[NormalizedSpan, list[NormalizedSpan]] = {}
        for span in self.spans:
            parent = self.parent(span)
            if parent is not None:
                below.setdefault(parent, []).append(span)
        waiting = [(root, True) for root in reversed(self.roots())]
        while waiting:
            span, enters = waiting.pop()
            yield span, enters
            if enters:
                waiting.append((span, False))
                waiting += ((inner, True) for inner in reversed(below.get(span, ())))

    def nearest(self, wanted: Callable[[NormalizedSpan], bool]) -> Nearest:
        """Return, for every span that has one, the nearest span above it that is wanted."""
        above: dict[NormalizedSpan, NormalizedSpan] = {}
        # Most spans lie under another's parent: each is asked about once.
        if self._holding is None:
            self._holding = [*dict.fromkeys(self._parents.values())]
        found = {span for span in self._holding if wanted(span)}
        for span in self.top_down() if found else ():
            parent = self._parents.get(span)
            if parent is not None:
                nearest = parent if parent in found else above.get(parent)
                if nearest is not None:
                    above[span] = nearest
        return above

    def around(self, spans: Iterable[NormalizedSpan]) -> set[NormalizedSpan]:
        """Return all spans above any of these."""
        found: set[NormalizedSpan] = set()
        for span in spans:
            above = self._parents.get(span)
            while above is not None and above not in found:  # else all above it are as well
                found.add(above)
                above = self._parents.get(above)
        return found

    def roots(self) -> Sequence[NormalizedSpan]:
        """Return the spans without a parent in the run, in order."""
        if self._roots is None:
            self._roots = [span for span in self.spans if span not in self._parents]
        return self._roots

    def missing_parents(self) -> dict[tuple[str, str], list[NormalizedSpan]]:
        """Return each parent that is named and never came, with the spans that name it."""
        missing: dict[tuple[str, str], list[NormalizedSpan]] = {}
        for span in self.spans:
            sent = span.sent
            if sent.parent_span_id and _parent_key(span) not in self._ids:
                missing.setdefault(_parent_key(span), []).append(span)
        return missing


def _parent_key(span: NormalizedSpan) -> tuple[str, str]:
    sent = span.sent
    return (sent.parent_trace_id or sent.trace_id, sent.parent_span_id)
