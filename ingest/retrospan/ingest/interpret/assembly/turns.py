"""Traces of one user turn, where each request has a trace of its own: the next one retells the history of the last.

A trace that begins with a request says which history it goes on from, and one that ends with calls which history it
ends with; a hash stands for each. A new message of the user is another turn: it goes on from nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from retrospan.ingest.interpret.normalize.message import Message, Part
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.schemas import semconv
from retrospan.schemas.hashing import hash_of

#: More traces than so many with one history are not told apart: none of them is joined any more.
MOST_EQUAL = 50
_AROUND = ("agent", "workflow")


class Turn(Protocol):
    """What is asked of a trace here: the histories it goes on from and ends with ('' for none), its times, its fate."""

    trace_id: str
    goes_on_from: str
    ends_with: str
    started_at: int
    ended_at: int
    failed: bool


def histories_of(spans: Sequence[NormalizedSpan]) -> tuple[str, str]:
    """Return the hashes of the history that a trace goes on from, and of the one it ends with; '' for none.

    The spans are in the order in which they began. What has an agent or a workflow of its own is a whole turn.
    """
    if any(span.operation in _AROUND for span in spans):
        return "", ""
    calls = [span for span in spans if span.operation == "inference"]
    if not calls:
        return "", ""
    first, last = calls[0], calls[-1]
    goes_on = bool(first.input) and first.input[-1]["role"] == "tool"
    ends = any(part["type"] == "tool_call" for message in last.output for part in message["parts"])
    return (
        _hash(first, first.input, is_answered=True) if goes_on else "",
        _hash(last, [*last.input, *last.output], is_answered=False) if ends else "",
    )


def _hash(span: NormalizedSpan, messages: Sequence[Message], *, is_answered: bool) -> str:
    """Return the hash of a history up to its last answer, '' where it has none: who said what, however it is cut into
    messages, told by the same instrumentation of the same service. Two services that say the same are two.

    The ids of calls stand for what they asked for and for what that returned: a prompt may leave the calls out and
    retell only the results. Where a call has no id, calls and results say it themselves.
    """
    said = _by_ids(messages) or _in_full(messages, is_answered=is_answered)
    told_by = [span.sent.scope, span.sent.resource.get(semconv.SERVICE_NAME), span.conversation]
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


def _told(part: Part) -> object:
    """Return what a part tells again when it is retold: thoughts and empty texts are not."""
    if part["type"] == "text":
        content = part.get("content")
        return content.strip() or None if isinstance(content, str) else content
    if part["type"] == "tool_call":
        return [part.get("id"), part.get("name"), part.get("arguments")]
    if part["type"] == "tool_call_response":
        return [part.get("id"), part.get("response")]
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
        if trace.ends_with:
            ending.setdefault(trace.ends_with, []).append(trace)
        if trace.goes_on_from:
            going.setdefault(trace.goes_on_from, []).append(trace)
    found: dict[str, str] = {}
    for history, later in going.items():
        ends = ending.get(history, [])
        if max(len(ends), len(later)) > MOST_EQUAL:
            continue
        for trace in sorted(later, key=lambda trace: (trace.started_at, trace.trace_id)):
            before = [one for one in ends if one.ended_at <= trace.started_at and one is not trace]
            if len(before) == 1:
                found[trace.trace_id] = before[0].trace_id
                if not trace.failed:
                    ends = [one for one in ends if one is not before[0]]
    return found
