"""What our conventions say in log records: events of a span that is still open, and that a span has begun.

An event may come with its span, as a log record, or both, and more than once: it is one event, whichever comes. What a
record says is read the same in any order of arrival.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from retrospan.ingest.interpret.spans.span import (
    HAS_IS_REMOTE,
    IS_REMOTE,
    Attributes,
    Event,
    Link,
    LogRecord,
    Span,
    Unread,
)
from retrospan.ingest.json_text import read_json, write_json
from retrospan.schemas import attributes as conventions
from retrospan.schemas import semconv
from retrospan.schemas.hashing import hash_of

#: Events whose attributes are those of their span.
FILLING = (conventions.EFFECT_EVENT, conventions.OUTPUT_EVENT, conventions.STATE_EVENT)
#: Of processes, not of spans.
OF_PROCESSES = (conventions.ALIVE, conventions.KILLED)
#: What an event has that its span has not: the same event in another form may lack it.
_OF_THE_RECORD = frozenset((conventions.EVENT_ID, conventions.RUN_ID, semconv.EVENT_NAME))
_OF_BEGUN = frozenset(
    (
        conventions.BEGUN_NAME,
        conventions.BEGUN_KIND,
        conventions.BEGUN_PARENT,
        conventions.BEGUN_REMOTE,
        conventions.BEGUN_LINKS,
        conventions.PROCESS_ID,
        conventions.EVENT_ID,
        semconv.PROCESS_PID,
        semconv.EVENT_NAME,
    )
)
_SPAN_ID = re.compile(r"[0-9a-f]{16}")
_TRACE_ID = re.compile(r"[0-9a-f]{32}")
#: After all events that have a place among those of their span.
_NO_PLACE = 1 << 62


@dataclass(slots=True, kw_only=True)
class OwnRecord:
    """A log record of our conventions, or one that tells an act, with what a span can be made of. `span_id` is '' of none."""

    log: LogRecord
    span_id: str = ""
    resource: Attributes
    scope: str
    scope_version: str
    sequence: int
    arrived_at: int


def is_own(name: str) -> bool:
    """Tell whether an event of that name is one of the conventions."""
    return name.startswith(conventions.CONVENTIONS)


def attach(spans: dict[tuple[str, str], Span], own: Mapping[tuple[str, str], Sequence[OwnRecord]]) -> None:
    """Give spans (by trace and span id) what the log records of our conventions say of them, in place.

    Spans that only records name are added.
    """
    for key, records in own.items():
        if key not in spans:
            found = _open_span(*key, records)
            if found is not None:
                spans[key] = found
    for key, span in spans.items():
        _take_in(span, own.get(key, ()))


def _open_span(trace_id: str, span_id: str, records: Sequence[OwnRecord]) -> Span | None:
    """Return the span that began and of which no end came, or which events alone name; None where no record is of a span.

    Where it is said twice to have begun, the earlier beginning counts.
    """
    of_span = [record for record in records if record.log.event not in OF_PROCESSES]
    if not of_span:
        return None
    begun = [record for record in of_span if record.log.event == conventions.BEGUN]
    first = min(begun or of_span, key=lambda record: record.log.order)
    span = Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id="",
        name="",
        kind=0,
        flags=0,
        started_at=first.log.time_ns,
        ended_at=0,
        status="unset",
        status_message="",
        scope=first.scope,
        scope_version=first.scope_version,
        attributes={},
        resource=first.resource,
        sequence=first.sequence,
        arrived_at=first.arrived_at,
        is_open=bool(begun),
        is_placeholder=not begun,
    )
    if begun:
        _read_begun(span, first.log.attributes)
    else:
        run_ids = (record.log.attributes.get(conventions.RUN_ID) for record in _ordered(of_span))
        named = next((run_id for run_id in run_ids if isinstance(run_id, str) and run_id), None)
        if named is not None:
            span.attributes = {conventions.RUN_ID: named}
    return span


def _read_begun(span: Span, said: Attributes) -> None:
    """Give a span what is known of it since it began; what cannot be read is noted."""
    span.attributes = {key: value for key, value in said.items() if key not in _OF_BEGUN}
    name, kind, parent = (
        said.get(conventions.BEGUN_NAME),
        said.get(conventions.BEGUN_KIND, 0),
        said.get(conventions.BEGUN_PARENT, ""),
    )
    if isinstance(name, str):
        span.name = name
    else:
        _refuse(
            span, conventions.BEGUN_NAME, name, f"missing in the event {conventions.BEGUN}, or not a text"
        )
    if isinstance(kind, int) and not isinstance(kind, bool):
        span.kind = kind
    else:
        _refuse(span, conventions.BEGUN_KIND, kind, "not a whole number")
    if isinstance(parent, str) and (not parent or _SPAN_ID.fullmatch(parent.lower())):
        span.parent_span_id = parent.lower()
    else:
        _refuse(span, conventions.BEGUN_PARENT, parent, "not the 16 hex digits of a span id")
    remote = said.get(conventions.BEGUN_REMOTE)
    if isinstance(remote, bool):
        span.flags = HAS_IS_REMOTE | (IS_REMOTE if remote else 0)
    elif remote is not None:
        _refuse(span, conventions.BEGUN_REMOTE, remote, "not a bool")
    process = said.get(conventions.PROCESS_ID)
    if isinstance(process, str):
        span.process_id = process.lower()
    elif process is not None:
        _refuse(span, conventions.PROCESS_ID, process, "not a text")
    if conventions.BEGUN_LINKS in said:
        span.links = _links(span, said[conventions.BEGUN_LINKS])


def _links(span: Span, said: object) -> list[Link]:
    listed = read_json(said) if isinstance(said, str) else said
    found: list[Link] = []
    for each in listed if isinstance(listed, list) else [None]:
        link = _link(each)
        if link is None:
            _refuse(
                span,
                conventions.BEGUN_LINKS,
                said,
                "not a JSON array of links, each with trace_id and span_id",
            )
            break
        found.append(link)
    return found


def _link(said: object) -> Link | None:
    if not isinstance(said, dict):
        return None
    trace_id, span_id, attributes = said.get("trace_id"), said.get("span_id"), said.get("attributes", {})
    if not (
        isinstance(trace_id, str)
        and isinstance(span_id, str)
        and isinstance(attributes, dict)
        and _TRACE_ID.fullmatch(trace_id.lower())
        and _SPAN_ID.fullmatch(span_id.lower())
    ):
        return None
    return Link(trace_id=trace_id.lower(), span_id=span_id.lower(), attributes=attributes)


def _take_in(span: Span, records: Sequence[OwnRecord]) -> None:
    """Give a span its events in their order, each once, and the attributes that events say, in place.

    Events of other conventions stay before them, as they were sent. What a span that ended says itself counts before what
    its events say; a span that never ended is what was said of it last.
    """
    for record in records:
        if record.sequence > span.heard_sequence:
            span.heard_sequence, span.heard_at = record.sequence, record.arrived_at
    others = [event for event in span.events if not is_own(event.name)]
    own = _once(span, records) if records or len(others) != len(span.events) else []
    filled: dict[str, object] = {}
    events = list(others)
    for event in own:
        if event.name in FILLING:
            span.filled_at = max(span.filled_at, event.time_ns)
            filled.update(
                {key: value for key, value in event.attributes.items() if key not in _OF_THE_RECORD}
            )
        else:
            events.append(event)
    span.events = events
    if filled:
        span.attributes = (
            {**span.attributes, **filled} if span.is_unfinished else {**filled, **span.attributes}
        )


def _once(span: Span, records: Iterable[OwnRecord]) -> list[Event]:
    """Return the events of the conventions that a span and its log records hold, each once, in their order."""
    kept: dict[str, Event] = {}
    places: dict[str, int] = {}
    for record in _ordered(records):
        log = record.log
        if log.event == conventions.BEGUN or log.event in OF_PROCESSES:
            continue
        event_id = _event_id(log.attributes)
        identity = (
            _named(span, event_id)
            if event_id
            else hash_of([span.trace_id, span.span_id, log.event, log.time_ns, log.attributes])
        )
        event = Event(
            name=log.event,
            time_ns=log.time_ns,
            attributes=log.attributes,
            identity=identity,
            arrived_at=record.arrived_at,
        )
        _keep(span, kept, event)
    for index, event in enumerate(span.events):
        if not is_own(event.name):
            continue
        event_id = _event_id(event.attributes)
        identity = _named(span, event_id) if event_id else hash_of([span.trace_id, span.span_id, index])
        if not event_id:
            places[identity] = index
        _keep(span, kept, replace(event, identity=identity, arrived_at=span.arrived_at))
    return sorted(
        kept.values(),
        key=lambda event: (event.time_ns, places.get(event.identity, _NO_PLACE), event.identity),
    )


def _keep(span: Span, kept: dict[str, Event], event: Event) -> None:
    """Keep an event unless it is there: the first of them counts, with the earliest arrival."""
    held = kept.setdefault(event.identity, event)
    if held is event:
        return
    held.arrived_at = min(held.arrived_at, event.arrived_at)
    if _content(held) != _content(event):
        _refuse(
            span,
            conventions.EVENT_ID,
            event.attributes.get(conventions.EVENT_ID),
            f"the same id was sent with different content: that of one {event.name} is left out",
        )


def _content(event: Event) -> str:
    said = {
        key: value
        for key, value in event.attributes.items()
        # What was taken out is noted once for all of a span, and for each log record.
        if key not in _OF_THE_RECORD and key != conventions.REDACTED
    }
    return hash_of([event.name, said])


def _named(span: Span, event_id: str) -> str:
    return hash_of([span.trace_id, span.span_id, conventions.EVENT_ID, event_id])


def _event_id(attributes: Attributes) -> str:
    said = attributes.get(conventions.EVENT_ID)
    return said.lower() if isinstance(said, str) else ""


def _ordered(records: Iterable[OwnRecord]) -> list[OwnRecord]:
    """Return records by time, then by what they hold: never by their arrival."""
    return sorted(records, key=lambda record: record.log.order)


def _refuse(span: Span, field: str, raw: object, reason: str) -> None:
    found = Unread(field, raw if isinstance(raw, str) else write_json(raw), reason)
    if found not in span.unread:
        span.unread.append(found)
