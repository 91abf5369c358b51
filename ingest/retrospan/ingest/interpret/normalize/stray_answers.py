"""Answers in log records without a trace: each is assigned to the only model call that it can belong to.

A record names the conversation of the call and was written while it lasted. It tells of its answer where it also counts
what the call counts, or says what the call answered, and contradicts nothing. Where two calls may be meant, none is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.messages.message_cache import PrefixCache
from retrospan.ingest.interpret.normalize.general import read_span
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import LogRecord, Span
from retrospan.ingest.json_text import write_json


def told_by_strays(spans: Sequence[NormalizedSpan]) -> Iterator[tuple[int, Span]]:
    """Yield the places of model calls whose answer records of no trace tell, each with these among its own."""
    found: dict[int, list[LogRecord]] = {}
    times: dict[int, int] = {}
    for place, span in enumerate(spans):
        if span.sent.strays and span.operation == "inference" and not span.failed:
            found[place] = [record for record in span.sent.strays if _tells(record, span)]
            for record in found[place]:
                times[id(record)] = times.get(id(record), 0) + 1
    for place, records in found.items():
        own = [record for record in records if times[id(record)] == 1]
        told = [_alone(record, spans[place]) for record in own]
        if own and all(len({*filter(None, said)}) <= 1 for said in zip(*map(_answerer, told), strict=True)):
            sent = spans[place].sent
            logs = sorted([*sent.logs, *own], key=lambda record: record.order)
            yield place, replace(sent, logs=logs, strays=[])


def _tells(record: LogRecord, call: NormalizedSpan) -> bool:
    """Tell whether a record is about the answer of a call."""
    told = _alone(record, call)
    if not any(_answerer(told)):
        return False
    counts = [
        (told.tokens.input, call.tokens.input),
        (told.tokens.output, call.tokens.output),
        (_said(told.output), _said(call.output)),
    ]
    both = [one == other for one, other in counts if one not in (None, "") and other not in (None, "")]
    same_model = told.request_model in (None, call.request_model)
    return same_model and bool(both) and all(both)


def _alone(record: LogRecord, call: NormalizedSpan) -> NormalizedSpan:
    """Return what a record says by itself, read as of a call like this one."""
    bare = replace(call.sent, attributes={}, events=[], logs=[record], loose=[], strays=[], status="unset")
    return read_span(bare, ParseIssues(), PrefixCache(), call.names, call.operation)


def _answerer(told: NormalizedSpan) -> tuple[str | None, str | None]:
    return (told.response_model, told.response_id)


def _said(messages: Sequence[Message]) -> str:
    """Return what an answer says and asks for, whatever the ids of its calls; '' for nothing."""
    parts = [part for message in messages for part in message["parts"]]
    said = [
        [part.get("name"), part.get("arguments")] if part["type"] == "tool_call" else part.get("content")
        for part in parts
        if part["type"] in ("text", "tool_call")
    ]
    return write_json(said) if said else ""
