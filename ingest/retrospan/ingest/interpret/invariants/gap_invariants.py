"""Invariants of what is missing: what one call of an agent says, all of them say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrospan.ingest.interpret.calls.calls import ModelCall, ToolCall
from retrospan.ingest.interpret.invariants.assembled_run import AssembledRun
from retrospan.ingest.interpret.messages.message import text_of
from retrospan.ingest.interpret.messages.provider_payloads import parse_question
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue

#: What only the API of a model says that refused a request.
_REFUSED = re.compile(
    r"context.{0,20}(length|window)|prompt is too long|invalid_request_error|content_?filter|content_policy"
    r"|Error code: [45]\d\d - ",
    re.IGNORECASE,
)
#: How programs have models ask for tools where the API does not: DSPy's fields, where they are not read, and the lines of
#: the ReAct paper.
_ASKED_IN_TEXT = re.compile(
    r"^(?:\[\[ ## next_tool_name ## \]\]\s*|Action:[ \t]*(?=\S[^\n]*\n+Action Input:))(\S[^\n]*)",
    re.MULTILINE,
)


def gaps_between_calls(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield calls that name no model, or no messages, where others of the same agent and instrumentation do.

    That a model was asked for by its name is known of others only if another name answered.
    """
    own: dict[tuple[str | None, str], list[ModelCall]] = {}
    for call in run.calls.models:
        own.setdefault((call.span.agent_name, call.span.sent.scope), []).append(call)
    for calls in own.values():
        for field in ("request_model", "response_model", "input_messages"):
            missing = [call for call in calls if _lacks(call, field)]
            if missing and any(_has(call, field) for call in calls):
                for call in missing:
                    reason = "not known of this call, and said of others of the same agent"
                    yield issue(call.span.sent.span_id, field, "", reason)


def _has(call: ModelCall, field: str) -> bool:
    if field == "input_messages":
        return bool(call.input)
    if field == "response_model":
        return call.span.response_model is not None
    return call.span.request_model not in (None, call.span.response_model)


def _lacks(call: ModelCall, field: str) -> bool:
    """Tell whether something is not known that could be: a call that failed has no model that answered."""
    if field == "response_model" and (call.span.failed or not call.span.output):
        return False
    return not call.input if field == "input_messages" else getattr(call.span, field) is None


def calls_without_end(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield calls of which nothing shows whether they were executed, in a run whose executions are known by later prompts.

    Where executions have spans, that one has none says that there was none, as far as it is known. A call that was given
    just what the run returned is how its agent answers.
    """
    told = [tool.result_source for tool in run.calls.tools if tool.span is None]
    if "message" not in told or len(told) < len(run.calls.tools):
        return
    for tool in run.calls.tools:
        if tool.status == "unknown" and tool.asked is not None and not _is_answer(tool, run):
            asking = run.calls.models[tool.asked.by - 1].span.sent.span_id
            reason = "asked for, and nothing shows whether it was executed: executions have no spans here"
            yield issue(asking, "tool_calls", tool.call_id or tool.name, reason)


def _is_answer(tool: ToolCall, run: AssembledRun) -> bool:
    """Tell whether the only argument of a call is the answer of the run."""
    given = list(tool.arguments.values()) if isinstance(tool.arguments, dict) else []
    return run.answer is not None and len(given) == 1 and given == [run.answer.text]


def echoing_runs(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the root of a run that tells of no act, and that returned just the messages that it was given: what was done is
    told nowhere, or was written over."""
    if run.calls.models or run.calls.tools:
        return
    for root in run.tree.roots():
        given = root.framework_input
        if given and given == root.framework_output and parse_question(given):
            reason = (
                "it returned just the messages that it was given, and no call of a model or a tool is told"
            )
            yield issue(root.sent.span_id, "model_calls", root.sent.name, reason)
            return


def agents_without_models(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the agent of a run that answered, without a model call but the one that only this answer tells of: if it executed
    tools, no model asked for them; if it did not, nothing shows whether it had any."""
    models, tools = run.calls.models, run.calls.tools
    if not (models or tools) or len(models) > 1:
        return
    if any(not call.span.is_told or call.input for call in models):
        return
    for span in run.tree.spans:
        if span.operation == "agent" and (span.output or isinstance(span.framework_output, str)):
            reason = "an agent executed tools and answered, and no model call is read that asked for them"
            if not tools:
                reason = (
                    "only the answer of an agent tells of a call of its model: how many it made is not known"
                )
            yield issue(span.sent.span_id, "model_calls", tools[0].name if tools else "", reason)
            return


def requests_elsewhere(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the span of which it is likely that its requests are told by other traces, which nothing joins to its own: what
    a transcript tells is all that is known of any act."""
    models = run.calls.models
    if not all(call.span.is_told and call.input for call in models) or not models:
        return
    if any(call.span.is_of_several for call in models):
        return  # the span of a request itself tells them
    if not any(span.operation in ("inference", "tool") and not span.is_told for span in run.tree.spans):
        reason = "only a transcript tells of requests and tools: other traces may tell of them as runs of their own"
        yield issue(models[0].span.sent.span_id, "model_calls", str(len(models)), reason)


def refused_elsewhere(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the agent that failed by what the API of a model said, in a run that tells of no request."""
    if run.calls.models:
        return
    for span in run.tree.spans:
        said = f"{span.error_type or ''} {span.error_message or ''}" if span.failed else ""
        if span.operation in ("agent", "workflow") and (found := _REFUSED.search(said)):
            reason = "it failed by what a model's API said of a request, and no request is told here"
            yield issue(span.sent.span_id, "model_calls", found[0], reason)
            return


def calls_in_texts(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the first answer that asks for a tool in lines that its program agreed on with the model, in a run of which
    no call of a tool is read: what asks in a text is not known to be run."""
    for call in run.calls.models if not run.calls.tools else ():
        for message in call.span.output:
            if found := _ASKED_IN_TEXT.search(text_of(message)):
                reason = "the text of an answer asks for a tool, and no call of any is read"
                yield issue(call.span.sent.span_id, "tool_calls", found[1], reason)
                return


def inferred_questions(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the first request of a run where what it was asked is told by the prompt of a later one alone."""
    first = run.calls.models[0] if run.calls.models else None
    if first is not None and first.history == "inferred" and first.span.is_unsaid:
        reason = "the first prompt is told by that of a later request alone"
        yield issue(first.span.sent.span_id, "input", "", reason)
