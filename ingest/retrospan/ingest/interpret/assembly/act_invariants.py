"""Invariants of acts: what a model asked for is what was executed, and one request is one call."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrospan.ingest.interpret.assembly.assembled_run import AssembledRun
from retrospan.ingest.interpret.assembly.calls import ToolCall
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue
from retrospan.ingest.json_text import write_json

#: Why a model stopped that asks for tools, in the words of all APIs. The opposite says nothing: for some APIs an
#: answer that asks for tools is at its `stop` as well.
_FOR_CALLS = re.compile(r"(?i)(?:tool|function)[_-]?(?:calls?|use)")


def finish_reasons(run: AssembledRun) -> Iterator[ParseIssue]:
    """An answer that ended for tool calls holds one."""
    for call in run.calls.models:
        reason = next((why for why in call.span.finish_reasons if _FOR_CALLS.fullmatch(why)), None)
        kinds = [part["type"] for message in call.span.output for part in message["parts"]]
        if reason is not None and kinds and not any(kind.endswith(("_call", "_use")) for kind in kinds):
            yield issue(
                call.span.sent.span_id, "finish_reasons", reason, "the answer ended for tool calls, and none is read in it"
            )


def unasked_executions(run: AssembledRun) -> Iterator[ParseIssue]:
    """What an agent executes its model asked for, if it executes other tools because its model asked for them.

    Another try of what failed needs no further asking. What the models do not know they cannot ask for.
    """
    unasked = [tool for tool in run.calls.tools if tool.span is not None and tool.asked is None]
    asking = {tool.span.agent_name for tool in run.calls.tools if tool.span is not None and tool.asked is not None}
    if not any(tool.span is not None and tool.span.agent_name in asking for tool in unasked):
        return
    above = run.tree.nearest(lambda span: span.operation != "other")
    for tool in unasked:
        span = tool.span
        if span is None or span.agent_name not in asking or span not in above or above[span].operation != "agent":
            continue
        if _is_known(tool, span, run) and not _is_retry(tool, run):
            yield issue(span.sent.span_id, "tool_calls", tool.name, "this execution was asked for by no answer that is read")


def _is_known(tool: ToolCall, span: NormalizedSpan, run: AssembledRun) -> bool:
    """Tell whether a model may have asked for the tool; where nothing says which tools there were, it may."""
    if any(other.asked is not None and is_same_tool(tool.name, other.asked.name) for other in run.calls.tools):
        return True
    offered = [call.span.tool_definitions for call in run.calls.models if call.span.agent_name == span.agent_name]
    told = [write_json(tools) for tools in offered[:1] if tools is not None]
    return not told or any(f'"{tool.name}"' in tools for tools in told)


def _is_retry(tool: ToolCall, run: AssembledRun) -> bool:
    return any(
        other is not tool
        and other.status != "ok"
        and other.span is not None
        and tool.span is not None
        and other.span.sent.started_at <= tool.span.sent.started_at
        and (other.name, other.arguments) == (tool.name, tool.arguments)
        for other in run.calls.tools
    )


def namesakes_of_calls(run: AssembledRun) -> Iterator[ParseIssue]:
    """A call of which nothing more is known has no span that is called like its tool and is read as something else."""
    missing = {tool.name for tool in run.calls.tools if tool.span is None and tool.result_source is None}
    for span in run.tree.spans if missing else ():
        if span.operation == "other" and span.sent.name in missing:
            yield issue(
                span.sent.span_id,
                "tool_calls",
                span.sent.name,
                "called like a tool that was asked for and that no execution is known of",
            )


def requests_in_one(run: AssembledRun) -> Iterator[ParseIssue]:
    """Spans right below one model call do not name several answers of models."""
    models = {call.span for call in run.calls.models}
    answers: dict[tuple[NormalizedSpan, str], dict[object, None]] = {}
    for span in run.tree.spans:
        call = run.tree.parent(span) if span.operation == "other" else None
        if call in models:
            for key, value in span.sent.attributes.items():
                if key.startswith(("gen_ai.", "llm.")) and key.endswith(".id") and "tool" not in key:
                    answers.setdefault((call, key), {})[value] = None
    for (call, key), ids in answers.items():
        if len(ids) > 1:
            reason = f"the spans below this one model call name {len(ids)} answers ({key})"
            yield issue(call.sent.span_id, "model_calls", [*ids], reason)
