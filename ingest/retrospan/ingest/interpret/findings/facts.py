"""The rows of one run as rules read them. Rules get nothing else, so the same rows give the same findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat

from retrospan.ingest.rules.model_limits import NO_LIMITS, ModelLimits
from retrospan.schemas.canonical import FailureRow, ModelCallRow, RunRow, StepRow, ToolCallRow, ValueRow
from retrospan.schemas.references import run_ref, span_ref, step_ref
from retrospan.schemas.stated import CompactionRow, EffectRow

#: How a call went that was executed: it returned, it failed, or nobody knows how it ended.
EXECUTED = ("ok", "error", "incomplete")


@dataclass
class RunFacts:
    """All lists are in the order of their rows: acts by ordinal, which is by time."""

    run: RunRow
    tool_calls: Sequence[ToolCallRow] = ()
    invocations: Sequence[int] = ()  # of the agent, by number, one for each tool call; none: all are one
    model_calls: Sequence[ModelCallRow] = ()
    steps: Sequence[StepRow] = ()
    failures: Sequence[FailureRow] = ()
    effects: Sequence[EffectRow] = ()
    compactions: Sequence[CompactionRow] = ()
    values: Sequence[ValueRow] = ()
    limits: ModelLimits = field(default=NO_LIMITS)

    @cached_property
    def by_agent(self) -> list[list[ToolCallRow]]:
        """The executed calls of each agent, in order."""
        found: dict[str | None, list[ToolCallRow]] = {}
        for calls in self.by_invocation:
            found.setdefault(calls[0].agent_name, []).extend(calls)
        return [sorted(calls, key=lambda call: call.ordinal) for calls in found.values()]

    @cached_property
    def by_invocation(self) -> list[list[ToolCallRow]]:
        """The same of each invocation of an agent: what it repeats it knows that it did before."""
        found: dict[tuple[str | None, int], list[ToolCallRow]] = {}
        for call, invocation in zip(self.tool_calls, self.invocations or repeat(0), strict=False):
            if call.status in EXECUTED and call.tool_name:
                found.setdefault((call.agent_name, invocation), []).append(call)
        return [*found.values()]

    @cached_property
    def _step_of_model(self) -> dict[int, int]:
        return {call.ordinal: call.step for call in self.model_calls}

    @property
    def failed(self) -> bool:
        """Whether the run is known to have failed."""
        return self.run.outcome == "error"

    def step_of(self, call: ToolCallRow) -> int | None:
        """Return the step of a call; of one that is known from messages alone, that of the request for it."""
        return call.step if call.step is not None else self._step_of_model.get(call.asked_by or 0)

    def reference(self, call: ToolCallRow) -> str:
        """Return the reference of a call."""
        step = self.step_of(call)
        if step is not None:
            return step_ref(self.run.run_id, step)
        if call.trace_id and call.span_id:
            return span_ref(call.trace_id, call.span_id)
        return run_ref(self.run.run_id)

    def references(self, calls: Iterable[ToolCallRow]) -> list[str]:
        """Return the references of calls."""
        return [self.reference(call) for call in calls]

    def time_of(self, call: ToolCallRow) -> int:
        """Return when a call began, or the run where that is not known."""
        return call.started_at or self.run.started_at

    def graver(self, severity: str = "warning") -> str:
        """Return the severity, or `error` where the run failed: what is wrong may be why."""
        return "error" if self.failed else severity
