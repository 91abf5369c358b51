"""Pydantic AI: the state before and after each run and each tool, and approvals; its own instrumentation does the rest.

The state is the object that the program passes as `deps`. It goes on the spans of Pydantic AI's own instrumentation,
which installing the hook turns on for every agent that does not turn it off itself.
"""

from __future__ import annotations

from typing import Any

from opentelemetry import trace

from retrospan.exporter.hooks.wrapping import Wrappings, beside
from retrospan.exporter.recording.encoding import json_text
from retrospan.exporter.recording.states import put
from retrospan.exporter.recording.telling import say
from retrospan.schemas.attributes import APPROVAL, APPROVAL_DECISION, APPROVAL_EXPLANATION

_WRAPPED = Wrappings()
_SCOPE = "pydantic-ai"


def install() -> None:
    """Record every agent that runs from now on, in this process. Harmless when installed.

    Raises:
        ImportError, AttributeError: Pydantic AI is not there, or is a version without what the hook needs; then
            nothing is installed.
    """
    if _WRAPPED.there:
        return
    from pydantic_ai import Agent, _agent_graph, tool_manager
    from pydantic_ai.capabilities.instrumentation import Instrumentation

    try:
        _WRAPPED.wrap(Instrumentation, "wrap_run", _run)
        _WRAPPED.wrap(tool_manager.ToolManager, "_raw_execute", _execute)
        _WRAPPED.wrap(_agent_graph.UserPromptNode, "_handle_deferred_tool_results", _answered)
    except AttributeError:
        _WRAPPED.remove()
        raise
    if Agent._instrument_default is False:
        Agent.instrument_all(True)


def installed() -> bool:
    """Tell whether agents are recorded."""
    return _WRAPPED.there


def remove() -> None:
    """Leave Pydantic AI as it was; its own instrumentation stays on."""
    _WRAPPED.remove()


async def _run(original: Any, capability: Any, ctx: Any, *, handler: Any) -> Any:
    async def inside() -> Any:
        # Called under the span of the run.
        span = trace.get_current_span()
        beside("a state", _put, span, ctx, True)
        try:
            return await handler()
        finally:
            beside("a state", _put, span, ctx, False)

    return await original(capability, ctx, handler=inside)


async def _execute(original: Any, manager: Any, validated: Any, **named: Any) -> Any:
    span = trace.get_current_span()
    if not _is_tool(span, validated.call.tool_name):
        return await original(manager, validated, **named)
    beside("a state", _put, span, validated.ctx, True)
    try:
        return await original(manager, validated, **named)
    finally:
        beside("a state", _put, span, validated.ctx, False)


def _is_tool(span: Any, tool: str) -> bool:
    """Tell whether a span is that of the tool: an agent may have its instrumentation turned off."""
    scope = getattr(span, "instrumentation_scope", None)
    said = getattr(span, "attributes", None) or {}
    return getattr(scope, "name", "") == _SCOPE and said.get("gen_ai.tool.name") == tool


def _put(span: Any, ctx: Any, is_before: bool) -> None:
    state = ctx.deps
    if state is not None and not isinstance(state, str) and span.is_recording():
        put(span, **({"before": state} if is_before else {"after": state}))


async def _answered(original: Any, node: Any, results: Any, *args: Any, **kwargs: Any) -> Any:
    beside("an approval", _note_approvals, trace.get_current_span(), results)
    return await original(node, results, *args, **kwargs)


def _note_approvals(span: Any, results: Any) -> None:
    """Say what was answered to the calls that an earlier run of the conversation asked approval for."""
    if getattr(getattr(span, "instrumentation_scope", None), "name", "") != _SCOPE:
        return
    for call_id, answer in (getattr(results, "approvals", None) or {}).items():
        approved = answer is True or type(answer).__name__ == "ToolApproved"
        explanation = {"call": call_id, "message": getattr(answer, "message", None)}
        said = {
            APPROVAL_DECISION: "approved" if approved else "rejected",
            APPROVAL_EXPLANATION: json_text({key: text for key, text in explanation.items() if text}),
        }
        if span.is_recording():
            say(span, APPROVAL, said)
