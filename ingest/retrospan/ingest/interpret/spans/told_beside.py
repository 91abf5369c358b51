"""What log records tell beside the spans of a trace: what spans leave out, and acts that no span tells.

An agent that sends spans of what it does sends log records as well. Some say more: what was asked and answered, what a tool
was given and returned. A record leads to its span by the id of the request or of the call: the span that it names is that of
the agent, which was current. An agent that was started inside of another program's span names that in each record and may
send no span of its own: then it tells its acts by them alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from retrospan.ingest.interpret.spans.sent_as_logs import OwnRecord
from retrospan.ingest.interpret.spans.span import LogRecord, Span
from retrospan.ingest.interpret.spans.told_acts import Acts, names_in, order_of, read_acts, text_of
from retrospan.ingest.interpret.spans.told_spans import (
    answer_told,
    execution_told,
    spans_of_acts,
    words_told,
)
from retrospan.ingest.interpret.spans.told_words import text_in
from retrospan.schemas import attributes as conventions
from retrospan.schemas import prompt_records as words
from retrospan.schemas import semconv

_REQUEST_IDS = (*words.REQUEST_IDS, semconv.RESPONSE_ID)
_CALL_IDS = (semconv.TOOL_CALL_ID, *words.CALL_IDS)


def tells_act(log: LogRecord) -> bool:
    """Tell whether a log record tells an act of an agent."""
    return bool(words.act_of(*names_in(log)))


def take_in_told(spans: Iterable[Span], told: Mapping[str, Sequence[OwnRecord]]) -> list[Span]:
    """Give spans what the records of acts in their traces (by trace id) say of them, in place; return those that no span
    tells."""
    if not told:
        return []
    sent: dict[str, list[Span]] = {}
    for span in spans:
        sent.setdefault(span.trace_id, []).append(span)
    return [
        span
        for trace_id, records in told.items()
        for span in _of_trace(trace_id, sent.get(trace_id, []), records)
    ]


def _of_trace(trace_id: str, spans: Sequence[Span], records: Sequence[OwnRecord]) -> list[Span]:
    requests, calls = _by_id(spans, _REQUEST_IDS), _by_id(spans, _CALL_IDS)
    named = {span.span_id: span for span in spans}
    alone: list[Span] = []
    for of_prompt in _by_prompt(records):
        ordered = sorted(of_prompt, key=order_of)
        acts = read_acts(ordered)
        if _is_told(acts, requests, calls):
            _complete(acts, requests, calls, named)
        elif _is_alone(ordered, acts):
            alone += spans_of_acts(trace_id, ordered, acts)
    return alone


def _is_told(acts: Acts, requests: Mapping[str, object], calls: Mapping[str, object]) -> bool:
    """Tell whether spans tell any of these acts."""
    asked = {text_of(request.record, words.REQUEST_IDS) for request in acts.requests}
    return not asked.isdisjoint(requests) or not acts.executions.keys().isdisjoint(calls)


def _is_alone(records: Sequence[OwnRecord], acts: Acts) -> bool:
    """Tell whether no span could tell these acts: their trace was made of them; or requests have ids, and no span has one."""
    return any(conventions.TRACE_MADE_OF in record.log.attributes for record in records) or any(
        text_of(request.record, words.REQUEST_IDS) for request in acts.requests
    )


def _complete(
    acts: Acts,
    requests: Mapping[str, Sequence[Span]],
    calls: Mapping[str, Sequence[Span]],
    named: Mapping[str, Span],
) -> None:
    if acts.prompts and (agent := named.get(acts.prompts[-1].span_id)) is not None:
        _fill(agent, words_told(acts))
    for request in acts.requests:
        for span in requests.get(text_of(request.record, words.REQUEST_IDS), ())[:1]:
            _fill(span, answer_told(request))
    for call_id, record in acts.executions.items():
        own = [span for span in calls.get(call_id, ()) if semconv.OPERATION_NAME in span.attributes]
        for span in own[:1]:
            _fill(span, execution_told(call_id, record))


def _fill(span: Span, said: Mapping[str, object]) -> None:
    """Give a span what it does not say itself, in place."""
    lacking = {key: value for key, value in said.items() if key not in span.attributes}
    if lacking:
        span.attributes = {**span.attributes, **lacking}


def _by_prompt(records: Iterable[OwnRecord]) -> list[list[OwnRecord]]:
    found: dict[tuple[str, str], list[OwnRecord]] = {}
    for record in records:
        key = text_of(record, words.SESSIONS), text_of(record, words.PROMPTS)
        found.setdefault(key, []).append(record)
    return [*found.values()]


def _by_id(spans: Iterable[Span], names: Sequence[str]) -> dict[str, list[Span]]:
    """Return spans by the id that they have under one of these names, those that began first before others."""
    found: dict[str, list[Span]] = {}
    for span in sorted(spans, key=lambda span: span.order):
        if (value := text_in(span.attributes, names)) is not None:
            found.setdefault(value, []).append(span)
    return found
