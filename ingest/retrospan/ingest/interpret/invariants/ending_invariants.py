"""Invariants of ends: what a run that ended well asked for was done, and a call that was made again had not succeeded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrospan.ingest.interpret.calls.calls import ModelCall, ToolCall
from retrospan.ingest.interpret.invariants.assembled_run import AssembledRun
from retrospan.ingest.interpret.messages.tool_results import told_error
from retrospan.ingest.interpret.normalize.toolspan import unquoted
from retrospan.ingest.interpret.spans.facts import last_exception, raised_in_instrumentation
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue
from retrospan.ingest.json_text import write_json
from retrospan.schemas.semconv import EXCEPTION_TYPE

#: How clients of MCP say that what a tool returned has not the form that they expect: the protocol's own names.
_REFUSED = re.compile(r"(?i)structured ?content|output validation error|has an output ?schema but")

#: How objects and lists begin, whoever wrote them.
_OF_OBJECTS = ("{", "[")


def calls_at_the_end(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the last answer of a run that ended well, where it asks for tools and nothing shows what became of any."""
    last = run.calls.models[-1] if run.calls.models else None
    if run.outcome != "ok" or run.answer is not None or last is None:
        return
    asked = [tool for tool in run.calls.tools if tool.asked is not None and tool.asked.by == last.ordinal]
    if asked and all(tool.status == "unknown" for tool in asked):
        names = ", ".join(tool.name for tool in asked)
        reason = "the last answer asks for this, nothing shows what became of it, and the run ended well"
        yield issue(last.span.sent.span_id, "output", names, reason)


def unanswered_ends(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the last model call of a run that ended well without an answer, where it tells a prompt with answers and none
    of its own, or nothing at all."""
    last = run.calls.models[-1] if run.calls.models else None
    if run.outcome != "ok" or run.answer is not None or last is None:
        return
    span = last.span
    says_something = span.output or span.failed or span.interrupted or span.tokens.output
    is_bare = not span.sent.attributes and len(run.calls.models) > 1
    if not says_something and (is_bare or any(message["role"] == "assistant" for message in last.input)):
        reason = "nothing tells what the last request was answered, or that it failed, and the run ended well"
        yield issue(span.sent.span_id, "output_messages", "", reason)


def answers_of_no_request(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the answer of a run that ended well, where its last request only asked for tools, no call was given this text and
    no tool returned it: the request that it answers may be told nowhere."""
    last = run.calls.models[-1] if run.calls.models else None
    if run.outcome != "ok" or run.answer is None or last is None or not run.prompts[-1].asked:
        return
    if run.answer.text[:1] in _OF_OBJECTS:
        return  # what a tool was given or returned, in a form of the program's
    text = write_json(run.answer.text)[1:-1]
    given = (tool.arguments for tool in run.calls.tools)
    returned = [write_json(unquoted(tool.result)) for tool in run.calls.tools if tool.result is not None]
    told = (*map(write_json, given), *returned, *(write_json(message) for message in last.span.output))
    # A program may put a few words around what a tool returned.
    if any(text in each for each in told) or any(
        2 * len(each) > len(text) and each[1:-1] in text for each in returned
    ):
        return
    reason = "it is said to be the answer, and no request that is told answered it, nor did a tool return it"
    yield issue(last.span.sent.span_id, "model_calls", run.answer.text, reason)


def failed_instrumentations(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield spans whose status is an error that their instrumentation made itself."""
    for span in run.tree.spans:
        if span.sent.status == "error" and not span.failed:
            exception = last_exception(span.sent)
            if raised_in_instrumentation(exception):
                reason = "raised in the instrumentation itself: what it would have told is missing"
                yield issue(span.sent.span_id, "status", str(exception.get(EXCEPTION_TYPE)), reason)


def refused_results(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield executions that failed because the client refused the form of what the tool returned: it may have done its work."""
    for tool in run.calls.tools:
        said = tool.error_message if tool.status == "error" else None
        if said is not None and _REFUSED.search(said):
            reason = "the client refused the form of what the tool returned: whether the tool itself failed is not known"
            yield issue(tool.span.sent.span_id if tool.span else "", "tool_calls", said, reason)


def forgotten_calls(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the first prompt that holds no result of a tool, though the agent's answer before it asked for tools that ran, or
    for any, and the prompt is counted longer than the one before."""
    before: dict[str | None, ModelCall] = {}
    asked = {tool.asked.by for tool in run.calls.tools if tool.asked is not None}
    ran = {tool.asked.by for tool in run.calls.tools if tool.asked is not None and tool.span is not None}
    for call in run.calls.models:
        earlier = before.get(call.span.agent_name)
        before[call.span.agent_name] = call
        if earlier is None or earlier.ordinal not in asked or call.input != earlier.input or not call.input:
            continue
        if not (earlier.ordinal in ran or _is_counted_longer(call, earlier)):
            continue
        if earlier.span.sent.done_at <= call.span.sent.started_at:
            reason = (
                "the prompt before it again, though tools ran that its answer asked for"
                if earlier.ordinal in ran
                else "the prompt before it again, though its answer asked for tools, and this is counted longer"
            )
            yield issue(call.span.sent.span_id, "input_messages", "", reason)
            return


def _is_counted_longer(call: ModelCall, earlier: ModelCall) -> bool:
    before, now = earlier.span.tokens.input, call.span.tokens.input
    return before is not None and now is not None and before < now


def results_without_contents(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield calls that a message answers which tells nothing of what was returned: not even that it was nothing."""
    for tool in run.calls.tools:
        if (
            tool.span is not None
            or tool.asked is None
            or tool.status != "ok"
            or tool.result_source is not None
        ):
            continue
        asking = run.calls.models[tool.asked.by - 1].span.sent.span_id
        yield issue(
            asking, "result", tool.name, "a message answers this call, and tells nothing of what it returned"
        )


def failures_as_results(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield texts that a tool returned, where the same call was made again and the tool then returned an object: the first
    may have been told how it failed. What its own span says is doubted only where it reads like that, or where it is the
    only text that the tool returned, and the call was made again before any other ran."""
    ended = [tool for tool in run.calls.tools if tool.status == "ok"]
    if len({tool.name for tool in ended}) == len(ended):
        return  # none was called again
    texts: dict[str, int] = {}
    for tool in ended:
        if not _is_object(tool.result):
            texts[tool.name] = texts.get(tool.name, 0) + 1
    if not texts:
        return
    before: dict[str, tuple[int, ToolCall]] = {}
    for place, tool in enumerate(ended):
        if tool.name not in texts:
            continue
        key = write_json([tool.name, tool.arguments])
        at, earlier = before.get(key, (0, None))
        if (
            earlier is not None
            and _is_object(tool.result)
            and not _is_object(earlier.result)
            and (_may_be_failure(earlier) or (texts[tool.name] == 1 and at + 1 == place))
        ):
            reason = "the same call was made again and returned an object: this text may be an error"
            yield issue(
                earlier.span.sent.span_id if earlier.span else "", "tool_calls", str(earlier.result), reason
            )
        before[key] = place, tool


def _may_be_failure(tool: ToolCall) -> bool:
    return not _is_object(tool.result) and (tool.span is None or told_error(tool.result) is not None)


def _is_object(result: object) -> bool:
    """Tell whether a tool returned an object, also one that Python printed; what returns nothing fits either."""
    return isinstance(result, (dict, list)) or not result or str(result).lstrip('"')[:1] in _OF_OBJECTS
