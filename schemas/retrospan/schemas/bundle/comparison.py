"""Whether two runs did the same, call by call, and where they part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from retrospan.schemas.bundle.canonical import canonical_of, canonical_request
from retrospan.schemas.bundle.difference import (
    ABSENT,
    Difference,
    first_difference,
    first_difference_of_values,
)
from retrospan.schemas.bundle.form import Call, CallError, ModelCall, RunRecord, ToolCall


@dataclass(frozen=True, slots=True)
class Comparison:
    """`identical`, `prefix` (one ends before the other, and did the same until then) or `parts`, at a step and because
    of a field.
    """

    verdict: Literal["identical", "prefix", "parts"]
    step: int | None = None
    difference: Difference | None = None

    def told(self) -> str:
        """`parts at step 3: messages[1].parts[0].content: recorded …, asked …`."""
        if self.difference is None:
            return self.verdict
        place = "" if self.step is None else f" at step {self.step}"
        return f"{self.verdict}{place}: {self.difference.told('now')}"


def compare(recorded: RunRecord, other: RunRecord) -> Comparison:
    """Return where a run does something else than a recorded one. Ids, times and tokens make no difference.

    Only the calls that were executed count; they are compared in the order of their steps.
    """
    before, now = executed(recorded), executed(other)
    for one, two in zip(before, now, strict=False):
        if (found := difference_of(one, two)) is not None:
            return Comparison("parts", one.step, found)
    if len(before) == len(now):
        return Comparison("identical")
    longer = before if len(before) > len(now) else now
    first = longer[min(len(before), len(now))]
    gone = Difference("call", _named(first), ABSENT)
    added = Difference("call", ABSENT, _named(first))
    return Comparison("prefix", first.step, gone if longer is before else added)


def executed(run: RunRecord) -> Sequence[Call]:
    """Return the calls that happened, as far as is known."""
    return [call for call in run.calls if isinstance(call, ModelCall) or call.executed is not False]


def _named(call: Call) -> str:
    return (
        f"a model call of {call.model or 'a model'}"
        if isinstance(call, ModelCall)
        else f"a call of {call.name}"
    )


def difference_of(recorded: Call, other: Call) -> Difference | None:
    """Return the first field in which two calls differ: what they ask, then what came of it."""
    if isinstance(recorded, ModelCall) and isinstance(other, ModelCall):
        found = first_difference(canonical_of(recorded), canonical_of(other))
        if found is None and recorded.answer is not None and other.answer is not None:
            answers = canonical_request(messages=recorded.answer), canonical_request(messages=other.answer)
            found = first_difference(*answers)
            if found is not None:
                found = Difference(f"answer.{found.field}", found.recorded, found.asked)
        return found or _errors(recorded.error, other.error)
    if isinstance(recorded, ToolCall) and isinstance(other, ToolCall):
        if recorded.name != other.name:
            return Difference("tool", recorded.name, other.name)
        if recorded.has_arguments and other.has_arguments:
            found = first_difference_of_values(
                f"{recorded.name}.arguments", recorded.arguments, other.arguments
            )
            if found is not None:
                return found
        if recorded.has_result and other.has_result:
            found = first_difference_of_values(f"{recorded.name}.result", recorded.result, other.result)
            if found is not None:
                return found
        return _errors(recorded.error, other.error)
    return Difference("call", _named(recorded), _named(other))


def _errors(recorded: CallError | None, other: CallError | None) -> Difference | None:
    before, now = (None if error is None else error.type or "an error" for error in (recorded, other))
    return None if before == now else Difference("error", before, now)
