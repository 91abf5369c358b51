"""Log records of no trace, beside the model calls whose answers they may tell.

Some programs write the record of an answer when the span around the request is no longer current: the record names the
conversation, and no span. What it is about shows only beside what the span says; here it is found by its id and time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from retrospan.ingest.interpret.spans.span import MILLISECOND, Attributes, LogRecord, Span
from retrospan.ingest.interpret.spans.vocabulary import Vocabulary

#: Shorter texts are words, and the id of nothing.
SHORTEST_ID = 8
#: So many records beside one call are told apart; of more none is given to it.
MOST_BESIDE = 50
#: A call that took longer is looked for in no record: an hour, in nanoseconds.
LONGEST = 3_600 * 10**9
_MINUTE = 60 * 10**9


@dataclass(frozen=True, slots=True)
class Awaiting:
    """A model call of a conversation, whose answer may be told in a record of no trace."""

    span: Span
    conversation: str

    @property
    def minutes(self) -> range:
        """The minutes since 1970 in which it may have been answered."""
        return range(_floored(self.span.started_at) // _MINUTE, _ceiled(self.span.ended_at) // _MINUTE + 1)


def awaiting(spans: Iterable[Span], names: Vocabulary) -> list[Awaiting]:
    """Return the model calls whose answer may be told in a record of no trace: log records tell of the call, and neither
    they nor the span name the model that answered. The longest are left out."""
    return [
        Awaiting(span, conversation)
        for span in spans
        if span.logs and span.ended_at and _lacks_answerer(span, names)
        if (conversation := _conversation(span, names.conversations)) is not None
        if 0 <= span.ended_at - span.started_at <= LONGEST
    ]


def place_strays(calls: Sequence[Awaiting], records: Iterable[LogRecord], names: Vocabulary) -> None:
    """Give each call the records of no trace that name its conversation and the model that answered, and that were written
    while it lasted, in place."""
    telling = [record for record in records if _names_any(record.attributes, names.response_models)]
    named = [(record, _texts(record)) for record in telling] if calls else []
    for call in calls:
        span = call.span
        beside = [
            record
            for record, texts in named
            if call.conversation in texts
            and _floored(span.started_at) <= record.time_ns <= _ceiled(span.ended_at)
        ]
        span.strays = sorted(beside, key=lambda record: record.order) if len(beside) <= MOST_BESIDE else []


def _lacks_answerer(span: Span, names: Vocabulary) -> bool:
    if not _names_any(span.attributes, names.request_models):
        return False
    places = (span.attributes, *(record.attributes for record in span.logs))
    return not any(_names_any(said, names.response_models) for said in places)


def _names_any(said: Attributes, names: Iterable[str]) -> bool:
    return any(name in said for name in names)


def _conversation(span: Span, names: Iterable[str]) -> str | None:
    said = (span.attributes.get(name) for name in names)
    return next((each for each in said if isinstance(each, str) and len(each) >= SHORTEST_ID), None)


def _texts(record: LogRecord) -> AbstractSet[str]:
    return {value for value in record.attributes.values() if isinstance(value, str)}


def _floored(time_ns: int) -> int:
    """Return the millisecond that a time lies in: some clocks count no less, and round down."""
    return time_ns - time_ns % MILLISECOND


def _ceiled(time_ns: int) -> int:
    return time_ns + MILLISECOND
