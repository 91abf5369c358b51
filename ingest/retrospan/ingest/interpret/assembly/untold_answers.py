"""Answers that ended for tools, and of which no call is told: they asked for what ran before the next request.

Each tool that ran then has the id of its call, its name and its arguments. Only where the requests of the run take turns:
what ran between two of them, no other answer can have asked for. Only where the instrumentation tells answers, and no call or
result in any: what tells some has lost the others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.message import Message, Part
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.schemas import semconv

_FOR_TOOLS = re.compile("tool|function", re.IGNORECASE)


def complete_answers(tree: Tree, requests: Sequence[NormalizedSpan]) -> None:
    """Give answers the calls that they leave out, in place."""
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
            span.output = with_calls(span.output, [call_of(tool) for tool in between])


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
        and any(map(_FOR_TOOLS.search, span.finish_reasons))
        and len(span.output) < 2
        and (bool(span.output) or _tells_answer(span))
    )


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
