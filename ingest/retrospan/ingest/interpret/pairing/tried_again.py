"""Executions that were tried again under the id of the same call: what a message tells of the call, the last of them returned."""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.calls.calls import ToolCall
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan


def forget_results_of_later_tries(tools: Sequence[ToolCall]) -> None:
    """Take from each execution that failed what a message tells, where another of the same call began after its end, and
    says nothing else of its own."""
    tries: dict[tuple[str, str], list[tuple[int, ToolCall, NormalizedSpan]]] = {}
    for tool in tools:
        if tool.call_id and tool.span is not None:
            same = tries.setdefault((tool.call_id, tool.name), [])
            same.append((tool.span.sent.started_at, tool, tool.span))
    for same in tries.values():
        began, last, _ = max(same, key=lambda each: each[0])
        for _, tool, span in same:
            if not span.failed or tool.result_source != "message" or not span.sent.done_at <= began:
                continue
            if tool is not last and (last.result_source != "span" or last.result == tool.result):
                tool.result, tool.result_source = None, None
