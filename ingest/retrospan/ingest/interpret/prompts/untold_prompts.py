"""The prompt of a failed request whose span has no messages: the history of its agent up to then.

Some instrumentations write the messages of a request down with its answer; of one that failed nothing is left. Where the
agent's call before it asked for tools, and all of these had returned, the prompt was that of the call before, its answer
and these results. As with every history that no span proves, it is inferred.
"""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.interpret.calls.calls import Calls, ModelCall, ToolCall
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of
from retrospan.ingest.interpret.tree.tree import Nearest, Tree


def infer_prompts(tree: Tree, calls: Calls) -> None:
    """Give requests that failed and say nothing the prompts that they must have had, in place."""
    untold = [call for call in calls.models if call.span.failed and not (call.input or call.span.output)]
    if not untold:
        return
    agents = tree.nearest(lambda span: span.operation == "agent")
    tools: dict[int, list[ToolCall]] = {}
    for tool in calls.tools:
        if tool.asked is not None:
            tools.setdefault(tool.asked.by, []).append(tool)
    for call in untold:
        before = _before(call, calls.models)
        ran = tools.get(before.ordinal, []) if before is not None else []
        if before is None or not _is_one_agent(before, call, ran, agents, tree):
            continue
        results = _results(before, call, ran)
        if results:
            call.input, call.history = [*before.input, *before.span.output, *results], "inferred"
            call.span.system = call.span.system or before.span.system


def _before(call: ModelCall, models: list[ModelCall]) -> ModelCall | None:
    """Return the call right before one, if it was told and answered by then."""
    before = models[call.ordinal - 2] if call.ordinal > 1 else None
    if before is None or before.span.failed or not before.input or not before.span.output:
        return None
    return before if before.span.sent.done_at <= call.span.sent.started_at else None


def _is_one_agent(
    before: ModelCall, call: ModelCall, ran: list[ToolCall], agents: Nearest, tree: Tree
) -> bool:
    """Tell whether one agent made both calls: in one span, or in spans of one name side by side, between which the tools ran
    that the first had asked for."""
    if before.span.agent_name != call.span.agent_name:
        return False
    first, second = agents.get(before.span), agents.get(call.span)
    if first is second:
        return True
    if first is None or second is None or first.sent.name != second.sent.name:
        return False
    above = tree.parent(first)
    return (
        above is not None
        and above is tree.parent(second)
        and all(
            tool.span is not None
            and tree.parent(tool.span) is above
            and first.sent.done_at <= tool.span.sent.started_at <= second.sent.started_at
            for tool in ran
        )
    )


def _results(before: ModelCall, call: ModelCall, tools: list[ToolCall]) -> list[Message]:
    """Return what the tools that an answer asked for told the model; nothing where that is not known of each.

    What a model is told of a tool that failed is the framework's word: the span of the tool does not have it.
    """
    asked = [part for message in before.span.output for part in parts_of(message, "tool_call")]
    if not asked or len(tools) != len(asked):
        return []
    in_order = [
        tool for part in asked for tool in tools if tool.asked and tool.asked.call_id == part.get("id")
    ]
    if len(in_order) != len(asked) or len({id(tool) for tool in in_order}) != len(asked):
        return []
    began = call.span.sent.started_at
    is_known = all(
        tool.status == "ok" and tool.result_source and tool.span and tool.span.sent.done_at <= began
        for tool in in_order
    )
    return [{"role": "tool", "parts": [part]} for part in _told(in_order)] if is_known else []


def _told(tools: list[ToolCall]) -> Iterator[Part]:
    for tool in tools:
        part: Part = {"type": "tool_call_response"}
        if tool.call_id is not None:
            part["id"] = tool.call_id
        part["response"] = tool.result
        yield part
