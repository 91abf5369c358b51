"""The agents of a run: who called whom, and what each of them did itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from retrospan.ingest.interpret.calls.calls import Calls, ToolCall
from retrospan.ingest.interpret.invariants.around_requests import counts_of_calls
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.token_usage import TokenUsage
from retrospan.ingest.interpret.outcome.failures import Failure
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.interpret.tree.tree import Nearest, Tree

#: How frameworks call the tools by which one agent hands its task to another, before that one's name.
_HANDOFFS = ("transfer_to_", "handoff_to_", "transfer_back_to_")

#: Names are few and come with every call.
_NAMES_KEPT = 1_024

#: The argument of a tool that hands a task to any agent.
_TO = ("agent_name", "agent", "name")


@dataclass(slots=True, eq=False)
class Agent:
    """What one agent did under one parent, without what the agents under it did. None is not known."""

    name: str
    parent: str | None
    asked_by: int | None = None  # ordinal of the model call that asked for it
    first_step: int | None = None
    last_step: int | None = None
    model_calls: int = 0
    tool_calls: int = 0
    failures: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    asked: list[int] = field(default_factory=list)  # ordinals of its own model calls


def read_agents(
    tree: Tree, calls: Calls, steps: Sequence[RunStep], failures: Sequence[Failure]
) -> list[Agent]:
    """Return the agents of a run in the order of their first steps. What no named agent did is in none of them."""
    agents = _Agents(tree, calls)
    for span in tree.spans:
        if span.operation == "agent":
            agents.of(span)
    for step in steps:
        agent = agents.of(step.span)
        if agent is not None:
            agent.first_step = step.number if agent.first_step is None else agent.first_step
            agent.last_step = step.number
    counted = {call.span: tokens for call, tokens in counts_of_calls(tree, calls.models)}
    for call in calls.models:
        agent = agents.of(call.span)
        if agent is not None:
            agent.model_calls += 1
            agent.asked.append(call.ordinal)
            tokens = counted.get(call.span, TokenUsage())
            agent.input_tokens = _sum(agent.input_tokens, tokens.input)
            agent.output_tokens = _sum(agent.output_tokens, tokens.output)
    for tool in calls.tools:
        agent = agents.of(_acting(tool, calls))
        if agent is not None:
            agent.tool_calls += 1
    for failure in failures:
        agent = agents.of(failure.span)
        if agent is not None:
            agent.failures += 1
    return sorted(agents.found, key=lambda agent: (agent.first_step is None, agent.first_step, agent.name))


class _Agents:
    """The agents that were found, by name and parent."""

    def __init__(self, tree: Tree, calls: Calls) -> None:
        self.found: list[Agent] = []
        self._known: dict[NormalizedSpan, Agent] = {}
        self._by_name: dict[tuple[str, str | None], Agent] = {}
        self._around: Nearest = tree.nearest(lambda span: span.operation == "agent" and bool(span.agent_name))
        self._tool_around: Nearest = tree.nearest(lambda span: span.operation == "tool")
        self._depth = tree.depth
        self._asked = {
            tool.span: tool.asked.by
            for tool in calls.tools
            if tool.span is not None and tool.asked is not None
        }
        self._handed: dict[str, int] = {}
        for tool in calls.tools:
            to = _handed_to(tool)
            if to and tool.asked is not None:
                self._handed.setdefault(to, tool.asked.by)
        self._models = calls.models

    def of(self, span: NormalizedSpan | None) -> Agent | None:
        """Return the agent of a span, which is noted where it is a new one; None where the span has none."""
        if span is None or not span.agent_name:
            return None
        agent = self._known.get(span)
        if agent is None:
            agent = self._known[span] = self._found(span, span.agent_name)
        return agent

    def _found(self, span: NormalizedSpan, name: str) -> Agent:
        above = self._other_above(span, name)
        asked_by = self._asked_by(span, name, above)
        if above is None and asked_by is None:
            asked_by = self._handed.get(_plain(name))
            if asked_by is not None:
                asking = self._models[asked_by - 1].span.agent_name
                parent = asking if asking != name else None
            else:
                parent = None
        else:
            parent = above.agent_name if above is not None else None
        agent = self._by_name.get((name, parent))
        if agent is None:
            agent = self._by_name[name, parent] = Agent(name, parent)
            self.found.append(agent)
        if parent is not None and agent.asked_by is None:
            agent.asked_by = asked_by
        return agent

    def _other_above(self, span: NormalizedSpan, name: str) -> NormalizedSpan | None:
        """Return the nearest span above of an agent of another name."""
        above = self._around.get(span)
        while above is not None and above.agent_name == name:
            above = self._around.get(above)
        return above

    def _asked_by(self, span: NormalizedSpan, name: str, above: NormalizedSpan | None) -> int | None:
        """Return the model call that asked for the tool in which an agent worked, between it and the agent above."""
        around = span if span.operation == "agent" else self._around.get(span)
        has_own = around is not None and around.agent_name == name
        at = around if has_own else span
        while at is not None and at.agent_name == name:
            tool = self._tool_around.get(at)
            if tool is None or (above is not None and self._depth(tool) < self._depth(above)):
                return None
            if tool in self._asked and tool.agent_name != name:
                return self._asked[tool]
            at = self._around.get(at)
        return None


def _acting(tool: ToolCall, calls: Calls) -> NormalizedSpan | None:
    if tool.span is not None:
        return tool.span
    return calls.models[tool.asked.by - 1].span if tool.asked is not None else None


def _handed_to(tool: ToolCall) -> str | None:
    """Return the plain name of the agent that a tool hands the task to: as its own name says, or its argument."""
    name = _plain(tool.name)
    to = next((name.removeprefix(start) for start in _HANDOFFS if name.startswith(start)), None)
    if to == "agent" and isinstance(tool.arguments, dict):
        said = next((tool.arguments[key] for key in _TO if isinstance(tool.arguments.get(key), str)), "")
        return _plain(said)
    return to


@lru_cache(_NAMES_KEPT)
def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _sum(count: int | None, more: int | None) -> int | None:
    return count if more is None else (count or 0) + more
