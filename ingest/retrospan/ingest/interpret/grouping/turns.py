"""Traces of one user turn, where each request has a trace of its own: the next one retells the history of the last.

A trace that begins with a request says which history it goes on from, and one that ends with calls which history it
ends with; a hash stands for each. A new message of the user is another turn: it goes on from nothing. Where the ids of
the last calls are such as no others have, they stand for the history, and a trace that does nothing but execute these
calls is of the same turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from retrospan.ingest.interpret.grouping.counted_histories import CountedHistory, counted_history
from retrospan.ingest.interpret.grouping.equal_histories import MOST_EQUAL
from retrospan.ingest.interpret.grouping.retold_elsewhere import (
    answers_of,
    calls_asked_in,
    executed_in,
    retold_by,
    turns_named_in,
)
from retrospan.ingest.interpret.grouping.told_twice import told_in_parts, told_whole
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.qualified_ids import given_id, is_unique
from retrospan.ingest.interpret.prompts.fields_in_texts import asked_in, episode_of
from retrospan.ingest.interpret.spans.span import begun_by
from retrospan.schemas import semconv
from retrospan.schemas.hashing import hash_of

_AROUND = ("agent", "workflow")
#: Instrumentations that do not tell others of their spans: what a client tells by itself is in a trace of its own.
_LEAVE_APART = ("langsmith",)
#: Models whose API gives calls no ids, or none that have to be sent again.
_WITHOUT_IDS = re.compile("gemini|vertex|google", re.IGNORECASE)


class Turn(Protocol):
    """What is asked of a trace here: the histories it goes on from and ends with ('' for none; in full: told without the ids
    of calls), its times, its fate, and what only counts of tokens tell."""

    trace_id: str
    goes_on_from: str
    ends_with: str
    ends_in_full: str
    started_at: int
    ended_at: int
    failed: bool
    is_inside: bool
    is_same: bool
    executes: bool
    counted: CountedHistory | None


@dataclass(frozen=True, slots=True)
class Histories:
    """Hashes of the history that a trace goes on from, and of the one it ends with, with and without the ids of its calls;
    '' for none. Where the trace `is_inside` another one, what both have is the id of a response, or it `is_same`: the turn
    that the other one tells whole. One that `executes` does what the other asked for, and says nothing to the model.
    Where only the count of tokens tells how far it has come, that is `counted`.
    `answers` are those that its requests gave, `retold` those that it retells of requests that it does not tell.
    """

    goes_on_from: str = ""
    ends_with: str = ""
    ends_in_full: str = ""
    is_inside: bool = False
    is_same: bool = False
    executes: bool = False
    answers: tuple[str, ...] = ()
    retold: tuple[str, ...] = ()
    counted: CountedHistory | None = None


def histories_of(spans: Sequence[NormalizedSpan]) -> Histories:
    """Return what a trace goes on from and ends with.

    The spans are in the order in which they began. What has an agent or a workflow of its own is a whole turn.
    """
    calls = [span for span in spans if span.operation == "inference"]
    told = _told_histories(spans, calls)
    if not calls:
        return told if told.executes else replace(told, retold=retold_by(spans))
    is_around = any(span.operation in _AROUND for span in spans)
    if is_around or not (told.goes_on_from or told.ends_with or told.ends_in_full):
        told = _counted_histories(spans) or told
    if is_around:
        # Of two instrumentations of one program, one asks for what the other says was executed, in the same turn.
        turns = turns_named_in(calls)
        if any(span.input or span.output for span in calls):
            asked = calls_asked_in(calls) if calls[0].sent.scope in _LEAVE_APART else ()
            return replace(told, answers=(*asked, *turns))
        return replace(told, retold=(*executed_in(spans, calls), *turns))
    return replace(told, answers=answers_of(calls))


def _counted_histories(spans: Sequence[NormalizedSpan]) -> Histories | None:
    """Return the histories of a trace of which only counts tell where they end: it goes on from what it ends with."""
    told = counted_history(spans)
    if told is None:
        return None
    return Histories(told.asked, "" if told.ends_turn else told.asked, counted=told)


def _told_histories(spans: Sequence[NormalizedSpan], calls: Sequence[NormalizedSpan]) -> Histories:
    conversation = next((span.conversation for span in spans if span.conversation), None)
    if not calls:
        executed = _executed(spans)
        if executed:
            return Histories(_hash(spans[0], executed, conversation), executes=True)
        return Histories(ends_with=told_whole(spans))
    first, last = calls[0], calls[-1]
    if (
        len(calls) > 1
        and not first.input
        and (calls[1].input or not first.output)
        and calls[1].sent.parent_span_id == first.sent.span_id
    ):
        first = calls[1]  # what is around it says nothing of what was asked
    last = _told_by_scope(last, first.sent.scope, spans) if last.sent.scope != first.sent.scope else last
    answered = next((span for span in calls if span.response_id), first)
    leaves_apart = first.sent.scope in _LEAVE_APART and answered.response_id is not None
    if any(span.operation in _AROUND for span in spans):
        inside = told_in_parts(spans, calls)
        ends_with = _answered(answered) if leaves_apart else ""
        return Histories(inside, ends_with, is_inside=bool(inside), is_same=bool(inside))
    if answered.response_id and _are_left_apart(spans, calls):
        return Histories(_answered(answered), is_inside=True)
    if (episode := episode_of(first)) is not None:
        asked, latest = asked_in(last), episode_of(last)
        told = latest.after(asked) if asked is not None and latest is not None else []
        return Histories(_hash(first, episode.before(), conversation), _hash(last, told, conversation))
    goes_on = bool(first.input) and first.input[-1]["role"] == "tool"
    ends = any(part["type"] == "tool_call" for message in last.output for part in message["parts"])
    after = [*last.input, *last.output] if ends else []
    told = (
        _last_ids(first.input) or _by_ids(first.input) or _in_full(first.input, is_answered=True)
        if goes_on
        else []
    )
    if goes_on and not told and first is last:
        # Prompts without any calls: the next one is of this kind as well.
        return Histories(
            _hash(first, _without_calls(first.input), conversation),
            _hash(last, _without_calls(last.input, last.output), conversation) if ends else "",
        )
    in_full = ""
    if leaves_apart:
        in_full = _answered(answered)
    elif ends and _has_no_ids(last):
        in_full = _hash(last, _in_full(after, is_answered=False), conversation)
    elif ends and len(spans) == 1 and not last.sent.parent_span_id:
        in_full = _hash(last, _without_calls(last.input, last.output), conversation)
    return Histories(
        _hash(first, told, conversation),
        _hash(last, _last_ids(after) or _by_ids(after) or _in_full(after, is_answered=False), conversation)
        if ends
        else "",
        in_full,
    )


def _told_by_scope(call: NormalizedSpan, scope: str, spans: Sequence[NormalizedSpan]) -> NormalizedSpan:
    """Return the same request as another instrumentation tells it around the call, with its answer; else the call."""
    known = {span.sent.span_id: span for span in spans}
    found, above = call, call.sent.parent_span_id
    while (at := known.pop(above, None)) is not None:
        if at.operation == "inference" and at.sent.scope == scope and at.output:
            found = at
        above = at.sent.parent_span_id
    return found


def _are_left_apart(spans: Sequence[NormalizedSpan], calls: Sequence[NormalizedSpan]) -> bool:
    """Tell whether a trace is nothing but requests of a client, none with what was said, whose parents are elsewhere."""
    here = {span.sent.span_id for span in spans}
    return len(calls) == len(spans) and all(
        (span.response_id or span.failed)
        and not (span.input or span.output)
        and span.sent.parent_span_id
        and span.sent.parent_span_id not in here
        for span in calls
    )


def _answered(span: NormalizedSpan) -> str:
    return hash_of(["response", span.response_id])


def _has_no_ids(span: NormalizedSpan) -> bool:
    """Tell whether the API of a model knows calls without ids: instrumentations make some up, and forget them."""
    return any(
        name and _WITHOUT_IDS.search(name)
        for name in (span.provider, span.request_model, span.response_model)
    )


def _executed(spans: Sequence[NormalizedSpan]) -> list[object]:
    """Return the ids of the calls that the spans of a trace execute, which does nothing else; [] where it does, or where
    they say too little."""
    if any(span.is_work and span.operation != "tool" for span in spans):
        return []
    tools = [span for span in spans if span.operation == "tool"]
    ids = {given_id(span.tool_call_id or "", span.tool_name) for span in tools}
    return [sorted(ids)] if ids and all(map(is_unique, ids)) else []


def _hash(span: NormalizedSpan, said: Sequence[object], conversation: str | None) -> str:
    """Return the hash of a history up to its last answer, '' where it has none: who said what, however it is cut into
    messages, told by the same instrumentation of the same service. Two services that say the same are two.

    The ids of calls stand for what they asked for and for what that returned: a prompt may leave the calls out and
    retell only the results. Where a call has no id, calls and results say it themselves.
    """
    told_by = [span.sent.scope, span.sent.resource.get(semconv.SERVICE_NAME), conversation]
    return hash_of([*told_by, said]) if said else ""


def _by_ids(messages: Sequence[Message]) -> list[object]:
    """Return texts by role and the ids of the calls between them, each once and those in a row sorted; [] where a call
    has none."""
    said: list[object] = []
    row: set[str] = set()
    known: set[str] = set()
    for message in messages:
        for part in message["parts"]:
            if part["type"] in ("tool_call", "tool_call_response"):
                call_id = part.get("id")
                if call_id:
                    row |= {call_id} - known
                    known.add(call_id)
                elif part["type"] == "tool_call":
                    return []
                continue
            told = _told(part)
            if told is not None:
                said += [sorted(row)] if row else []
                row = set()
                said.append([message["role"], told])
    return [*said, sorted(row)] if row else []


def _last_ids(messages: Sequence[Message]) -> list[object]:
    """Return the ids of the calls that messages end with, or with the results of: [] where others may have them too.

    Of prompts that leave the calls out it is the ids of all results in a row, so that the next one knows them again.
    """
    asked: dict[str, str] = {}
    for message in messages:
        if message["role"] == "assistant":
            for part in parts_of(message, "tool_call"):
                asked[part.get("id") or ""] = given_id(part.get("id") or "", part.get("name"))
    if "" in asked:
        return []  # ids get lost in these prompts
    end = len(messages)
    ids: set[str] = set()
    while end and messages[end - 1]["role"] == "assistant":
        end -= 1
        ids.update(asked[part.get("id") or ""] for part in parts_of(messages[end], "tool_call"))
    is_answered = not ids
    while end and messages[end - 1]["role"] == "tool":
        end -= 1
        results = parts_of(messages[end], "tool_call_response")
        told = [call_id for part in results if (call_id := part.get("id"))]
        ids.update(asked.get(each, each) for each in told if is_answered or each not in asked)
    while is_answered and end and messages[end - 1]["role"] == "assistant":
        end -= 1
        ids.update(asked[part.get("id") or ""] for part in parts_of(messages[end], "tool_call"))
    return [sorted(ids)] if ids and all(map(is_unique, ids)) else []


def _in_full(messages: Sequence[Message], *, is_answered: bool) -> list[object]:
    """Return who said what, without the results at the end."""
    end = len(messages)
    while is_answered and end and messages[end - 1]["role"] != "assistant":
        if messages[end - 1]["role"] != "tool":
            return []
        end -= 1
    said: list[tuple[str, list[object]]] = []
    for message in messages[:end]:
        parts = [told for part in message["parts"] if (told := _told(part)) is not None]
        if said and said[-1][0] == message["role"]:
            said[-1][1].extend(parts)
        else:
            said.append((message["role"], parts))
    return [[role, parts] for role, parts in said]


def _without_calls(given: Sequence[Message], answer: Sequence[Message] = ()) -> list[object]:
    """Return who said what but for tools, and how many results there are or are asked for; [] where there are none."""
    results = sum(len(parts_of(message, "tool_call_response")) for message in given)
    asked = sum(len(parts_of(message, "tool_call")) for message in answer)
    said: list[object] = [
        [message["role"], told]
        for message in (*given, *answer)
        for part in message["parts"]
        if part["type"] not in ("tool_call", "tool_call_response") and (told := _told(part)) is not None
    ]
    return [*said, results + asked] if said and results + asked else []


def _told(part: Part) -> object:
    """Return what a part tells again when it is retold: thoughts and empty texts are not."""
    if part["type"] == "text":
        content = part.get("content")
        return content.strip() or None if isinstance(content, str) else content
    if part["type"] == "tool_call":
        return [part.get("name"), part.get("arguments")]
    if part["type"] == "tool_call_response":
        return [part.get("response")]
    return None if part["type"] == "reasoning" else dict(part)


def earlier_of(traces: Iterable[Turn]) -> dict[str, str]:
    """Return which trace each goes on from, among traces that are read together.

    It is the only one that ended with this history before, of those that nothing has gone on from yet; what failed has
    not gone on. Two agents that say the same at the same time are not told apart, and of several answers to one prompt,
    as where a request is sampled again, the first belongs to the turn.
    """
    ending: dict[str, list[Turn]] = {}
    going: dict[str, list[Turn]] = {}
    for trace in traces:
        for history in filter(None, {trace.ends_with, trace.ends_in_full}):
            ending.setdefault(history, []).append(trace)
        if trace.goes_on_from:
            going.setdefault(trace.goes_on_from, []).append(trace)
    found: dict[str, str] = {}
    taken: set[str] = set()
    for history, later in sorted(going.items()):
        ends = ending.get(history, [])
        if max(len(ends), len(later)) > MOST_EQUAL:
            continue
        for trace in sorted(later, key=lambda trace: (trace.started_at, trace.trace_id)):
            before = [
                one
                for one in ends
                if _is_before(one, trace) and one is not trace and one.trace_id not in taken
            ]
            if len(before) == 1:
                found[trace.trace_id] = before[0].trace_id
                if trace.is_same or not (trace.failed or trace.is_inside or trace.executes):
                    taken.add(before[0].trace_id)
    return found


def _is_before(one: Turn, trace: Turn) -> bool:
    """Tell whether a trace can go on from another: that has ended, or it lies in it; and where only counts tell, it is
    longer."""
    if trace.counted is not None and (one.counted is None or not trace.counted.goes_on_from(one.counted)):
        return False
    if trace.is_inside:
        return one.started_at <= trace.started_at and trace.ended_at <= one.ended_at
    return one.ended_at <= begun_by(trace.started_at)
