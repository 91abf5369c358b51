"""The errors of a run, each once and where it began: origin, class, and whether the run went on."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.assembly.attempts import Attempt
from retrospan.ingest.interpret.assembly.calls import Calls, ToolCall
from retrospan.ingest.interpret.assembly.error_taxonomy import (
    class_of,
    origin_of_model,
    origin_of_rest,
    origin_of_tool,
)
from retrospan.ingest.interpret.assembly.steps import Step
from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.json_text import write_json
from retrospan.schemas.attributes import ERROR_CLASS, ERROR_ORIGIN

ORIGINS = ("reasoning", "tool_invocation", "tool_response", "interpretation")
CLASSES = ("transient", "systematic", "architectural")


@dataclass(slots=True)
class Failure:
    step: int | None
    reading: NormalizedSpan
    origin: str
    error_class: str | None
    error_type: str | None
    error_message: str | None
    handled: bool
    at: int


def read_failures(
    tree: Tree, calls: Calls, steps: Sequence[Step], attempts: Sequence[Attempt], outcome: str
) -> list[Failure]:
    """Return the failures in order.

    An error that climbs through spans is one, at the lowest of them; an interruption is none. A span that holds a
    failure the agent got over may have failed by itself.
    """
    latest = _latest_around(tree, steps)
    tries = _tries(attempts)
    failing: list[Step] = []
    found: list[Failure] = []
    for step in steps:
        said = _said_by_result(step.tool)
        if step.status != "error" and said is None:
            continue
        went_on = _went_on(step.reading, step.number, latest)
        failing.append(step)
        found.append(
            _failure(
                step.reading,
                step,
                _origin_of(step, calls),
                said or step.reading.error_message,
                tries.get(step.number, (False, False)),
                went_on or outcome == "ok",
            )
        )
    for reading in _failed_apart(tree, steps, failing):
        handled = outcome == "ok" or _went_on(reading, 0, latest)
        origin = origin_of_rest(reading.error_type, reading.error_message)
        found.append(_failure(reading, None, origin, reading.error_message, (False, False), handled))
    return sorted(found, key=lambda failure: (failure.at, failure.reading.span.span_id))


def _failed_apart(tree: Tree, steps: Sequence[Step], failing: Sequence[Step]) -> Iterator[NormalizedSpan]:
    """Yield the failed spans that no failure of a step, no interruption and no failure inside them explains, the deepest
    first."""
    inside = {id(step.reading) for step in steps}
    in_step = tree.nearest(lambda reading: id(reading) in inside)
    explained = _climbed(tree, failing, [step.reading.span.started_at for step in steps])
    around = tree.around(reading for reading in tree.readings if reading.interrupted)
    for reading in sorted((r for r in tree.readings if r.failed), key=tree.depth, reverse=True):
        key = id(reading)
        if key in explained or key in around or key in inside or key in in_step:
            continue
        # What is not an act of an agent, such as a request over HTTP, failed for the run only when its parent did.
        parent = tree.parent(reading)
        if reading.operation == "other" and not (parent is not None and parent.failed):
            continue
        for above in tree.ancestors(reading):
            if id(above) in around:
                break
            around.add(id(above))
        yield reading


def _failure(
    reading: NormalizedSpan,
    step: Step | None,
    origin: str,
    message: str | None,
    tries: tuple[bool, bool],
    handled: bool,
) -> Failure:
    attributes = reading.span.attributes
    stated, stated_class = (
        attributes.get(ERROR_ORIGIN),
        attributes.get(ERROR_CLASS),
    )
    return Failure(
        step.number if step else None,
        reading,
        str(stated) if stated in ORIGINS else origin,
        str(stated_class) if stated_class in CLASSES else class_of(reading.error_type, message, *tries),
        reading.error_type,
        message,
        handled,
        reading.span.ended_at or reading.span.started_at,
    )


def _origin_of(step: Step, calls: Calls) -> str:
    reading = step.reading
    if step.tool is not None:
        asking = calls.models[step.tool.asked.by - 1].reading if step.tool.asked else None
        offered = asking.tool_definitions if asking else None
        broken = (
            step.tool.has_arguments and isinstance(step.tool.arguments, str) and step.tool.asked is not None
        )
        return origin_of_tool(step.tool.name, offered, broken, reading.error_type, reading.error_message)
    if step.model is not None:
        return origin_of_model(reading.error_type, reading.error_message)
    if step.kind in ("retrieval", "memory"):
        return "tool_response"
    return origin_of_rest(reading.error_type, reading.error_message)


def _said_by_result(tool: ToolCall | None) -> str | None:
    """Return the error that a tool returned without failing: MCP's mark, or an object that holds nothing but an error."""
    if tool is None or tool.status != "ok" or not isinstance(tool.result, dict):
        return None
    if tool.result.get("isError") is True or tool.result.get("is_error") is True:
        said: object = tool.result.get("content", tool.result)
    elif set(tool.result) == {"error"} and tool.result["error"]:
        said = tool.result["error"]
    else:
        return None
    return said if isinstance(said, str) else write_json(said)


def _latest_steps(steps: Sequence[Step]) -> dict[str | None, tuple[int, int]]:
    """Return start and number of the step that each agent began last."""
    latest: dict[str | None, tuple[int, int]] = {}
    for step in steps:
        agent, began = step.reading.agent_name, (step.reading.span.started_at, step.number)
        latest[agent] = max(latest.get(agent, began), began)
    return latest


def _latest_around(tree: Tree, steps: Sequence[Step]) -> dict[int, tuple[int, int]]:
    """Return for each span start and number of the step that its agent, or one that it works for, began last."""
    latest = _latest_steps(steps)
    around: dict[int, tuple[int, int]] = {}
    for reading in tree.top_down():
        parent = tree.parent(reading)
        above = around[id(parent)] if parent is not None else (0, 0)
        around[id(reading)] = max(above, latest.get(reading.agent_name, above))
    return around


def _went_on(reading: NormalizedSpan, number: int, latest: Mapping[int, tuple[int, int]]) -> bool:
    """Tell whether the agent, or one that it works for, began another step after this had ended."""
    began, of_number = latest[id(reading)]
    return began >= max(reading.span.ended_at, reading.span.started_at) and of_number > number


def _climbed(tree: Tree, failing: Sequence[Step], starts: Sequence[int]) -> set[int]:
    """Return the spans that errors of steps may have climbed through: those that ended before another step began.

    `starts` are the starts of all steps, in order.
    """
    until: dict[
        int, float
    ] = {}  # of the failing steps in a span, the latest start of the step that followed one
    for step in failing:
        span = step.reading.span
        following = bisect_left(starts, max(span.ended_at, span.started_at + 1))
        until[id(step.reading)] = starts[following] if following < len(starts) else math.inf
    climbed: set[int] = set()
    inner: dict[int, float] = {}
    for reading in reversed(tree.top_down()):
        key, parent = id(reading), tree.parent(reading)
        if key in inner:
            ended = reading.span.ended_at
            if inner[key] == math.inf or 0 < ended <= inner[key]:
                climbed.add(key)
        reaches = max(until.get(key, -1), inner.get(key, -1))
        if parent is not None and reaches >= 0:
            inner[id(parent)] = max(reaches, inner.get(id(parent), -1))
    return climbed


def _tries(attempts: Sequence[Attempt]) -> dict[int, tuple[bool, bool]]:
    """Return by step whether another try of the same went well, and whether another failed as well."""
    series: dict[int, list[Step]] = {}
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
