"""The four bytes of protobuf's wire format that are needed by hand: varints, and length-delimited fields."""

from __future__ import annotations

from typing import TypeAlias

Buffer: TypeAlias = "bytes | memoryview"

VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5


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
    """The number at `at` and the offset behind it; None if it is cut off or longer than 64 bits."""
    number = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number, at) if number < 1 << 64 else None
        shift += 7
    return None


def delimited(field: int, content: bytes) -> bytes:
    """One length-delimited field: tag, length, content."""
    return varint(field << 3 | DELIMITED) + varint(len(content)) + content
