"""Tries of the same thing, tied together: a step that failed and the steps that did the same again."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.spans.key import whole_number
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.interpret.steps.values import Values
from retrospan.schemas.attributes import ATTEMPT, BACKOFF_MS


@dataclass(slots=True)
class Attempt:
    step: RunStep
    number: int
    of_step: int | None  # the first try; None where the program counts and that one is not on record
    backoff_ms: int | None


def read_attempts(steps: Sequence[RunStep], values: Values) -> list[Attempt]:
    """Return the tries of everything that was tried more than once, in the order of the steps.

    A step is another try when the last one of the same agent, tool and arguments (of a model: the same prompt)
    failed, when it executes the same tool call id, or when `retrospan.attempt` says so.
    """
    series: dict[Hashable, list[Attempt]] = {}
    found: list[list[Attempt]] = []
    for step in steps:
        attributes = step.span.sent.attributes
        said = whole_number(attributes.get(ATTEMPT)) or None
        backoff = whole_number(attributes.get(BACKOFF_MS))
        keys = _keys(step, values)
        earlier = next((own for key in keys if (own := series.get(key)) is not None), None)
        if earlier is not None and (_goes_on(earlier, step) if said is None else said > 1):
            own = earlier
            own.append(Attempt(step, said or own[-1].number + 1, own[0].of_step, backoff))
        else:
            own = [Attempt(step, said or 1, step.number if (said or 1) == 1 else None, backoff)]
            found.append(own)
        for key in keys:
            series[key] = own
    tries = [attempt for own in found for attempt in own if len(own) > 1 or attempt.number > 1]
    return sorted(tries, key=lambda attempt: attempt.step.number)


def _goes_on(earlier: Sequence[Attempt], step: RunStep) -> bool:
    last = earlier[-1].step
    same_call = step.tool is not None and last.tool is not None and step.tool.call_id == last.tool.call_id
    return last.status == "error" or (same_call and step.tool is not None and step.tool.call_id is not None)


def _keys(step: RunStep, values: Values) -> list[Hashable]:
    """Return by what a step is known to be the same as another; nothing where its content is not known."""
    agent = step.span.agent_name
    if step.tool is not None:
        keys: list[Hashable] = [("id", step.tool.call_id)] if step.tool.call_id else []
        if step.tool.has_arguments:
            keys.append((agent, step.tool.name, values.compared(step.tool.arguments)))
        return keys
    if step.model is not None:
        return [(agent, tuple(step.model.input_values))] if step.model.input_values else []
    return [(agent, step.kind, step.name)] if ATTEMPT in step.span.sent.attributes else []
