"""The `retrospan.*` events of a run: the span, the time and the step of each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.stated.fields import Fields
from retrospan.ingest.interpret.stated.inside import Inside
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.interpret.tree.tree import Nearest, Tree
from retrospan.schemas.attributes import CONVENTIONS, STEP_INDEX, STEP_NAME

_TASK = {STEP_INDEX, STEP_NAME}


@dataclass(frozen=True, slots=True)
class StatedEvent:
    """One event. `identity` tells it from all others, in whichever form it came; `at` is Unix nanoseconds."""

    name: str
    span: NormalizedSpan
    identity: str
    at: int
    known_from: int
    step: int | None
    fields: Fields


class Whereabouts:
    """The step in which something on a span happened."""

    def __init__(self, tree: Tree, steps: Sequence[RunStep]) -> None:
        self._tree = tree
        self._ordered = steps
        # Of most runs nothing is asked.
        self._steps: dict[NormalizedSpan, RunStep] | None = None
        self._around: Nearest = {}
        self._starts: list[int] = []
        self._inside: Inside | None = None

    def step(self, span: NormalizedSpan, at: int) -> RunStep | None:
        """Return the step that the span is or lies in; else the last step inside the span that had begun by then.

        What a task step says before its first act belongs to that act.
        """
        around = self.around(span)
        if around is not None:
            return around
        if self._inside is None:
            self._inside = Inside(self._tree, [step.span for step in self._ordered])
            self._starts = [step.span.sent.started_at for step in self._ordered]
        inside, begun = self._inside, bisect_right(self._starts, at)
        number = inside.last(span, begun)
        if number is None and span.sent.attributes.keys() & _TASK:
            number = inside.first(span)
        return self._ordered[number - 1] if number is not None else None

    def around(self, span: NormalizedSpan) -> RunStep | None:
        """Return the step that the span is or lies in."""
        if self._steps is None:
            steps = self._steps = {step.span: step for step in self._ordered}
            self._around = self._tree.nearest(lambda each: each in steps)
        around = span if span in self._steps else self._around.get(span)
        return None if around is None else self._steps[around]


def read_events(tree: Tree, whereabouts: Whereabouts, problems: ParseIssues) -> Iterator[StatedEvent]:
    """Yield the events of the conventions, in the order of the spans, within a span in their own."""
    for span in tree.spans:
        if span.is_told:
            continue  # has no span of its own: the one it is told by has the events
        for event in span.sent.events:
            if event.name.startswith(CONVENTIONS):
                at = event.time_ns or span.sent.done_at
                step = whereabouts.step(span, at)
                fields = Fields(event.attributes, span.sent.span_id, problems)
                number = step.number if step else None
                known = event.arrived_at or span.sent.arrived_at
                yield StatedEvent(event.name, span, event.identity, at, known, number, fields)
