"""The errors of a run, each once and where it began: origin, class, and whether the run went on."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.calls.calls import Calls
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.outcome.attempts import Attempt
from retrospan.ingest.interpret.outcome.error_taxonomy import (
    class_of,
    origin_of_model,
    origin_of_rest,
    origin_of_tool,
)
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.schemas.attributes import ERROR_CLASS, ERROR_ORIGIN

ORIGINS = ("reasoning", "tool_invocation", "tool_response", "interpretation")
CLASSES = ("transient", "systematic", "architectural")


@dataclass(slots=True)
class Failure:
    step: int | None
    span: NormalizedSpan
    origin: str
    error_class: str | None
    error_type: str | None
    error_message: str | None
    handled: bool
    at: int


def read_failures(
    tree: Tree,
    calls: Calls,
    steps: Sequence[RunStep],
    attempts: Sequence[Attempt],
    outcome: str,
    has_separate: bool,
) -> list[Failure]:
    """Return the failures in order; `has_separate` says that there are several conversations, none of which goes on with
    another.

    An error that climbs through spans is one, at the lowest of them; an interruption is not one. A span that holds a
    failure the agent got over may have failed by itself.
    """
    if not (any(step.status == "error" for step in steps) or any(span.failed for span in tree.spans)):
        return []
    latest = _latest_around(tree, steps, has_separate)
    tries = _tries(attempts)
    failing: list[RunStep] = []
    found: list[Failure] = []
    for step in steps:
        if step.status != "error":
            continue
        went_on = _went_on(step.span, step.number, latest)
        failing.append(step)
        found.append(
            _failure(
                step.span,
                step,
                _origin_of(step, calls),
                step.tool.error_message if step.tool is not None else step.span.error_message,
                tries.get(step.number, (False, False)),
                went_on or outcome == "ok",
            )
        )
    for span in _failed_apart(tree, steps, failing):
        handled = outcome == "ok" or _went_on(span, 0, latest)
        origin = origin_of_rest(span.error_type, span.error_message)
        found.append(_failure(span, None, origin, span.error_message, (False, False), handled))
    return sorted(found, key=lambda failure: (failure.at, failure.span.sent.span_id))


def _failed_apart(
    tree: Tree, steps: Sequence[RunStep], failing: Sequence[RunStep]
) -> Iterator[NormalizedSpan]:
    """Yield the failed spans that no failure of a step, no interruption and no failure inside them explains, the deepest
    first."""
    inside = {step.span for step in steps}
    in_step = tree.nearest(lambda span: span in inside)
    explained = _climbed(tree, failing, [step.span.sent.started_at for step in steps])
    around = tree.around(span for span in tree.spans if span.interrupted)
    for span in sorted((r for r in tree.spans if r.failed), key=tree.depth, reverse=True):
        if any(span in found for found in (explained, around, inside, in_step)):
            continue
        # What is not an act of an agent, such as a request over HTTP, failed for the run only when its parent did.
        parent = tree.parent(span)
        if span.operation == "other" and not (parent is not None and parent.failed):
            continue
        for above in tree.ancestors(span):
            if above in around:
                break
            around.add(above)
        yield span


def _failure(
    span: NormalizedSpan,
    step: RunStep | None,
    origin: str,
    message: str | None,
    tries: tuple[bool, bool],
    handled: bool,
) -> Failure:
    attributes = span.sent.attributes
    stated, stated_class = attributes.get(ERROR_ORIGIN), attributes.get(ERROR_CLASS)
    return Failure(
        step.number if step else None,
        span,
        str(stated) if stated in ORIGINS else origin,
        str(stated_class) if stated_class in CLASSES else class_of(span.error_type, message, *tries),
        span.error_type,
        message,
        handled,
        span.sent.done_at,
    )


def _origin_of(step: RunStep, calls: Calls) -> str:
    span = step.span
    if step.tool is not None:
        asking = calls.models[step.tool.asked.by - 1].span if step.tool.asked else None
        offered = asking.tool_definitions if asking else None
        broken = (
            step.tool.has_arguments and isinstance(step.tool.arguments, str) and step.tool.asked is not None
        )
        return origin_of_tool(step.tool.name, offered, broken, span.error_type, span.error_message)
    if step.model is not None:
        return origin_of_model(span.error_type, span.error_message)
    if step.kind in ("retrieval", "memory"):
        return "tool_response"
    return origin_of_rest(span.error_type, span.error_message)


def _latest_around(
    tree: Tree, steps: Sequence[RunStep], has_separate: bool
) -> dict[NormalizedSpan, tuple[int, int]]:
    """Return for each span start and number of the step that its agent, or one that it works for, began last."""

    def acting(span: NormalizedSpan) -> tuple[str | None, str | None]:
        return span.agent_name, span.conversation if has_separate else None

    latest: dict[tuple[str | None, str | None], tuple[int, int]] = {}
    for step in steps:
        began = (step.span.sent.started_at, step.number)
        latest[acting(step.span)] = max(latest.get(acting(step.span), began), began)
    around: dict[NormalizedSpan, tuple[int, int]] = {}
    for span in tree.top_down():
        parent = tree.parent(span)
        above = around[parent] if parent is not None else (0, 0)
        around[span] = max(above, latest.get(acting(span), above))
    return around


def _went_on(span: NormalizedSpan, number: int, latest: Mapping[NormalizedSpan, tuple[int, int]]) -> bool:
    """Tell whether the agent, or one that it works for, began another step after this had ended."""
    began, of_number = latest[span]
    return began >= max(span.sent.ended_at, span.sent.started_at) and of_number > number


def _climbed(tree: Tree, failing: Sequence[RunStep], starts: Sequence[int]) -> set[NormalizedSpan]:
    """Return the spans that errors of steps may have climbed through: those that ended before another step began.

    `starts` are the starts of all steps, in order.
    """
    # Of the failing steps in a span, the latest start of the step that followed one.
    until: dict[NormalizedSpan, float] = {}
    for step in failing:
        sent = step.span.sent
        following = bisect_left(starts, max(sent.ended_at, sent.started_at + 1))
        until[step.span] = starts[following] if following < len(starts) else math.inf
    climbed: set[NormalizedSpan] = set()
    inner: dict[NormalizedSpan, float] = {}
    for span in reversed(tree.top_down()):
        parent = tree.parent(span)
        if span in inner:
            ended = span.sent.ended_at
            if inner[span] == math.inf or 0 < ended <= inner[span]:
                climbed.add(span)
        reaches = max(until.get(span, -1), inner.get(span, -1))
        if parent is not None and reaches >= 0:
            inner[parent] = max(reaches, inner.get(parent, -1))
    return climbed


def _tries(attempts: Sequence[Attempt]) -> dict[int, tuple[bool, bool]]:
    """Return by step whether another try of the same went well, and whether another failed as well."""
    series: dict[int, list[RunStep]] = {}
    for attempt in attempts:
        if attempt.of_step is not None:
            series.setdefault(attempt.of_step, []).append(attempt.step)
    return {
        step.number: (
            any(other.status == "ok" for other in tries),
            any(other.status == "error" and other is not step for other in tries),
        )
        for tries in series.values()
        for step in tries
    }
