"""Invariants of acts: what a model asked for is what was executed, and one request is one call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from retrospan.ingest.interpret.calls.empty_answers import is_told_as_empty
from retrospan.ingest.interpret.invariants.assembled_run import LEAVES, AssembledRun
from retrospan.ingest.interpret.messages.message import parts_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool
from retrospan.ingest.interpret.normalize.token_usage import TokenUsage
from retrospan.ingest.interpret.spans.exchange import request_by_shape, response_by_shape
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue
from retrospan.ingest.interpret.unfolding.cut_requests import cut_requests
from retrospan.ingest.interpret.unfolding.executions_in_one import executions_listed
from retrospan.ingest.json_text import write_json
from retrospan.schemas import semconv

#: Why a model stopped that asks for tools, in the words of all APIs. The opposite says nothing: for some APIs an
#: answer that asks for tools is at its `stop` as well.
_FOR_CALLS = re.compile(r"(?i)(?:tool|function)[_-]?(?:calls?|use)")

#: Where spans name the answer of a model.
_ANSWER_ID = re.compile(r"gen_ai\.response\.id|llm\.\w+\.id")


def finish_reasons(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield answers that ended for tool calls and hold none."""
    for call in run.calls.models:
        reason = next((why for why in call.span.finish_reasons if _is_for_calls(why)), None)
        if reason is None:
            continue
        kinds = [part["type"] for message in call.span.output for part in message["parts"]]
        is_told = bool(kinds) or call.span.fields.any(semconv.OUTPUT_MESSAGES) is not None
        if is_told and not any(str(kind).endswith(("_call", "_use")) for kind in kinds):
            yield issue(
                call.span.sent.span_id,
                "finish_reasons",
                reason,
                "the answer ended for tool calls, and none is read in it",
            )


@lru_cache(256)
def _is_for_calls(reason: str) -> bool:
    return _FOR_CALLS.fullmatch(reason) is not None


def unread_answers(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield calls whose tokens tell of an answer and that have none, where others of the agent have, or where it is told as empty.

    Of one that ended for tools it is known why, where the instrumentation tells texts alone: nothing is unread.
    """
    told = {call.span.agent_name for call in run.calls.models if call.span.output and not call.span.is_unsaid}
    for call in run.calls.models:
        span = call.span
        if span.output or span.failed or not span.tokens.output:
            continue
        others_have = span.agent_name in told
        if not others_have and not is_told_as_empty(span):
            continue
        if not any(map(_is_for_calls, span.finish_reasons)) or _tells_calls(run):
            reason = "tokens of an answer, and none is read; "
            reason += "other calls have theirs" if others_have else "it is told as empty"
            yield issue(span.sent.span_id, "output_messages", str(span.tokens.output), reason)


def _tells_calls(run: AssembledRun) -> bool:
    return any(parts_of(message, "tool_call") for call in run.calls.models for message in call.span.output)


def answers_without_call(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the first message of a model that a span returned, in a run without any model call."""
    for span in run.tree.spans if not run.calls.models else ():
        message = _message_of_model(span.framework_output)
        if message is not None:
            reason = "a message of a model, in a run of which no model call is read"
            yield issue(span.sent.span_id, "output", write_json(message), reason)
            return


def prompts_without_call(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the first span of no known kind that holds a prompt or a model's message, in a run without any model call."""
    for span in run.tree.spans if not run.calls.models else ():
        said = span.sent.attributes if span.operation == "other" else {}
        if said and (request_by_shape(said) is not None or response_by_shape(said) is not None):
            reason = "it holds what a model is asked or answers, and no model call of the run is read"
            yield issue(span.sent.span_id, "model_calls", span.sent.name, reason)
            return


def _message_of_model(value: object) -> object:
    """Return the first object in a value that says it is a model's message, None where there is none."""
    waiting = [value]
    for _ in range(LEAVES):
        if not waiting:
            break
        at = waiting.pop()
        if isinstance(at, dict):
            if at.get("role") == "assistant":
                return at
            waiting += at.values()
        elif isinstance(at, list):
            waiting += at
    return None


def ids_of_executions(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield executions whose id is not that of the call which asked for them, as tool and arguments tell."""
    for tool in run.calls.tools:
        if tool.span is not None and tool.asked is not None:
            own, asked = tool.span.tool_call_id, tool.asked.call_id
            if own and asked and own != asked and tool.call_id == own:
                reason = f"the execution has this id, and the call that seems to have asked for it {asked}"
                yield issue(tool.span.sent.span_id, "tool_call_id", own, reason)


def unasked_executions(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield executions that no model asked for, by an agent whose other executions one asked for.

    Another try of what failed needs no further asking. What the models do not know they cannot ask for. Yield also those
    that several agents asked for alike.
    """
    for tool in run.calls.tools:
        if tool.is_unclear and tool.span is not None:
            reason = "agents asked for this alike, and nothing tells for which of them it ran"
            yield issue(tool.span.sent.span_id, "tool_call_id", tool.name, reason)
    executed = [
        (tool, tool.span) for tool in run.calls.tools if tool.span is not None and not tool.is_unclear
    ]
    asking = {span.agent_name for tool, span in executed if tool.asked is not None}
    if not any(tool.asked is None and span.agent_name in asking for tool, span in executed):
        return
    names = {tool.asked.name for tool in run.calls.tools if tool.asked is not None}
    offered: dict[str | None, str] = {}
    for call in run.calls.models:
        if call.span.tool_definitions is not None and call.span.agent_name not in offered:
            offered[call.span.agent_name] = write_json(call.span.tool_definitions)
    failed: set[tuple[str, str]] = set()
    above = run.tree.nearest(lambda span: span.operation != "other")
    for tool, span in executed:
        what = (tool.name, write_json(tool.arguments))
        if (
            tool.asked is None
            and span.agent_name in asking
            and what not in failed
            and span in above
            and above[span].operation == "agent"
        ):
            tools = offered.get(span.agent_name)
            known = (
                tools is None
                or f'"{tool.name}"' in tools
                or any(is_same_tool(tool.name, name) for name in names)
            )
            if known:
                reason = "this execution was asked for by no answer that is read"
                yield issue(span.sent.span_id, "tool_calls", tool.name, reason)
        if tool.status != "ok":
            failed.add(what)


def namesakes_of_calls(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield spans read as something else that are called like a tool that was asked for and of which no more is known."""
    missing = {tool.name for tool in run.calls.tools if tool.span is None and tool.result_source is None}
    for span in run.tree.spans if missing else ():
        if span.operation == "other" and span.sent.name in missing:
            yield issue(
                span.sent.span_id,
                "tool_calls",
                span.sent.name,
                "called like a tool that was asked for and that no execution is known of",
            )


def told_as_several(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield spans that are told as several model calls: what they say of models and tokens is not said of each."""
    counting = {run.tree.parent(call.span) for call in run.calls.models if call.span.tokens != TokenUsage()}
    for span in run.tree.spans:
        if span.holds_requests:
            reason = (
                "one span for several requests: models and tokens of those before its last one are not known"
            )
            if span.tokens != TokenUsage() and span not in counting:
                reason = "one span for several requests: what it counts is not known of each of them"
            yield issue(span.sent.span_id, "model_calls", span.sent.name, reason)


def requests_in_one(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield model calls with spans right below them that name several answers."""
    models = {call.span for call in run.calls.models}
    answers: dict[tuple[NormalizedSpan, str], dict[str, None]] = {}
    for span in run.tree.spans:
        call = run.tree.parent(span) if span.operation == "other" else None
        if call in models:
            for key, value in span.sent.attributes.items():
                if _ANSWER_ID.fullmatch(key) and isinstance(value, str):
                    answers.setdefault((call, key), {})[value] = None
    for (call, key), ids in answers.items():
        if len(ids) > 1:
            reason = f"the spans below this one model call name {len(ids)} answers ({key})"
            yield issue(call.sent.span_id, "model_calls", write_json([*ids]), reason)


def executions_in_one(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield spans read as one execution that list the names and ids of several."""
    for tool in run.calls.tools:
        listed = executions_listed(tool.span) if tool.span is not None else []
        if tool.span is not None and listed:
            reason = (
                f"one span for {len(listed)} executions, read as one: which of them did what is not known"
            )
            yield issue(tool.span.sent.span_id, "tool_calls", tool.name, reason)


def requests_cut(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield model calls that count as answered of which nothing says so, and that ended with what failed around them."""
    models = {call.span for call in run.calls.models}
    for span, around in cut_requests(run.tree).items():
        if span in models:
            reason = "nothing says how it went, and what is around it failed as it ended"
            yield issue(span.sent.span_id, "status", around.sent.name, reason)
