"""The `retrospan.*` events of a run: which span says each, when, and in which step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from retrospan.ingest.interpret.assembly.steps import Step
from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.stated.fields import Fields
from retrospan.ingest.interpret.stated.inside import Inside
from retrospan.schemas.attributes import CONVENTIONS, STEP_INDEX, STEP_NAME

_TASK = {STEP_INDEX, STEP_NAME}


@dataclass(frozen=True, slots=True)
class Said:
    """One event. `index` is its place among the events of its span, from 0; `at` is Unix nanoseconds."""

    name: str
    reading: NormalizedSpan
    index: int
    at: int
    step: int | None
    fields: Fields


class Whereabouts:
    """The step in which something on a span happened."""

    def __init__(self, tree: Tree, steps: Sequence[Step]) -> None:
        self._tree = tree
        self._steps = {id(step.reading): step for step in steps}
        self._around = tree.nearest(lambda reading: id(reading) in self._steps)
        self._ordered = steps
        self._starts = [step.reading.span.started_at for step in steps]

    def step(self, reading: NormalizedSpan, at: int) -> Step | None:
        """Return the step that the span is or lies in; else the last step inside the span that had begun by then.

        What a task step says before its first act belongs to that act.
        """
        around = reading if id(reading) in self._steps else self._around.get(id(reading))
        if around is not None:
            return self._steps[id(around)]
        inside, begun = self._inside, bisect_right(self._starts, at)
        number = inside.last(reading, begun)
        if number is None and reading.span.attributes.keys() & _TASK:
            number = inside.first(reading)
        return self._ordered[number - 1] if number is not None else None

    @cached_property
    def _inside(self) -> Inside:
        return Inside(self._tree, [step.reading for step in self._ordered])


def read_events(tree: Tree, whereabouts: Whereabouts, problems: ParseIssues) -> Iterator[Said]:
    """Yield the events of the conventions, in the order of the spans, within a span as they were sent."""
    for reading in tree.readings:
        if reading.is_told:
            continue  # has no span of its own: the one it is told by has the events
        for index, event in enumerate(reading.span.events):
            if event.name.startswith(CONVENTIONS):
                at = event.time_ns or time_of(reading)
                step = whereabouts.step(reading, at)
                yield Said(
                    event.name,
                    reading,
                    index,
                    at,
                    step.number if step else None,
                    Fields(event.attributes, reading.span.span_id, problems),
                )


def time_of(reading: NormalizedSpan) -> int:
    """Return when what a span did was done: its end, else its start."""
    return reading.span.ended_at or reading.span.started_at
