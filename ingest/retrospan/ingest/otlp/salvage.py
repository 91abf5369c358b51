"""Salvage: a request with a bad span or log record keeps its good ones.

A request is first read as a whole, piece by piece. If anything in it is invalid, each member is read by itself, and
those that cannot be parsed, have invalid ids or hold too much are removed. The rest keeps its bytes exactly.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import DecodeError

from retrospan.ingest.otlp import lenient
from retrospan.ingest.otlp.pieces import MOST_IN_MEMBER, Tally, fields, pieces, run_bytes, runs
from retrospan.schemas.errors import TooManyParts
from retrospan.schemas.wire import DELIMITED, varint

TRACE_ID_BYTES = 16
SPAN_ID_BYTES = 8
NO_TRACE_ID = bytes(TRACE_ID_BYTES)
NO_SPAN_ID = bytes(SPAN_ID_BYTES)
#: How many reasons one request can be told; a hostile one could think of many.
_REASONS = 16
#: The numbers of the fields, which are the same for traces and logs: of a request; of its groups and their scopes.
_GROUP, _HEADER, _MEMBERS = 1, 1, 2
#: An attribute takes about as many bytes at least; members with more of them are counted one by one.
_USUAL_BYTES = 20
_SAMPLE = 4096


@dataclass(slots=True)
class Faults:
    """The members removed from a request: per reason, how many and the first one's bytes."""

    counts: dict[str, int] = field(default_factory=dict)
    samples: dict[str, bytes] = field(default_factory=dict)

    def add(self, reason: str, sample: bytes, members: int = 1) -> None:
        if len(self.counts) >= _REASONS and reason not in self.counts:
            reason = "for other reasons"
        self.counts[reason] = self.counts.get(reason, 0) + members
        self.samples.setdefault(reason, sample)

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The rest of a request: its bytes ('' if nothing is left), how many members, and what was removed.

    `warning` says what a request holds that has nothing of what is collected; '' for an empty one.
    """

    body: bytes
    kept: int
    faults: Faults
    warning: str = ""


def span_fault(span: lenient.LenientSpan) -> str:
    """Return why a span's ids cannot stand; '' if they can."""
    if len(span.trace_id) != TRACE_ID_BYTES:
        return f"trace id has {len(span.trace_id)} bytes, not {TRACE_ID_BYTES}"
    if len(span.span_id) != SPAN_ID_BYTES:
        return f"span id has {len(span.span_id)} bytes, not {SPAN_ID_BYTES}"
    if span.trace_id == NO_TRACE_ID:
        return "trace id is all zero"
    return "span id is all zero" if span.span_id == NO_SPAN_ID else ""


def log_fault(record: lenient.LenientSpan) -> str:
    """Return why a log record's ids cannot stand; '' if they can. A record outside any trace has none, or zeros."""
    if len(record.trace_id) not in (0, TRACE_ID_BYTES):
        return f"trace id has {len(record.trace_id)} bytes, not {TRACE_ID_BYTES} or none"
    if len(record.span_id) not in (0, SPAN_ID_BYTES):
        return f"span id has {len(record.span_id)} bytes, not {SPAN_ID_BYTES} or none"
    return ""


def _span_parts(span: Any) -> int:
    return len(span.attributes) + len(span.events) + len(span.links)


def _log_parts(record: Any) -> int:
    return len(record.attributes)


@dataclass(frozen=True, slots=True)
class Shape:
    """A request of one signal: what its scopes hold, and how a member is judged."""

    noun: str
    scope: Any
    members: str
    member: Any
    fault: Callable[[Any], str]
    parts: Callable[[Any], int]


TRACES = Shape("span", lenient.ScopeSpans, "spans", lenient.Span, span_fault, _span_parts)
LOGS = Shape("log record", lenient.ScopeLogs, "log_records", lenient.LogRecord, log_fault, _log_parts)


def count(body: bytes, shape: Shape) -> int | None:
    """Return the members of a request; None when one of them, or what they share, cannot stand.

    Raises:
        TooManyParts: it has more elements than a request may have.
    """
    most = run_bytes(len(body))
    tally = Tally()
    found = 0
    try:
        for number, _, start, end in fields(body, 0, len(body), tally):
            if number != _GROUP:
                continue
            tally.take_group()
            for inner, _, at, stop in fields(body, start, end, tally):
                if inner == _HEADER:
                    _read_all(lenient.Resource, body, at, stop, most, tally)
                elif inner == _MEMBERS:
                    tally.take_group()
                    members = _count_scope(body, at, stop, shape, most, tally)
                    if members is None:
                        return None
                    found += members
    except DecodeError:
        return None
    return found


def _count_scope(body: bytes, start: int, end: int, shape: Shape, most: int, tally: Tally) -> int | None:
    found = 0
    for number, at, stop in runs(body, start, end, most, tally):
        if number == _HEADER:
            _read_all(lenient.Scope, body, at, stop, most, tally)
        elif number == _MEMBERS:
            found += 1
            if _large_fault(body, at, stop, shape, most, tally):
                return None
        elif not number:
            members = getattr(shape.scope.FromString(body[at:stop]), shape.members)
            found += len(members)
            if _any_fault(members, shape) or _crowded(members, stop - at, shape, tally):
                return None
    return found


def _any_fault(members: Any, shape: Shape) -> bool:
    if shape is LOGS:
        return any(log_fault(record) for record in members)
    # Not by `span_fault`: this is asked of every span that comes in, and each id that is read is copied.
    for span in members:
        trace_id, span_id = span.trace_id, span.span_id
        if len(trace_id) != TRACE_ID_BYTES or len(span_id) != SPAN_ID_BYTES:
            return True
        if trace_id == NO_TRACE_ID or span_id == NO_SPAN_ID:
            return True
    return False


def _crowded(members: Any, size: int, shape: Shape, tally: Tally) -> bool:
    """Count what a run's members hold, if it is much for its size, and say whether it is too much for one of them.

    One member tells, drawn by lot: to look at each would take longer than all other checks together, and what a
    sender hides in a few runs of a large request is not much. Raises TooManyParts.
    """
    if not members or shape.parts(random.choice(members)) * len(members) * _USUAL_BYTES < size:
        return False
    held = [shape.parts(each) for each in members]
    tally.take(sum(held))
    return max(held) > MOST_IN_MEMBER


def salvage(body: bytes, shape: Shape) -> Salvaged | None:
    """Keep a request's good members; None if not even its envelope can be read. Raises TooManyParts."""
    return _Salvage(body, shape).request()


class _Salvage:
    """One request that is being salvaged."""

    def __init__(self, body: bytes, shape: Shape) -> None:
        self._body = body
        self._shape = shape
        self._most = run_bytes(len(body))
        self._tally = Tally()
        self._faults = Faults()
        self._kept = 0

    def request(self) -> Salvaged | None:
        out = bytearray()
        try:
            for number, first, start, end in fields(self._body, 0, len(self._body), self._tally):
                if number == _GROUP:
                    self._tally.take_group()
                    _put(out, _GROUP, self._group(start, end))
                else:
                    out += self._body[first:end]
        except DecodeError:
            return None
        return Salvaged(bytes(out) if self._kept else b"", self._kept, self._faults)

    def _group(self, start: int, end: int) -> bytearray:
        out = bytearray()
        reads = self._reads(lenient.Resource, start, end)
        for number, first, at, stop in fields(self._body, start, end, self._tally):
            if number == _MEMBERS:
                self._tally.take_group()
                _put(out, _MEMBERS, self._scope(at, stop, reads))
            elif reads or number != _HEADER:
                out += self._body[first:stop]
        return out

    def _scope(self, start: int, end: int, resource_reads: bool) -> bytearray:
        out = bytearray()
        noun = self._shape.noun
        what = "scope" if resource_reads else "resource"
        reads = resource_reads and self._reads(lenient.Scope, start, end)
        lost = 0
        for number, first, at, stop in fields(self._body, start, end, self._tally):
            if number == _MEMBERS:
                lost += not reads
                reason = self._fault(at, stop) if reads else "not read"
                if reason:
                    if reads:
                        self._faults.add(reason, self._body[at : min(stop, at + _SAMPLE)])
                    continue
                self._kept += 1
            elif number == _HEADER and not reads:
                continue
            out += self._body[first:stop]
        if lost:
            self._faults.add(f"{what} of the {noun} cannot be read", self._body[:_SAMPLE], lost)
        return out

    def _reads(self, message: Any, start: int, end: int) -> bool:
        """Return whether a group's header can be read: the resource of one, the scope of the other."""
        try:
            # These fields are counted where they are kept.
            for number, _, at, stop in fields(self._body, start, end, Tally()):
                if number == _HEADER:
                    _read_all(message, self._body, at, stop, self._most, self._tally)
        except DecodeError:
            return False
        return True

    def _fault(self, at: int, stop: int) -> str:
        """Return why a member cannot stand; '' if it can."""
        shape = self._shape
        if stop - at > self._most:
            return _large_fault(self._body, at, stop, shape, self._most, self._tally)
        try:
            member = shape.member.FromString(self._body[at:stop])
        except DecodeError:
            return f"{shape.noun} cannot be read"
        parts = shape.parts(member)
        self._tally.take(parts)
        return shape.fault(member) or (_too_many(shape) if parts > MOST_IN_MEMBER else "")


def _large_fault(body: bytes, start: int, end: int, shape: Shape, most: int, tally: Tally) -> str:
    """Return why a large member cannot stand; '' if it can. Raises TooManyParts when the whole request has too many."""
    own = Tally(min(MOST_IN_MEMBER, tally.parts))
    ids = lenient.Ids()
    before = own.parts
    try:
        for piece in pieces(shape.member, body, start, end, most, own):
            ids.trace_id = piece.trace_id or ids.trace_id
            ids.span_id = piece.span_id or ids.span_id
            own.take(0 if end - start > most else shape.parts(piece))
    except DecodeError:
        return f"{shape.noun} cannot be read"
    except TooManyParts:
        tally.take(before + 1 if before < MOST_IN_MEMBER else before)
        return _too_many(shape)
    tally.take(before - own.parts)
    return shape.fault(ids)


def _too_many(shape: Shape) -> str:
    return f"{shape.noun} has more than {MOST_IN_MEMBER:,} attributes, events, links and values"


def _read_all(message: Any, body: bytes, start: int, end: int, most: int, tally: Tally) -> None:
    for _ in pieces(message, body, start, end, most, tally):
        pass


def _put(out: bytearray, number: int, content: bytearray) -> None:
    out += varint(number << 3 | DELIMITED)
    out += varint(len(content))
    out += content


def reasons_in_words(faults: Faults, noun: str, total: int) -> str:
    """One sentence for `partial_success.error_message`."""
    listed: Iterable[str] = (f"{reason} ({count})" for reason, count in faults.counts.items())
    return f"{faults.total} of {total} {noun}s rejected: " + "; ".join(listed)
