"""What is said of a span under an event name, each fact once: as a span event, as a log record, or as both.

OpenTelemetry moves events from spans to log records, and an instrumentation may send both. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from retrospan.ingest.interpret.spans.span import Attributes, Event, LogRecord, Span
from retrospan.ingest.json_text import write_json
from retrospan.schemas.attributes import EVENT_ID, RUN_ID
from retrospan.schemas.semconv import EVENT_NAME, EXCEPTION_MESSAGE, EXCEPTION_STACKTRACE, EXCEPTION_TYPE

#: The exceptions that end an operation, under the general name and under that of the GenAI conventions.
EXCEPTIONS = ("exception", "gen_ai.client.operation.exception")
_OF_EXCEPTIONS = (EXCEPTION_TYPE, EXCEPTION_MESSAGE)
#: What says nothing of the fact: only one form of it may have that.
_OF_THE_RECORD = frozenset((EVENT_ID, RUN_ID, EVENT_NAME))
#: A frame of a stack trace in Python, of which the last is where it was raised; whose code that is.
_FRAME = re.compile(r'File "([^"\n]+)", line \d+')
_OF_INSTRUMENTATIONS = re.compile(r"-packages[/\\](?:.*[/\\])?(?:\w+_)?instrumentation[/\\]")
EVALUATION_RESULT = "gen_ai.evaluation.result"
#: What instrumentations write in the place of content that they must not send.
TAKEN_OUT = ("<REDACTED>", "[REDACTED]", "__REDACTED__")


def facts_named(span: Span, names: Collection[str]) -> list[Event]:
    """Return the events and log records of a span that have one of the names, by time, then by what they say.

    Equal ones of one time are one fact. Of equal ones that were sent as events and as log records there are as many
    facts as of the form with more of them: each way has a clock of its own, and both tell of the same.
    """
    return facts_of(span.events, span.logs, names) if span.logs or span.events else []


def facts_of(events: Sequence[Event], logs: Sequence[LogRecord], names: Collection[str]) -> list[Event]:
    """Return the facts of some events and log records, as `facts_named` does."""
    by_event = _by_content(events, names)
    by_record = _by_content(map(_event, (record for record in logs if record.event in names)), names)
    facts: list[tuple[int, str, Event]] = []
    for content in by_event.keys() | by_record.keys():
        told, sent = by_event.get(content, {}), by_record.get(content, {})
        more = told if len(told) >= len(sent) else sent
        facts += ((at, content, more[at]) for at in more)
    return [event for _, _, event in sorted(facts, key=lambda fact: fact[:2])]


def last_exception(span: Span) -> Attributes:
    """Return what is said of the last exception of a span; empty where there is none.

    What its last event leaves out stands in an earlier one of the same type or message: one form may say less.
    """
    said: dict[str, object] = {}
    for event in reversed(facts_named(span, EXCEPTIONS)):
        known = (said[key] == event.attributes.get(key) for key in _OF_EXCEPTIONS if said.get(key))
        if not said or any(known):
            said = {**event.attributes, **said}
    return said


def raised_in_instrumentation(exception: Attributes) -> bool:
    """Tell whether the last frame of an exception's stack trace is in an instrumentation that was installed: it is not the
    request's, or the tool's, but one of what tells of it."""
    trace = exception.get(EXCEPTION_STACKTRACE)
    if not isinstance(trace, str) or "instrumentation" not in trace:
        return False
    frames = _FRAME.findall(trace)
    return bool(frames) and _OF_INSTRUMENTATIONS.search(frames[-1]) is not None


def names_any(span: Span, names: Collection[str]) -> bool:
    """Tell whether a span has an event or a log record of one of the names."""
    return any(event.name in names for event in span.events) or any(
        record.event in names for record in span.logs
    )


def places_named(span: Span, name: str) -> Iterator[Attributes]:
    """Yield the attributes of the events and log records of a name, one by one and as often as they were sent."""
    yield from (event.attributes for event in span.events if event.name == name)
    yield from (record.attributes for record in span.logs if record.event == name)


def _event(record: LogRecord) -> Event:
    """Return a log record as the event that it is; older producers put the attributes of one into its body."""
    inside = record.body if isinstance(record.body, dict) else {}
    return Event(name=record.event, time_ns=record.time_ns, attributes={**inside, **record.attributes})


def _by_content(
    events: Sequence[Event] | Iterator[Event], names: Collection[str]
) -> dict[str, dict[int, Event]]:
    """Return the events by what they say, then by their time."""
    found: dict[str, dict[int, Event]] = {}
    for event in events:
        if event.name in names:
            told = {key: value for key, value in event.attributes.items() if key not in _OF_THE_RECORD}
            said = write_json([event.name, dict(sorted(told.items()))])
            found.setdefault(said, {})[event.time_ns] = event
    return found
