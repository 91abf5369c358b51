"""The parts of protobuf's wire format that we read ourselves: varints, length-delimited fields, walking a message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

Buffer: TypeAlias = "bytes | memoryview"

VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5


class NotAMessage(ValueError):
    """The bytes are not a message, or one with a group, which OTLP never had."""


def varint(number: int) -> bytes:
    """Encode an unsigned number of up to 64 bits."""
    if number < 0x80:
        return bytes((number,))
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_varint(data: Buffer, at: int, end: int) -> tuple[int, int] | None:
    """Return the number at `at` and the offset behind it; None if it is cut off or longer than 64 bits."""
    number = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number, at) if number < 1 << 64 else None
        shift += 7
    return None


def expect_varint(data: Buffer, at: int, end: int) -> tuple[int, int]:
    """Return the number at `at` and the offset behind it. Raises NotAMessage."""
    found = read_varint(data, at, end)
    if found is None:
        raise NotAMessage("a number is cut off")
    return found


def fields(data: Buffer, at: int = 0, end: int = -1) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield the fields of the message in `data[at:end]`, in order: number, wire type, where the field, its content, and
    both end.

    Raises NotAMessage, once it comes to what is not a field.
    """
    end = len(data) if end < 0 else end
    while at < end:
        begin = at
        tag, at = data[at], at + 1
        if tag > 127:
            tag, at = expect_varint(data, begin, end)
        if not 7 < tag < 1 << 32:
            raise NotAMessage("a field with an impossible number")
        kind, start = tag & 7, at
        if kind == DELIMITED:
            if at < end and data[at] < 128:
                start += 1
                at = start + data[at]
            else:
                size, start = expect_varint(data, at, end)
                at = start + size
        elif kind == VARINT:
            at = expect_varint(data, at, end)[1]
        elif kind in (FIXED64, FIXED32):
            at += 8 if kind == FIXED64 else 4
        else:
            raise NotAMessage("a group, or not a field")
        if at > end:
            raise NotAMessage("a field is cut off")
        yield tag >> 3, kind, begin, start, at


def delimited(field: int, content: bytes) -> bytes:
    """One length-delimited field: tag, length, content."""
    return heading(field, len(content)) + content


def heading(field: int, size: int) -> bytes:
    """Return what stands in front of a length-delimited field's content: tag and length."""
    return varint(field << 3 | DELIMITED) + varint(size)
