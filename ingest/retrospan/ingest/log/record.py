"""One record of the write-ahead log, written and read by hand on the wire.

A record is a protobuf message, so that ClickHouse can insert a byte range of the log as it is:

    09 <arrived_at, fixed64>      10 <sequence, varint>       1a <len> <tenant>
    38 <items, varint>            spans or log records; left out when none or unknown
    22 <len> <request bytes>      traces, if any              2a <len> <request bytes>   logs, if any
    32 <len> <reject>             any number                  42 <len> <note>            any number
    7d <CRC-32, fixed32>          always last

A note is what a person or a rule decided about runs that are stored: a flag, a hold, a deletion. It lies in the log
like what was sent, so that a rebuild honours it.

The OTLP bytes inside are the sender's, untouched and never parsed here. The checksum covers every byte of the
record before its own tag.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from isal.isal_zlib import crc32

from retrospan.schemas.wire import (
    DELIMITED,
    VARINT,
    Buffer,
    delimited,
    expect_varint,
    fields,
    read_varint,
    varint,
)

#: Tag and four bytes of the checksum.
TRAILER_BYTES = 5
_CHECKSUM_TAG = 0x7D
_HEAD = struct.Struct("<BQB")
_CHECKSUM = struct.Struct("<BI")
_ITEMS = b"\x38"
_TRACES = b"\x22"

SAMPLE_BYTES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """Something that was sent and not stored, and why. Lives in the log beside what was stored.

    `spans` counts spans or log records; 0 when the request could not be read at all. `request_hash` is the
    SHA-256 of the request body, `sample` the first bytes of what was rejected.
    """

    signal: str
    spans: int
    reason: str
    request_hash: bytes = b""
    sample: bytes = b""


@dataclass(frozen=True, slots=True)
class Note:
    """A decision about stored runs: `kind` says which, `body` is its JSON."""

    kind: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record as it was read back. `arrived_at` is Unix ns; `traces` and `logs` are request bytes or None.

    `items` is how many spans or log records they hold, as the writer counted them.
    """

    arrived_at: int
    sequence: int
    tenant: str
    traces: bytes | None = None
    logs: bytes | None = None
    rejects: list[Reject] = field(default_factory=list)
    items: int = 0
    notes: list[Note] = field(default_factory=list)


def encode(
    *,
    arrived_at: int,
    sequence: int,
    tenant: str,
    traces: bytes | None = None,
    logs: bytes | None = None,
    rejects: Sequence[Reject] = (),
    items: int = 0,
    notes: Sequence[Note] = (),
    sealed: bool = True,
) -> tuple[list[bytes], int]:
    """Return a record with its length in front, as parts to write one after the other, and their total size.

    The request bytes are parts of their own and not copied. The checksum takes most of the time: without `sealed` it
    is counted and left out, and `seal` puts it in before the parts are written.
    """
    head = _HEAD.pack(0x09, arrived_at, 0x10) + varint(sequence) + delimited(3, tenant.encode())
    if items:
        head += _ITEMS + varint(items)
    parts: list[bytes] = [head]
    for number, request in ((4, traces), (5, logs)):
        if request is not None:
            parts[-1] += varint(number << 3 | DELIMITED) + varint(len(request))
            parts += [request, b""]
    parts[-1] += b"".join(delimited(6, _encode_reject(reject)) for reject in rejects)
    parts[-1] += b"".join(
        delimited(8, delimited(1, note.kind.encode()) + delimited(2, note.body)) for note in notes
    )
    length = sum(map(len, parts)) + TRAILER_BYTES
    prefix = varint(length)
    parts.insert(0, prefix)
    if sealed:
        seal(parts)
    return parts, len(prefix) + length


def seal(parts: list[bytes]) -> None:
    """Append the checksum to the parts of a record that was encoded without, once."""
    checksum = 0
    for part in parts[1:]:
        checksum = crc32(part, checksum)
    parts[-1] += _CHECKSUM.pack(_CHECKSUM_TAG, checksum)


def checksum_holds(data: Buffer, start: int, end: int) -> bool:
    """Return whether the record in `data[start:end]` (without its length) ends in the checksum of its bytes."""
    at = end - TRAILER_BYTES
    if at <= start or data[at] != _CHECKSUM_TAG:
        return False
    with memoryview(data) as view, view[start:at] as covered:
        return crc32(covered) == int.from_bytes(data[at + 1 : end], "little")


def header_of(data: Buffer, start: int, end: int) -> tuple[int, int] | None:
    """`(arrived_at, sequence)` of the record that starts at `start`; None if these bytes are not a record."""
    if end - start < 11 or data[start] != 0x09 or data[start + 9] != 0x10:
        return None
    sequence = read_varint(data, start + 10, end)
    if sequence is None:
        return None
    return int.from_bytes(data[start + 1 : start + 9], "little"), sequence[0]


def tenant_at(data: Buffer, start: int, end: int) -> str:
    """Whose the record that starts at `start` is, by its own account."""
    sequence = read_varint(data, start + 10, end)
    length = read_varint(data, sequence[1] + 1, end) if sequence is not None else None
    if length is None:
        return ""
    return bytes(data[length[1] : length[1] + length[0]]).decode(errors="replace")


def items_at(data: Buffer, start: int, end: int) -> int:
    """Return how many spans or log records the record that starts at `start` holds, by its own account."""
    sequence = read_varint(data, start + 10, end)
    length = read_varint(data, sequence[1] + 1, end) if sequence is not None else None
    if length is None:
        return 0
    at = length[1] + length[0]
    items = read_varint(data, at + 1, end) if data[at : at + 1] == _ITEMS else None
    return items[0] if items is not None else 0


def holds_only_spans(data: Buffer) -> bool:
    """Return whether every record in `data`, each with its length in front, holds spans and nothing beside them."""
    at, size = 0, len(data)
    while at < size:
        length = read_varint(data, at, size)
        if length is None:
            return False
        start, at = length[1], length[1] + length[0]
        if at > size or not _is_only_spans(data, start, at):
            return False
    return True


def _is_only_spans(data: Buffer, start: int, end: int) -> bool:
    """Return whether the record in `data[start:end]` has the request's bytes between its head and its checksum."""
    sequence = read_varint(data, start + 10, end)
    tenant = read_varint(data, sequence[1] + 1, end) if sequence is not None else None
    if tenant is None:
        return False
    at = tenant[1] + tenant[0]
    if data[at : at + 1] == _ITEMS:
        items = read_varint(data, at + 1, end)
        at = items[1] if items is not None else end
    request = read_varint(data, at + 1, end) if data[at : at + 1] == _TRACES else None
    return request is not None and request[1] + request[0] == end - TRAILER_BYTES


def decode(data: bytes) -> Record:
    """Read one record (without its length).

    Raises:
        ValueError: the checksum does not fit, or the bytes are not a record.
    """
    if not checksum_holds(data, 0, len(data)):
        raise ValueError("the record's checksum does not match its bytes")
    arrived_at = sequence = items = 0
    tenant = ""
    payload: dict[int, bytes] = {}
    rejects: list[Reject] = []
    notes: list[Note] = []
    for number, value in _values(data):
        if isinstance(value, bytes):
            if number == 3:
                tenant = value.decode()
            elif number == 6:
                rejects.append(_decode_reject(value))
            elif number == 8:
                said = {key: text for key, text in _values(value) if isinstance(text, bytes)}
                notes.append(Note(said.get(1, b"").decode(), said.get(2, b"")))
            else:
                payload[number] = value
        elif number == 1:
            arrived_at = value
        elif number == 2:
            sequence = value
        elif number == 7:
            items = value
    return Record(
        arrived_at=arrived_at,
        sequence=sequence,
        tenant=tenant,
        traces=payload.get(4),
        logs=payload.get(5),
        rejects=rejects,
        items=items,
        notes=notes,
    )


def _encode_reject(reject: Reject) -> bytes:
    return (
        delimited(1, reject.signal.encode())
        + (b"\x10" + varint(reject.spans) if reject.spans else b"")
        + delimited(3, reject.reason.encode(errors="replace"))
        + (delimited(4, reject.request_hash) if reject.request_hash else b"")
        + (delimited(5, reject.sample[:SAMPLE_BYTES]) if reject.sample else b"")
    )


def _decode_reject(data: bytes) -> Reject:
    texts: dict[int, bytes] = {}
    spans = 0
    for number, value in _values(data):
        if isinstance(value, bytes):
            texts[number] = value
        elif number == 2:
            spans = value
    return Reject(
        signal=texts.get(1, b"").decode(),
        spans=spans,
        reason=texts.get(3, b"").decode(),
        request_hash=texts.get(4, b""),
        sample=texts.get(5, b""),
    )


def _values(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Return the fields of a message that we wrote ourselves, in order."""
    for number, kind, _, at, stop in fields(data):
        if kind == DELIMITED:
            yield number, data[at:stop]
        elif kind == VARINT:
            yield number, expect_varint(data, at, stop)[0]
        else:
            yield number, int.from_bytes(data[at:stop], "little")
