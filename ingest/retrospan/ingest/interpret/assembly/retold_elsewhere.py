"""Requests in traces of their own, which the trace of their agent retells: its spans tell no request, but a transcript.

Where the client is instrumented apart from the agent, nothing names the one in the other. What the transcript retells of an
answer says which request gave it: the ids of its calls, if no others have them; of an answer without calls, what was asked
and what was answered. The request lies in the time of the agent, and both are of one service. Short texts say too little: others say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from retrospan.ingest.interpret.assembly.equal_histories import MOST_EQUAL
from retrospan.ingest.interpret.assembly.kept_transcripts import kept_lists
from retrospan.ingest.interpret.normalize.message import Message, parts_of, text_of
from retrospan.ingest.interpret.normalize.messages import read_messages
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.qualified_ids import given_id, is_unique
from retrospan.schemas import semconv
from retrospan.schemas.hashing import hash_of

_AROUND = ("agent", "workflow")
#: Question and answer together have so many characters at least, where they stand for an answer.
_LONG = 100
#: Of a transcript so many answers are looked for at most: requests that go on from them are found by what they retell.
_MOST_ANSWERS = 64


class Telling(Protocol):
    """What is asked of a trace here: its times, the answers that it gave, and those that it retells."""

    trace_id: str
    started_at: int
    ended_at: int
    answers: tuple[str, ...]
    retold: tuple[str, ...]


def answers_of(spans: Sequence[NormalizedSpan], calls: Sequence[NormalizedSpan]) -> tuple[str, ...]:
    """Return hashes of the answers that the requests of a trace gave, which has nothing around them."""
    if any(span.operation in _AROUND for span in spans):
        return ()
    found = {_hash(span, span.input, span.output) for span in calls if span.output and not span.failed}
    return tuple(sorted(filter(None, found)))


def retold_by(spans: Sequence[NormalizedSpan]) -> tuple[str, ...]:
    """Return hashes of the answers that the transcripts of a trace retell, which tells no request itself."""
    found: dict[str, None] = {}
    for span in spans:
        if span.operation in _AROUND:
            for listed in kept_lists(span):
                said = [message for kept in listed for message in read_messages(kept)]
                found.update(dict.fromkeys(islice(_retold(span, said), _MOST_ANSWERS)))
    return tuple(islice(found, _MOST_ANSWERS))


def _retold(span: NormalizedSpan, said: Sequence[Message]) -> Iterator[str]:
    for at, message in enumerate(said):
        if message["role"] == "assistant" and (found := _hash(span, said[:at], [message])):
            yield found


def _hash(span: NormalizedSpan, asked: Sequence[Message], answer: Sequence[Message]) -> str:
    """Return what stands for an answer, '' where others may have the same."""
    service = span.sent.resource.get(semconv.SERVICE_NAME)
    calls = [part for message in answer for part in parts_of(message, "tool_call")]
    if calls:
        ids = {given_id(part.get("id") or "", part.get("name")) for part in calls}
        return hash_of(["calls", service, sorted(ids)]) if all(map(is_unique, ids)) else ""
    # What follows the results of tools is found by what its request retells.
    if not asked or asked[-1]["role"] != "user":
        return ""
    question, text = text_of(asked[-1]).strip(), "".join(map(text_of, answer)).strip()
    is_long = question and text and len(question) + len(text) >= _LONG
    return hash_of(["texts", service, question, text]) if is_long else ""


def agents_of(traces: Iterable[Telling]) -> dict[str, str]:
    """Return in which trace the answer of each is retold, among traces that are read together.

    It is the only one around it in time; of several requests with one answer the first belongs to it.
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
        for trace in sorted(giving[answer], key=lambda trace: (trace.started_at, trace.trace_id)):
            around = {
                one.trace_id
                for one in retelling[answer]
                if one.started_at <= trace.started_at and trace.ended_at <= one.ended_at
            }
            if len(around) == 1 and trace.trace_id not in found:
                (agent,) = around
                if (agent, answer) not in taken:
                    found[trace.trace_id] = agent
                    taken.add((agent, answer))
    return found
