"""Raw rows as spans: variants settled, attribute values decoded, log records put beside the span they name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from retrospan.ingest.interpret.spans.deep_values import DeepTexts
from retrospan.ingest.interpret.spans.repeated_ids import shown_spans
from retrospan.ingest.interpret.spans.sent_as_logs import OwnRecord, attach, is_own
from retrospan.ingest.interpret.spans.span import Event, Link, LogRecord, Span
from retrospan.ingest.interpret.spans.told_beside import take_in_told, tells_act
from retrospan.ingest.json_text import bounded
from retrospan.ingest.load.attributes import value_of
from retrospan.schemas import semconv
from retrospan.schemas.raw import RawLog, RawSpan

Triples = Sequence[tuple[str, str, str]]

_STATUS = {1: "ok", 2: "error"}


def spans_of(raw_spans: Iterable[RawSpan], raw_logs: Iterable[RawLog]) -> list[Span]:
    """Return one span per identity, as `decode_spans` does."""
    return decode_spans(raw_spans, raw_logs)[0]


def decode_spans(
    raw_spans: Iterable[RawSpan], raw_logs: Iterable[RawLog], deep: DeepTexts | None = None
) -> tuple[list[Span], list[tuple[str, LogRecord]]]:
    """Return one span per identity, with its log records in their order, and what is left: log records by the id of a
    span that has not ended or is not known. Of several variants the last to arrive counts; those that began at another time
    may be another execution with the same ids, whose other spans are marked (`shown_spans`).

    Log records that tell acts of an agent complete the spans of these, or are spans of their own (`take_in_told`).
    Log records of our own conventions are events of their span. A span that only they name has begun and not ended, or has
    not come: it is among them. `deep` notes what SQL does not decode.
    """
    deep = deep or DeepTexts()
    shown = shown_spans(raw_spans)
    spans = {key: _span(raw, deep) for key, raw in shown.spans.items()}
    for key, others in shown.other_times.items():
        spans[key].other_times = others
    for key in shown.apart:
        spans[key].is_apart = True
    own: dict[tuple[str, str], list[OwnRecord]] = {}
    told: dict[str, list[OwnRecord]] = {}
    left: list[tuple[str, LogRecord]] = []
    for raw_log in raw_logs:
        key = (raw_log.trace_id, raw_log.span_id)
        log = log_record(raw_log, deep)
        if is_own(log.event):
            own.setdefault(key, []).append(_own(raw_log, log))
            continue
        if raw_log.trace_id and tells_act(log):
            told.setdefault(raw_log.trace_id, []).append(_own(raw_log, log))
        if key in spans:
            spans[key].logs.append(log)
        else:
            left.append((raw_log.span_id, log))
    for span in spans.values():
        span.logs.sort(key=lambda record: record.order)
    attach(spans, own)
    return [*spans.values(), *take_in_told([*spans.values()], told)], left


def decode(triples: Triples, deep: DeepTexts | None = None) -> dict[str, object]:
    """Return attributes by key, bytes as base64; of duplicates the last."""
    read = _read if deep is None else deep.read
    return {key: text if kind == "string" else read(kind, text) for key, kind, text in triples}


def _read(kind: str, text: str) -> object:
    return bounded(value_of(kind, text))


def _span(raw: RawSpan, deep: DeepTexts) -> Span:
    return Span(
        trace_id=raw.trace_id,
        span_id=raw.span_id,
        parent_span_id=raw.parent_span_id,
        name=raw.name,
        kind=raw.kind,
        flags=raw.flags,
        started_at=raw.started_ns,
        ended_at=raw.ended_ns,
        status=_STATUS.get(raw.status_code, "unset"),
        status_message=raw.status_message,
        scope=raw.scope_name,
        scope_version=raw.scope_version,
        attributes=decode(raw.attributes, deep),
        resource=decode(raw.resource_attributes),
        events=[
            Event(name=name, time_ns=time_ns, attributes=decode(triples))
            for time_ns, name, triples, _ in raw.events
        ],
        links=[Link(trace_id=link[0], span_id=link[1], attributes=decode(link[4])) for link in raw.links],
        dropped_attributes=raw.dropped_attributes,
        sequence=raw.sequence,
        arrived_at=raw.arrived_at,
        heard_sequence=raw.sequence,
        heard_at=raw.arrived_at,
    )


def log_record(raw: RawLog, deep: DeepTexts | None = None) -> LogRecord:
    """Return a log record as it was sent, under its event's name."""
    attributes = decode(raw.attributes, deep)
    named = attributes.get(semconv.EVENT_NAME)
    time_ns = raw.time_ns or raw.observed_ns
    return LogRecord(
        event=raw.event_name or (named if isinstance(named, str) else ""),
        time_ns=time_ns,
        body=(_read if deep is None else deep.read)(*raw.body),
        attributes=attributes,
        order=(time_ns, raw.observed_ns, f"{raw.content_hash:032x}"),
    )


def _own(raw: RawLog, log: LogRecord) -> OwnRecord:
    return OwnRecord(
        log=log,
        span_id=raw.span_id,
        resource=decode(raw.resource_attributes),
        scope=raw.scope_name,
        scope_version=raw.scope_version,
        sequence=raw.sequence,
        arrived_at=raw.arrived_at,
    )
