"""OpenAI Agents: the state before and after each run and each tool, approvals, interruptions and resumes.

The state is the context object that the program passes to `Runner.run`. Each run gets a span. A tool's state goes on
the tool's span if another instrumentation has made one current, else on a span of our own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context

from retrospan.exporter.hooks.wrapping import Wrappings, beside
from retrospan.exporter.recording.effects import Effect
from retrospan.exporter.recording.encoding import json_text
from retrospan.exporter.recording.lineage import RunReference
from retrospan.exporter.recording.runs import Run
from retrospan.exporter.recording.scopes import scope_in
from retrospan.exporter.recording.states import put
from retrospan.exporter.recording.telling import say
from retrospan.schemas.attributes import APPROVAL, APPROVAL_DECISION, APPROVAL_EXPLANATION, SCOPE_NAME

#: What a run is said to have ended with while it waits for an approval.
INTERRUPT = "retrospan.NodeInterrupt"
#: Where the run is named on results and on the states made of them, within one process.
_RUN = "_retrospan_run"

_WRAPPED = Wrappings()


def install() -> None:
    """Record every run of the SDK from now on, in this process. Harmless when installed.

    Raises:
        ImportError, AttributeError: The SDK is not there, or is a version without what the hook needs; then nothing
            is installed.
    """
    if _WRAPPED.there:
        return
    from agents import result, run
    from agents.run_internal import tool_execution

    try:
        _WRAPPED.wrap(run.AgentRunner, "run", _run)
        _WRAPPED.wrap(run.AgentRunner, "run_streamed", _run_streamed)
        _WRAPPED.wrap(result.RunResult, "to_state", _to_state)
        _WRAPPED.wrap(result.RunResultStreaming, "to_state", _to_state)
        _WRAPPED.wrap(tool_execution, "_invoke_function_tool_with_metadata", _invoke_tool)
    except AttributeError:
        _WRAPPED.remove()
        raise


def installed() -> bool:
    """Tell whether runs are recorded."""
    return _WRAPPED.there


def remove() -> None:
    """Leave the SDK as it was."""
    _WRAPPED.remove()


class AgentsRun(Run):
    """A run of the SDK: the context is its state; a `RunState` as input makes it the resume of another."""

    def __init__(self, agent: Any, input: Any, options: dict[str, Any]) -> None:
        resumed = getattr(input, _RUN, None)
        config, session = options.get("run_config"), options.get("session")
        conversation = (
            getattr(config, "group_id", None)
            or getattr(session, "session_id", None)
            or options.get("conversation_id")
        )
        values = {"conversation": conversation}
        held = options.get("context")
        if held is None:
            held = getattr(getattr(input, "_context", None), "context", None)
        state = None if held is None or isinstance(held, str) else held
        name = getattr(agent, "name", None)
        super().__init__(name if isinstance(name, str) else "agent", descent={}, values=values, state=state)
        self._resumed = RunReference.parse(resumed) if isinstance(resumed, str) else None
        self._input = input

    def inside(self, at: Context) -> Context:
        if self._resumed is not None and scope_in(at) is None:
            self._parents = [("resumes", self._resumed)]
        return super().inside(at)

    def begun(self) -> None:
        super().begun()
        for decision, asked in _decisions(self._input) if self._resumed else ():
            said = {APPROVAL_DECISION: decision, APPROVAL_EXPLANATION: json_text({"asked": asked})}
            if self.span.is_recording():
                say(self.span, APPROVAL, said)

    def finish(self, result: Any) -> None:
        """Note what a run came to: what it waits for, and by which name its resume will find it."""
        waiting = getattr(result, "interruptions", None) or []
        if waiting:
            asked = [_asked(item) for item in waiting]
            said = {"exception.type": INTERRUPT, "exception.message": json_text(asked)}
            self.span.add_event("exception", said)
        if self.span.is_recording():
            setattr(result, _RUN, self.reference)


def _asked(item: Any) -> dict[str, object]:
    raw = getattr(item, "raw_item", None)
    return {"tool": getattr(raw, "name", None), "arguments": getattr(raw, "arguments", None)}


def _decisions(state: Any) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield what was answered to each call that a run waited with."""
    for item in state.get_interruptions():
        raw = getattr(item, "raw_item", None)
        call_id = getattr(raw, "call_id", "")
        answer = state._context.get_approval_status(getattr(raw, "name", ""), call_id, existing_pending=item)
        if answer is not None:
            yield ("approved" if answer else "rejected"), _asked(item)


async def _run(original: Any, runner: Any, agent: Any, input: Any, **options: Any) -> Any:
    recorded = beside("a run", AgentsRun, agent, input, options)
    if recorded is None:
        return await original(runner, agent, input, **options)
    with recorded:
        result = await original(runner, agent, input, **options)
        beside("a run's end", recorded.finish, result)
        return result


def _run_streamed(original: Any, runner: Any, agent: Any, input: Any, **options: Any) -> Any:
    recorded = beside("a run", AgentsRun, agent, input, options)
    if recorded is None:
        return original(runner, agent, input, **options)
    recorded.__enter__()
    try:
        # The task that does the work takes its context from here.
        result = original(runner, agent, input, **options)
    except BaseException as error:
        recorded.__exit__(type(error), error, error.__traceback__)
        raise
    recorded._pause()
    beside("a run", _end_with, result, recorded)
    return result


def _end_with(result: Any, recorded: AgentsRun) -> None:
    """End the span of a streamed run with the task that does its work."""

    def ended(task: Any) -> None:
        error = None if task.cancelled() else task.exception()
        if error is None:
            beside("a run's end", recorded.finish, result)
        recorded.__exit__(type(error) if error else None, error, None)

    result.run_loop_task.add_done_callback(ended)


def _to_state(original: Any, result: Any) -> Any:
    state = original(result)
    if hasattr(result, _RUN):
        beside("a state", setattr, state, _RUN, getattr(result, _RUN))
    return state


async def _invoke_tool(original: Any, **named: Any) -> Any:
    held = named["context"]
    current = trace.get_current_span()
    if not current.is_recording():
        return await original(**named)
    scope = getattr(current, "instrumentation_scope", None)
    if getattr(scope, "name", "") != SCOPE_NAME:
        beside("a state", _put, current, held, True)
        try:
            return await original(**named)
        finally:
            beside("a state", _put, current, held, False)
    arguments = _read(named.get("arguments"))
    with Effect(held.tool_name, arguments, {"gen_ai.tool.call.id": held.tool_call_id}) as tool:
        beside("a state", _put, tool.span, held, True)
        try:
            result = await original(**named)
            tool.result(getattr(result, "output", result))
            return result
        finally:
            beside("a state", _put, tool.span, held, False)


def _read(arguments: object) -> object:
    """Return arguments, which the SDK holds as the text that the model wrote, as JSON where they are that."""
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments


def _put(span: Any, held: Any, is_before: bool) -> None:
    state = held.context
    if state is not None and not isinstance(state, str):
        put(span, **({"before": state} if is_before else {"after": state}))
