"""Calls that an agent returned instead of executing them: the call itself is the agent's result."""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.calls.calls import ModelCall, ToolCall
from retrospan.ingest.interpret.messages.message import parts_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree


def handed_back(
    tree: Tree, models: Sequence[ModelCall], executed: Sequence[ToolCall]
) -> set[tuple[int, str]]:
    """Return the calls, by the model call that asked and id, that an agent ended by returning, though its executions of
    that tool have spans; `executed` are those.

    A framework that allows only so many calls ends an agent so. A handover, or a tool whose call is the answer, has no
    span at any time: of those nothing is ruled out.
    """
    returned = {span: ids for span in tree.spans if span.operation == "agent" and (ids := _returned_by(span))}
    if not returned:
        return set()
    agents = tree.nearest(lambda span: span.operation == "agent")
    own = {
        (agents.get(models[tool.asked.by - 1].span), tool.asked.name)
        for tool in executed
        if tool.asked is not None
    }
    return {
        (call.ordinal, call_id)
        for call in models
        if (agent := agents.get(call.span)) in returned
        for message in call.span.output
        for part in parts_of(message, "tool_call")
        if (call_id := part.get("id", "")) in returned[agent] and (agent, part.get("name", "")) in own
    }


def _returned_by(agent: NormalizedSpan) -> set[str]:
    """Return the ids of the calls in the message that an agent ended with."""
    if agent.failed or agent.interrupted or agent.is_unfinished:
        return set()
    calls = (part for message in agent.output[-1:] for part in parts_of(message, "tool_call"))
    return {call_id for part in calls if (call_id := part.get("id"))}
