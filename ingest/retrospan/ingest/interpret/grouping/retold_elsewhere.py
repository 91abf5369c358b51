"""Requests in traces of their own, which the trace of their agent retells: its spans tell no request, but a transcript.

Where the client is instrumented apart from the agent, nothing names the one in the other. The ids of the calls that the
transcript retells of an answer say which request gave it, if no others have them. The request lies in the time of the
agent, and both are of one service. An answer in words says too little: others are answered the same.

So it is where a framework tells its own spans, and another instrumentation of the same program tells all of it again in a
trace of its own: requests without a word are those of the only trace around them that asked for the calls which they say
were executed, or that names the same turn of the framework by the same id.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from retrospan.ingest.interpret.grouping.equal_histories import MOST_EQUAL
from retrospan.ingest.interpret.messages.message import Message, parts_of
from retrospan.ingest.interpret.messages.messages import read_messages
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.qualified_ids import given_id, is_unique
from retrospan.ingest.interpret.spans.span_names import names_of_span
from retrospan.ingest.interpret.unfolding.kept_transcripts import kept_lists
from retrospan.schemas import semconv
from retrospan.schemas.hashing import hash_of

_AROUND = ("agent", "workflow")
#: Of a transcript so many answers are looked for at most: requests that go on from them are found by what they retell.
_MOST_ANSWERS = 64
#: How attributes are called that hold the id of a turn, a run or an invocation.
_TURN_ID = re.compile(r"(?:^|[.:_/])(?:turn|run|invocation)(?:[._]?id)?$|(?:turn|run|invocation)Id$")
#: What runs are of that are many at a time, of whichever agents.
_OF_MANY = re.compile("eval|test|experiment|batch|dataset|pipeline|job", re.IGNORECASE)
#: So many calls say of two traces that one executed what the other asked for; what stands before the hash of one.
_MOST_CALLS, _CALL = 8, "call "


class Telling(Protocol):
    """What is asked of a trace here: its times, the answers that it gave, and those that it retells."""

    trace_id: str
    started_at: int
    ended_at: int
    answers: tuple[str, ...]
    retold: tuple[str, ...]


def answers_of(calls: Sequence[NormalizedSpan]) -> tuple[str, ...]:
    """Return hashes of the answers that the requests of a trace gave, which has nothing around them."""
    found = {_hash(span, span.output) for span in calls if not span.failed}
    return tuple(sorted(filter(None, found)))


def retold_by(spans: Sequence[NormalizedSpan]) -> tuple[str, ...]:
    """Return hashes of the answers that the transcripts of a trace retell, which tells no request itself."""
    found: dict[str, None] = {}
    for span in spans:
        if span.operation in _AROUND:
            for listed in kept_lists(span):
                said = [message for kept in listed for message in read_messages(kept)]
                found.update((_hash(span, [each]), None) for each in said if each["role"] == "assistant")
    found.pop("", None)
    return tuple(islice(found, _MOST_ANSWERS))


def calls_asked_in(calls: Sequence[NormalizedSpan]) -> tuple[str, ...]:
    """Return what stands for the first calls that the requests of a trace asked for, with ids that no others have."""
    parts = (part for span in calls for message in span.output for part in parts_of(message, "tool_call"))
    ids = (given_id(part.get("id") or "", part.get("name")) for part in parts)
    return tuple(_of_id(calls[0], call_id) for call_id in islice(filter(is_unique, ids), _MOST_CALLS))


def executed_in(spans: Sequence[NormalizedSpan], calls: Sequence[NormalizedSpan]) -> tuple[str, ...]:
    """Return what stands for the calls that a trace says were executed."""
    ids = (span.tool_call_id or "" for span in spans if span.operation == "tool")
    return tuple(_of_id(calls[0], call_id) for call_id in islice(filter(is_unique, ids), _MOST_CALLS))


def turns_named_in(calls: Sequence[NormalizedSpan]) -> tuple[str, ...]:
    """Return what stands for the turns, runs or invocations of a framework that the requests of a trace name as what they are
    part of, by ids that no others have: a framework and what instruments it may call it by the same id."""
    found: dict[str, None] = {}
    for span in calls:
        attributes = span.sent.attributes
        for name in names_of_span(span.sent).matching(_TURN_ID):
            value = attributes[name]
            if isinstance(value, str) and is_unique(value) and not _OF_MANY.search(name):
                found[_of_id(span, value)] = None
    return tuple(islice(found, _MOST_CALLS))


def _of_id(span: NormalizedSpan, told: str) -> str:
    """Return what stands for the id of a call or a turn that a service tells."""
    return _CALL + hash_of([span.sent.resource.get(semconv.SERVICE_NAME), told])


def _hash(span: NormalizedSpan, answer: Sequence[Message]) -> str:
    """Return what stands for the calls of an answer, '' where it has none or others may have the same."""
    calls = [part for message in answer for part in parts_of(message, "tool_call")]
    ids = {given_id(part.get("id") or "", part.get("name")) for part in calls}
    told_by = span.sent.resource.get(semconv.SERVICE_NAME)
    return hash_of([told_by, sorted(ids)]) if ids and all(map(is_unique, ids)) else ""


def agents_of(traces: Iterable[Telling]) -> dict[str, str]:
    """Return in which trace the answer of each is retold, among traces that are read together.

    It is the only one around it in time; of several requests with one answer the first belongs to it. What executed calls
    without a word lies in the time of what asked for them: around it, its requests would not be known as the same.
    """
    retelling: dict[str, list[Telling]] = {}
    giving: dict[str, list[Telling]] = {}
    for trace in traces:
        for answer in trace.retold:
            retelling.setdefault(answer, []).append(trace)
        for answer in trace.answers:
            giving.setdefault(answer, []).append(trace)
    found: dict[str, str] = {}
    taken: set[tuple[str, str]] = set()
    for answer in sorted(retelling.keys() & giving.keys()):
        if max(len(retelling[answer]), len(giving[answer])) > MOST_EQUAL:
            continue
        if answer.startswith(_CALL):
            for executing, asking in _only_pairs(retelling[answer], giving[answer]):
                found.setdefault(executing.trace_id, asking.trace_id)
            continue
        for trace in sorted(giving[answer], key=lambda trace: (trace.started_at, trace.trace_id)):
            around = {one.trace_id for one in retelling[answer] if _lies_in(trace, one)}
            if len(around) == 1 and trace.trace_id not in found:
                (agent,) = around
                if (agent, answer) not in taken:
                    found[trace.trace_id] = agent
                    taken.add((agent, answer))
    return found


def _only_pairs(inner: Sequence[Telling], outer: Sequence[Telling]) -> Iterator[tuple[Telling, Telling]]:
    """Yield the traces that lie in the time of just one other, in which no other of them lies."""
    around = [[each for each in outer if _lies_in(one, each)] for one in inner]
    times = Counter(each.trace_id for found in around for each in found)
    for one, found in zip(inner, around, strict=True):
        if len(found) == 1 and times[found[0].trace_id] == 1:
            yield one, found[0]


def _lies_in(inner: Telling, outer: Telling) -> bool:
    return outer.started_at <= inner.started_at and inner.ended_at <= outer.ended_at
