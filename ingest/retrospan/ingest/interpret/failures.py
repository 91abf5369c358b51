"""The errors of a run, each once and where it began: origin, class, and whether the run went on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.attempts import Attempt
from retrospan.ingest.interpret.calls import Calls, ToolCall
from retrospan.ingest.interpret.faults import class_of, origin_of_model, origin_of_rest, origin_of_tool
from retrospan.ingest.interpret.jsontext import write_json
from retrospan.ingest.interpret.reading import Reading
from retrospan.ingest.interpret.steps import Step
from retrospan.ingest.interpret.tree import Tree
from retrospan.schemas.attributes import ERROR_CLASS, ERROR_ORIGIN

ORIGINS = ("reasoning", "tool_invocation", "tool_response", "interpretation")
CLASSES = ("transient", "systematic", "architectural")


@dataclass(slots=True)
class Failure:
    step: int | None
    reading: Reading
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
    latest = _latest_steps(steps)
    starts = [step.reading.span.started_at for step in steps]
    tries = _tries(attempts)
    explained: set[int] = set()
    inside: set[int] = {id(step.reading) for step in steps}
    found: list[Failure] = []
    for step in steps:
        said = _said_by_result(step.tool)
        if step.status != "error" and said is None:
            continue
        went_on = _went_on(tree, step.reading, step.number, latest)
        explained.update(_climbed(tree, step.reading, starts))
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
    for reading in tree.readings:
        if reading.interrupted:
            explained.update(id(above) for above in tree.ancestors(reading))
    for reading in sorted((r for r in tree.readings if r.failed), key=tree.depth, reverse=True):
        above = list(tree.ancestors(reading))
        if id(reading) in explained or id(reading) in inside or any(id(a) in inside for a in above):
            continue
        # What is no act of an agent, such as a request over HTTP, failed for the run only when its parent did.
        if reading.operation == "other" and not (above and above[0].failed):
            continue
        explained.update(id(a) for a in above)
        handled = outcome == "ok" or _went_on(tree, reading, 0, latest)
        origin = origin_of_rest(reading.error_type, reading.error_message)
        found.append(_failure(reading, None, origin, reading.error_message, (False, False), handled))
    return sorted(found, key=lambda failure: (failure.at, failure.reading.span.span_id))


def _failure(
    reading: Reading,
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


def _went_on(tree: Tree, reading: Reading, number: int, latest: dict[str | None, tuple[int, int]]) -> bool:
    """Tell whether the agent, or one that it works for, began another step after this had ended."""
    ended = max(reading.span.ended_at, reading.span.started_at)
    agents = {reading.agent_name, *(above.agent_name for above in tree.ancestors(reading))}
    last = max((latest[agent] for agent in agents if agent in latest), default=(0, 0))
    return last[0] >= ended and last[1] > number


def _climbed(tree: Tree, reading: Reading, starts: Sequence[int]) -> set[int]:
    """Return the spans above that an error may have climbed through: those that ended before another step began.

    `starts` are the starts of all steps, in order.
    """
    ended = max(reading.span.ended_at, reading.span.started_at + 1)
    following = bisect_left(starts, ended)
    next_start = starts[following] if following < len(starts) else None
    return {
        id(above)
        for above in tree.ancestors(reading)
        if next_start is None or (above.span.ended_at and above.span.ended_at <= next_start)
    }


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
