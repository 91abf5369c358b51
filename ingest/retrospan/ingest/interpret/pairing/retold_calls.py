"""Model calls that were written over each other on one span around them all: its last prompt retells those before.

The tool that a retold answer asked for, by the id of the call, ran while the span did: so the answer was given meanwhile.
What ran at another time may have been asked for before, by a run that this one goes on with.

An instrumentation may also leave out whole requests of an agent: where its tools ran before the request that retells the
answer, no other request was made in between that may have given it, and the answer stands after what the agent itself
was given: an agent that goes on once somebody approved of a tool is given nothing new.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from retrospan.ingest.interpret.calls.call_ids import CallIds
from retrospan.ingest.interpret.messages.message import Message, parts_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.interpret.unfolding.told_requests import told_request

#: The tools that ran, by the id of the call.
Executed = dict[str, NormalizedSpan]


def with_retold_calls(tree: Tree, requests: Sequence[NormalizedSpan]) -> list[NormalizedSpan]:
    """Return the requests of a run, in order, with those that only prompts tell of; these are added to the tree.

    Each was given what stands before its answer. When it was made is not known: it stands no earlier than the tools whose
    results it was given.
    """
    tools = {span.tool_call_id: span for span in tree.spans if span.operation == "tool" and span.tool_call_id}
    if not tools:
        return [*requests]
    answered = [span for span in requests if not span.is_told and tree.parent(span) is not None]
    ids = CallIds()
    for span in answered:
        _drop_stale(span, ids)
    known = {call_id for span in requests for message in span.output for call_id in _asked_in(message)}
    missing = tools.keys() - known
    told: list[tuple[NormalizedSpan, NormalizedSpan]] = []
    executed: dict[NormalizedSpan | None, Executed] = {}
    for call_id, tool in tools.items() if missing else ():
        executed.setdefault(tree.parent(tool), {})[call_id] = tool
    began = sorted(span.sent.started_at for span in requests) if missing else []
    for span in answered if missing else ():
        parent = tree.parent(span)
        if parent is not None:
            told += ((parent, call) for call in _retold(span, missing, tools))
            inside = executed.get(parent, {}) if parent.operation == "agent" else {}
            if not missing.isdisjoint(inside):
                told += ((parent, call) for call in _left_out(span, parent, missing, inside, began))
    if not told:
        return [*requests]
    tree.add(told)
    found = {call for _, call in told} | {span for span in requests if span.operation == "inference"}
    return [span for span in tree.spans if span in found]


def _drop_stale(span: NormalizedSpan, ids: CallIds) -> None:
    """Take the calls out of an answer that its own prompt holds the results of: they are left over from an earlier one."""
    asked = {call_id for message in span.output for call_id in _asked_in(message)}
    given = ids.answered_in(span.input) if asked else set[str]()
    if given.isdisjoint(asked):
        return
    kept: list[Message] = []
    for message in span.output:
        parts = [
            part for part in message["parts"] if part["type"] != "tool_call" or part.get("id") not in given
        ]
        if parts:
            kept.append({**message, "parts": parts})
    span.output = kept


def _retold(span: NormalizedSpan, missing: set[str], tools: Executed) -> Iterator[NormalizedSpan]:
    """Yield the calls that a prompt is the first to retell, and last the one that it is the prompt of.

    Their tools ran while the span did: it lies around them all, and is not the span of the last one either. The ids that
    they ask for are not missing any more.
    """
    at = span.sent.started_at
    is_around = False
    for place, message in enumerate(span.input):
        for part in parts_of(message, "tool_call_response"):
            tool = tools.get(part.get("id", ""))
            if tool is not None:
                at = max(at, tool.sent.ended_at)
        asked = _asked_in(message)
        ran = [tools[call_id].sent.started_at for call_id in asked if call_id in missing]
        if (
            not ran
            or len(ran) < len(asked)
            or not span.sent.started_at <= min(ran) <= max(ran) <= span.sent.ended_at
        ):
            continue
        missing.difference_update(asked)
        is_around = True
        yield _told(span, min(at, *ran), place, message)
    if is_around:
        last = span.copy()
        last.sent, last.is_told = replace(span.sent, started_at=at, ended_at=0), True
        span.operation = "other"
        yield last


def _left_out(
    span: NormalizedSpan,
    agent: NormalizedSpan,
    missing: set[str],
    tools: Executed,
    began: Sequence[int],
) -> Iterator[NormalizedSpan]:
    """Yield the calls of an agent that no span tells, and that a prompt is the first to retell: messages of the model one
    after the other are one answer."""
    at = agent.sent.started_at
    asking = agent.input[-1] if agent.input and agent.input[-1]["role"] == "user" else None
    first = max((place for place, message in enumerate(span.input) if message == asking), default=-1)
    if first < 0:
        return
    answer: Message | None = None
    begin = 0
    for place, message in enumerate(span.input):
        if message["role"] == "assistant" and place > first:
            begin = place if answer is None else begin
            answer = {**message, "parts": [*(answer["parts"] if answer else ()), *message["parts"]]}
            continue
        asked = _asked_in(answer) if answer is not None else []
        ran = [tools[call_id].sent.started_at for call_id in asked if call_id in missing and call_id in tools]
        is_between = ran and at <= min(ran) <= max(ran) < span.sent.started_at
        is_untold = is_between and bisect_left(began, at) == bisect_right(began, min(ran))
        if answer is not None and is_untold and len(ran) == len(asked):
            missing.difference_update(asked)
            yield _told(span, at, begin, answer)
        answer = None
        for part in parts_of(message, "tool_call_response"):
            tool = tools.get(part.get("id", ""))
            at = max(at, tool.sent.ended_at) if tool is not None else at


def _told(span: NormalizedSpan, at: int, place: int, answer: Message) -> NormalizedSpan:
    """Return the call that a prompt retells, whose answer stands at a place in it."""
    told = told_request(span, at, span.input[:place], [answer])
    told.tool_definitions = span.tool_definitions
    return told


def _asked_in(message: Message) -> list[str]:
    return [part["id"] for part in parts_of(message, "tool_call") if "id" in part]
