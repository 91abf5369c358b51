"""Requests and answers in log records on the span around the model calls: each record is assigned to its call.

Some programs send the bodies of a model API as log records of the span that was open when they began to work, and not of
the call. When a request was sent, and what the answer counts, tell which call it was; where two may be meant, none is.
Of a body whose end was cut off, what stands whole before the cut counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from retrospan.ingest.interpret.messages.provider_payloads import parse_request
from retrospan.ingest.interpret.messages.response_usage import parse_usage
from retrospan.ingest.interpret.normalize.cut_objects import whole_members
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.exchange import request_by_shape, response_by_shape
from retrospan.ingest.interpret.spans.span import MILLISECOND, Attributes, LogRecord, Span
from retrospan.ingest.json_text import write_json

#: Shorter texts are words, and the id of nothing.
_SHORTEST_ID = 8


@dataclass(frozen=True, slots=True)
class _Told:
    """A log record that holds a request or a response, that, and the record as it is read."""

    record: LogRecord
    body: object
    told: LogRecord


def handed_down(spans: Sequence[NormalizedSpan]) -> Iterator[tuple[int, Span]]:
    """Yield the places of spans whose log records are others than those that name them, each with its own records."""
    around = {
        (span.sent.trace_id, span.sent.span_id): place
        for place, span in enumerate(spans)
        if span.sent.logs and span.operation != "inference"
    }
    waiting: dict[int, list[int]] = defaultdict(list)
    for place, span in enumerate(spans if around else ()):
        above = around.get((span.sent.trace_id, span.sent.parent_span_id))
        if above is not None and span.operation == "inference" and not (span.input or span.output):
            waiting[above].append(place)
    for above, places in waiting.items():
        found = _given([spans[place] for place in places], spans[above])
        taken = {id(each.record) for told in found.values() for each in told}
        if taken:
            sent = spans[above].sent
            yield above, replace(sent, logs=[record for record in sent.logs if id(record) not in taken])
        for place in places:
            sent = spans[place].sent
            records = [each.told for each in found.get(id(spans[place]), ())]
            if records:
                yield place, replace(sent, logs=sorted([*sent.logs, *records], key=lambda one: one.order))


def _given(calls: Sequence[NormalizedSpan], around: NormalizedSpan) -> dict[int, list[_Told]]:
    """Return the records that tell what each call was asked, and what it answered, by the identity of its span."""
    names = {*around.names.tools, *around.names.call_ids}
    # What names a tool tells what that was given or returned, whatever it looks like.
    records = [record for record in around.sent.logs if names.isdisjoint(record.attributes)]
    requests: dict[int, list[_Told]] = defaultdict(list)
    answers: dict[int, list[_Told]] = defaultdict(list)
    linked = _linked(records)
    for record in records:
        told = replace(record, attributes={name: _uncut(value) for name, value in record.attributes.items()})
        fields = _fields(told)
        request, response = request_by_shape(fields), response_by_shape(fields)
        if isinstance(request, dict) and request.get("model"):
            asked = [call for call in _at(calls, record, 0) if _asked(call, request)]
            if len(asked) == 1:
                requests[id(asked[0])].append(_Told(record, request, told))
        elif isinstance(response, dict):
            places = [call for other in linked.get(id(record), ()) for call in _at(calls, other, 0)]
            places = places or _at(calls, record, MILLISECOND)
            if len({*map(id, places)}) == 1 and _answered(places[0], response):
                answers[id(places[0])].append(_Told(record, response, told))
    found: dict[int, list[_Told]] = defaultdict(list)
    for each in (requests, answers):
        for call, told_of in each.items():
            if all(one.body == told_of[0].body for one in told_of):
                found[call].append(told_of[-1])
    return found


def _uncut(value: object) -> object:
    """Return a value, of an object whose end was cut off what stands whole before the cut."""
    whole = whole_members(value) if isinstance(value, str) else None
    return value if whole is None else write_json(whole)


def _fields(record: LogRecord) -> Attributes:
    return {**({"body": record.body} if record.body else {}), **record.attributes}


def _at(calls: Sequence[NormalizedSpan], record: LogRecord, late: int) -> list[NormalizedSpan]:
    """Return the calls that were going on when a record was written; some clocks count whole milliseconds, and round down."""
    return [
        call
        for call in calls
        if call.sent.started_at - call.sent.started_at % MILLISECOND
        <= record.time_ns
        <= call.sent.until + late
    ]


def _asked(call: NormalizedSpan, request: dict[str, object]) -> bool:
    """Tell whether a request may be that of a call: it asks for the same model, and says something."""
    return call.request_model in (None, request["model"]) and bool(parse_request(request).messages)


def _answered(call: NormalizedSpan, response: dict[str, object]) -> bool:
    """Tell whether a response is that of a call, as far as the call says its model and its tokens: one of them it must."""
    said = parse_usage(response)
    both = ((said.model, call.response_model), (said.output, call.tokens.output))
    known = [one == other for one, other in both if one is not None and other is not None]
    return bool(known) and all(known) and not call.failed


def _linked(records: Sequence[LogRecord]) -> Mapping[int, list[LogRecord]]:
    """Return the records of other events with which each shares an id that no third one has, by the record's identity."""
    having: dict[str, list[LogRecord]] = defaultdict(list)
    for record in records:
        for value in {text for text in record.attributes.values() if isinstance(text, str)}:
            if len(value) >= _SHORTEST_ID:
                having[value].append(record)
    found: dict[int, list[LogRecord]] = defaultdict(list)
    for pair in having.values():
        if len(pair) == 2 and pair[0].event != pair[1].event:
            found[id(pair[0])].append(pair[1])
            found[id(pair[1])].append(pair[0])
    return found
