"""Calls that an agent returned instead of executing them: what it came to is the call itself."""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.assembly.calls import ModelCall, RequestedCall, ToolCall
from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.message import parts_of


def is_handed_back(
    asked: RequestedCall, tree: Tree, models: Sequence[ModelCall], executed: Sequence[ToolCall]
) -> bool:
    """Tell whether the agent that asked ended by returning the call, though its executions of that tool have spans.

    A framework that allows only so many calls ends an agent so. A handover, or a tool whose call is the answer, has no
    span at any time: of those nothing is ruled out.
    """
    agents = tree.nearest(lambda span: span.operation == "agent") if asked.call_id else {}
    agent = agents.get(models[asked.by - 1].span)
    if agent is None or agent.failed or agent.interrupted or agent.is_unfinished:
        return False
    returned = (part.get("id") for message in agent.output[-1:] for part in parts_of(message, "tool_call"))
    return asked.call_id in returned and any(
        agents.get(models[tool.asked.by - 1].span) is agent
        for tool in executed
        if tool.span is not None and tool.asked is not None and tool.asked.name == asked.name
    )
