"""Model calls and tool calls of a run: executions paired with the calls that asked for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise, takewhile

from retrospan.ingest.interpret.assembly.dedup import single_executions, single_requests
from retrospan.ingest.interpret.assembly.history import History
from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.matching import is_same_tool, same_arguments
from retrospan.ingest.interpret.normalize.messages import Message, Part, parts_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan

#: Calls of one name among which an execution without call id looks for the one that asked for it.
NEAR = 100


@dataclass(slots=True)
class ModelCall:
    ordinal: int
    reading: NormalizedSpan
    input: list[Message]
    history: str
    given: list[int] = field(default_factory=list)  # numbers of the input messages among the run's values
    said: list[int] = field(default_factory=list)  # of the output messages


@dataclass(slots=True)
class RequestedCall:
    """A tool call that a model asked for."""

    by: int
    call_id: str | None
    name: str
    arguments: object
    taken: bool = False


@dataclass(slots=True)
class ToolCall:
    """One execution of a tool, or a call that was asked for and has none on record."""

    name: str
    reading: NormalizedSpan | None
    asked: RequestedCall | None = None
    call_id: str | None = None
    arguments: object = None
    has_arguments: bool = False
    result: object = None
    result_source: str | None = None
    status: str = "ok"
    matched_by_id: bool = False


@dataclass(slots=True)
class Calls:
    models: list[ModelCall] = field(default_factory=list)
    tools: list[ToolCall] = field(default_factory=list)


def read_calls(tree: Tree, history: History, interrupted_or_cut: bool) -> Calls:
    """Return the calls of a run in order.

    `interrupted_or_cut` says that the run did not end properly, so that a call without execution may have happened.
    """
    calls = Calls()
    for reading in single_requests(tree):
        whole, how = history.rebuild(reading)
        calls.models.append(ModelCall(len(calls.models) + 1, reading, whole, how))
    _complete_answers(calls.models)
    asked = [
        RequestedCall(call.ordinal, _text(part.get("id")), str(part.get("name") or ""), part.get("arguments"))
        for call in calls.models
        for message in call.reading.output
        for part in parts_of(message, "tool_call")
    ]
    results = _results_said(calls.models, tree)
    executed = single_executions(tree)
    pairs = _pair(executed, asked, calls.models)
    for reading in executed:
        calls.tools.append(_execution(reading, pairs.get(id(reading)), results))
    for call in asked:
        if not call.taken:
            calls.tools.append(_without_execution(call, calls.models, results, interrupted_or_cut))
    calls.tools.sort(key=lambda tool: _order(tool, calls.models))
    return calls


def _complete_answers(models: list[ModelCall]) -> None:
    """Give a call whose span says no answer the one that the next prompt repeats after the same history, in place."""
    for call, later in pairwise(models):
        size = len(call.input)
        if call.reading.output or call.reading.failed or not size or later.input[:size] != call.input:
            continue
        call.reading.output = [*takewhile(lambda message: message["role"] == "assistant", later.input[size:])]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def messages_once(models: list[ModelCall]) -> Iterator[Message]:
    """Yield the messages that calls were given, in order; one that later calls repeat only the first time."""
    seen: set[int] = set()
    for call in models:
        for message in call.input:
            if id(message) not in seen:
                seen.add(id(message))
                yield message


def _results_said(models: list[ModelCall], tree: Tree) -> dict[str, Part]:
    """Return what each call returned, by call id: as later prompts say first, else as any other span does."""
    said: dict[str, Part] = {}
    around = (r for r in tree.readings if r.operation != "inference")
    others = (message for reading in around for message in (*reading.input, *reading.output))
    for message in chain(messages_once(models), others):
        for part in parts_of(message, "tool_call_response"):
            call_id = part.get("id")
            if isinstance(call_id, str):
                said.setdefault(call_id, part)
    return said


def _pair(
    executed: list[NormalizedSpan], asked: list[RequestedCall], models: list[ModelCall]
) -> dict[int, tuple[RequestedCall, bool]]:
    """Pair executions with askings: by id, else by name and arguments, else by name, each in order and never ahead of time.

    An id may be executed more than once: each further execution is another try of the same call.
    """
    pairs: dict[int, tuple[RequestedCall, bool]] = {}
    by_id = {call.call_id: call for call in asked if call.call_id}
    for reading in executed:
        found = by_id.get(reading.tool_call_id) if reading.tool_call_id else None
        if found is not None:
            found.taken = True
            pairs[id(reading)] = (found, True)
    ended = {call.ordinal: call.reading.span.ended_at or call.reading.span.started_at for call in models}
    waiting: dict[str, list[RequestedCall]] = {}
    for call in asked:
        if not call.taken:
            waiting.setdefault(call.name, []).append(call)
    for exactly in (True, False):
        for reading in executed:
            if id(reading) not in pairs:
                match = _match(reading, _waiting(waiting, reading.tool_name or ""), ended, exactly)
                if match is not None:
                    pairs[id(reading)] = (match, False)
    return pairs


def _waiting(waiting: dict[str, list[RequestedCall]], name: str) -> list[RequestedCall]:
    """Return the calls that wait for a tool of that name, also under the name that the model knows it by."""
    if name in waiting:
        return waiting[name]
    return next((calls for asked, calls in waiting.items() if calls and is_same_tool(name, asked)), [])


def _match(
    reading: NormalizedSpan, waiting: list[RequestedCall], ended: dict[int, int], exactly: bool
) -> RequestedCall | None:
    """Take the first of the next few waiting calls that an execution fits."""
    for place, call in enumerate(waiting[:NEAR]):
        in_time = ended[call.by] <= max(reading.span.started_at, 1)
        fits = not exactly or not reading.has_arguments or same_arguments(reading.arguments, call.arguments)
        if in_time and fits:
            call.taken = True
            del waiting[place]
            return call
    return None


def _execution(
    reading: NormalizedSpan, pair: tuple[RequestedCall, bool] | None, results: dict[str, Part]
) -> ToolCall:
    asked, by_id = pair or (None, False)
    tool = ToolCall(
        name=reading.tool_name or reading.span.name, reading=reading, asked=asked, matched_by_id=by_id
    )
    if asked and is_same_tool(tool.name, asked.name):
        tool.name = asked.name
    tool.call_id = reading.tool_call_id or (asked.call_id if asked else None)
    tool.arguments, tool.has_arguments = reading.arguments, reading.has_arguments
    if asked and (not tool.has_arguments or same_arguments(tool.arguments, asked.arguments)):
        tool.arguments, tool.has_arguments = asked.arguments, asked.arguments is not None
    if reading.has_result:
        tool.result, tool.result_source = reading.result, "span"
    elif tool.call_id in results and not reading.interrupted:
        tool.result, tool.result_source = results[tool.call_id].get("response"), "message"
    failed = reading.failed or "is_error" in results.get(tool.call_id or "", ())
    tool.status = "incomplete" if reading.interrupted else "error" if failed else "ok"
    return tool


def _without_execution(
    asked: RequestedCall, models: list[ModelCall], results: dict[str, Part], interrupted_or_cut: bool
) -> ToolCall:
    tool = ToolCall(name=asked.name, reading=None, asked=asked, call_id=asked.call_id)
    tool.arguments, tool.has_arguments = asked.arguments, asked.arguments is not None
    if asked.call_id in results:
        said = results[asked.call_id]
        tool.result, tool.result_source = said.get("response"), "message"
        tool.status = "error" if "is_error" in said else "ok"
        return tool
    agent = models[asked.by - 1].reading.agent_name
    went_on = any(call.reading.agent_name == agent for call in models[asked.by :])
    tool.status = "incomplete" if interrupted_or_cut and not went_on else "not_executed"
    return tool


def _order(tool: ToolCall, models: list[ModelCall]) -> tuple[int, int, int]:
    """An execution stands at its own time, a call without one right after the call that asked for it."""
    if tool.reading is not None:
        return (tool.reading.span.started_at, tool.reading.span.ended_at, 0)
    asking = models[tool.asked.by - 1].reading.span if tool.asked else None
    return (max(asking.ended_at, asking.started_at) if asking else 0, 0, 1)
