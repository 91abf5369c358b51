"""Protobuf in pieces: only a small part is parsed at a time, whatever the total size, and elements are counted.

Two bytes on the wire may become a hundred and more in memory. So only the envelope of a request is walked here, from
length to length; what lies between is parsed in runs of whole fields, each forgotten before the next. A slice of
whole fields of a message is a message of the same type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from retrospan.schemas import wire
from retrospan.schemas.errors import TooManyParts
from retrospan.schemas.wire import DELIMITED, NotAMessage, expect_varint

#: Resources and scopes of one request.
MOST_GROUPS = 65_536
#: Spans or log records of one request, and what is counted of their attributes, events, links and values.
MOST_PARTS = 500_000
#: Attributes, events and links of one span or log record, and what is counted of their values.
MOST_IN_MEMBER = 131_072
#: What a run may become: so many times its size, and then it fits into what a request may cost.
_WORST = 90
_LEAST_RUN, _LONGEST_RUN = 64 << 10, 512 << 10


class Tally:
    """Counts down. Each request has one, and a large member one of its own."""

    def __init__(self, parts: int = MOST_PARTS) -> None:
        self.parts = parts
        self._groups = MOST_GROUPS

    def take(self, parts: int) -> None:
        """Count parts. Raises TooManyParts."""
        self.parts -= parts
        if self.parts < 0:
            raise TooManyParts(
                f"the request has more than {MOST_PARTS:,} spans, log records, attributes, events and values"
            )

    def take_group(self) -> None:
        """Count a resource or a scope. Raises TooManyParts."""
        self._groups -= 1
        if self._groups < 0:
            raise TooManyParts(f"the request has more than {MOST_GROUPS:,} resources and scopes")


def run_bytes(size: int) -> int:
    """Return how long a run of a request of `size` bytes may be."""
    return max(_LEAST_RUN, min(_LONGEST_RUN, ((8 << 20) + 2 * size) // _WORST))


def fields(data: bytes, at: int, end: int, tally: Tally) -> Iterator[tuple[int, int, int, int]]:
    """Yield the fields of a message: number, or 0 when it is not delimited; start, content, end. Raises as `runs`."""
    try:
        for number, kind, start, content, stop in wire.fields(data, at, end):
            tally.take(1)
            yield (number if kind == DELIMITED else 0), start, content, stop
    except NotAMessage as cause:
        raise DecodeError(str(cause)) from cause


def runs(data: bytes, at: int, end: int, most: int, tally: Tally) -> Iterator[tuple[int, int, int]]:
    """Yield a message as runs of whole fields of up to about `most` bytes: (0, start, end). A larger field comes by
    itself: (its number, start and end of its content).

    Raises:
        DecodeError: it is not a message, or has a group, which OTLP never had and the engine cannot read.
        TooManyParts: it has more fields than `tally` has left.
    """
    start = at
    left = tally.parts
    try:
        while at < end:
            here = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = expect_varint(data, here, end)
            if tag & 7 == DELIMITED:
                size = data[at]
                at += 1
                if size > 127:
                    high = data[at]
                    if high < 128:
                        size = size & 127 | high << 7
                        at += 1
                    else:
                        size, at = expect_varint(data, at - 1, end)
                content = at
                at += size
                if size > most and at <= end and tag > 7:
                    if start < here:
                        yield 0, start, here
                    yield tag >> 3, content, at
                    start = here = at
            else:
                at = _beyond(data, at, end, tag)
            left -= 1
            if left < 0:
                tally.take(tally.parts + 1)
            if at - start > most and here > start:
                yield 0, start, here
                start = here
    except IndexError as cause:
        raise DecodeError("a field is cut off") from cause
    except NotAMessage as cause:
        raise DecodeError(str(cause)) from cause
    if at != end:
        raise DecodeError("a field is cut off")
    tally.parts = left
    if start < end:
        yield 0, start, end


def pieces(message: Any, data: bytes, at: int, end: int, most: int, tally: Tally) -> Iterator[Any]:
    """Yield a message of any size in pieces, each of which holds some of its fields. What is large within it is read
    likewise, and not yielded. Raises as `runs` does."""
    if end - at <= most:
        yield message.FromString(data[at:end])
        return
    for number, start, stop in runs(data, at, end, most, tally):
        if not number:
            yield message.FromString(data[start:stop])
            continue
        field = message.DESCRIPTOR.fields_by_number.get(number)
        if field is not None and field.message_type is not None:
            for _ in pieces(GetMessageClass(field.message_type), data, start, stop, most, tally):
                pass


def _beyond(data: bytes, at: int, end: int, tag: int) -> int:
    """Return where a field that is not delimited ends."""
    kind = tag & 7
    if kind == 0:
        return expect_varint(data, at, end)[1]
    if kind == 1:
        return at + 8
    if kind == 5:
        return at + 4
    raise DecodeError("a group, or not a field")
