"""Answers that ended for tools, but were sent without calls: they asked for the tools that ran before the next request.

Each tool that ran then has the id of its call, its name and its arguments. Only where the requests of the run take turns:
what ran between two of them, no other answer can have asked for; or where the tools ran inside of the request's own span. Only where the instrumentation tells answers, and no call or
result in any: what tells some has lost the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from retrospan.ingest.interpret.messages.finish_reasons import FOR_TOOLS
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.schemas import semconv


def complete_answers(tree: Tree, requests: Sequence[NormalizedSpan]) -> None:
    """Give answers the calls that they leave out, in place."""
    _complete_by_inner(tree, requests)
    lacking = [span for span in requests[:-1] if _lacks_calls(span)]
    if not lacking or any(map(_tells_acts, requests)) or not take_turns(requests):
        return
    ran = [span for span in tree.spans if span.operation == "tool"]
    agents = tree.nearest(lambda span: span.operation == "agent")
    for span, after in pairwise(requests):
        if span not in lacking or span.agent_name != after.agent_name:
            continue
        began, ended = span.sent.done_at, after.sent.started_at
        between = [tool for tool in ran if began <= tool.sent.started_at <= ended]
        ids = {tool.tool_call_id for tool in between}
        if (
            between
            and len(ids) == len(between)
            and None not in ids
            and all(tool.has_arguments and tool.tool_name and tool.sent.done_at <= ended for tool in between)
            and all(agents.get(tool) is agents.get(span) for tool in between)
        ):
            calls = [call_of(tool) for tool in _in_told_order(between, after.input)]
            span.output = with_calls(span.output, calls)


def _in_told_order(tools: list[NormalizedSpan], after: Sequence[Message]) -> list[NormalizedSpan]:
    """Return tools in the order in which the next prompt ends with just their results; else as they began."""
    told: list[Part] = []
    for message in reversed(after if len(tools) > 1 else ()):
        results = parts_of(message, "tool_call_response")
        if not results:
            break
        told = [*results, *told]
    if len(told) != len(tools):
        return tools
    found = [[tool for tool in tools if _is_of(part, tool)] for part in told]
    ordered = [each[0] for each in found if len(each) == 1]
    return ordered if len({*ordered}) == len(tools) else tools


def _is_of(part: Part, tool: NormalizedSpan) -> bool:
    """Tell whether a result is what a tool returned: of its call, or just that."""
    if "id" in part:
        return part["id"] == tool.tool_call_id
    return tool.has_result and part.get("response") == tool.result


def _complete_by_inner(tree: Tree, requests: Sequence[NormalizedSpan]) -> None:
    """Give answers that ended for tools, and tell no call, those of the tools that ran right inside their spans, in place."""
    lacking = {span for span in requests if span.input and not span.failed and _ended_for_tools(span)}
    lacking -= {span for span in lacking if any(parts_of(each, "tool_call") for each in span.output)}
    ran: dict[NormalizedSpan, list[NormalizedSpan]] = {}
    for tool in tree.spans if lacking else ():
        parent = tree.parent(tool) if tool.operation == "tool" else None
        if parent is not None and parent in lacking:
            ran.setdefault(parent, []).append(tool)
    following = dict(pairwise(requests)) if ran else {}
    for span, tools in ran.items():
        ids = {tool.tool_call_id for tool in tools}
        if len(span.output) < 2 and None not in ids and all(t.has_arguments and t.tool_name for t in tools):
            # An id may be executed more than once: each is one call.
            after = following[span].input if span in following else ()
            calls = {tool.tool_call_id: call_of(tool) for tool in reversed(_in_told_order(tools, after))}
            span.output = with_calls(span.output, [*calls.values()][::-1])


def take_turns(requests: Sequence[NormalizedSpan]) -> bool:
    """Tell whether each request began when the one before had been answered."""
    return all(0 < before.sent.ended_at <= after.sent.started_at for before, after in pairwise(requests))


def _tells_acts(span: NormalizedSpan) -> bool:
    """Tell whether a request tells what a tool was asked or returned: then answers without calls are damaged."""
    return any(
        part["type"] in ("tool_call", "tool_call_response")
        for message in (*span.input, *span.output)
        for part in message["parts"]
    )


def _lacks_calls(span: NormalizedSpan) -> bool:
    return (
        not span.failed
        and _ended_for_tools(span)
        and len(span.output) < 2
        and (bool(span.output) or _tells_answer(span))
    )


def _ended_for_tools(span: NormalizedSpan) -> bool:
    return any(map(FOR_TOOLS.search, span.finish_reasons))


def _tells_answer(span: NormalizedSpan) -> bool:
    """Tell whether a span tells what was answered, if only that it was nothing."""
    return span.fields.any(semconv.OUTPUT_MESSAGES, *span.names.responses) is not None


def call_of(tool: NormalizedSpan) -> Part:
    """Return the call that an execution with an id was asked for by."""
    return {
        "type": "tool_call",
        "id": tool.tool_call_id or "",
        "name": tool.tool_name or "",
        "arguments": tool.arguments,
    }


def with_calls(answer: Sequence[Message], calls: list[Part]) -> list[Message]:
    """Return an answer of one message or none with calls after its text."""
    said: Message = answer[0] if answer else {"role": "assistant", "parts": []}
    return [{**said, "parts": [*said["parts"], *calls]}]
