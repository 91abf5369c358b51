"""Segments of the log as an intruder writes them anew: something else stands in them, and every checksum fits."""

from __future__ import annotations

import sys

from retrospan.ingest.log.archive import opened
from retrospan.ingest.log.record import decode, encode
from retrospan.ingest.log.segment import Segment
from retrospan.ingest.log.segment_reader import read_frames

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def forged(whole: bytes, old: bytes, new: bytes) -> bytes:
    """A record of the log, with its length, in which something else stands, with a checksum that fits."""
    at = 0
    while whole[at] & 0x80:
        at += 1
    record = decode(whole[at + 1 :])
    assert record.traces is not None and old in record.traces and len(old) == len(new)
    parts, _ = encode(
        arrived_at=record.arrived_at,
        sequence=record.sequence,
        tenant=record.tenant,
        traces=record.traces.replace(old, new),
        logs=record.logs,
        rejects=record.rejects,
        items=record.items,
        notes=record.notes,
    )
    return b"".join(parts)


def content_of(segment: Segment, old: bytes, new: bytes) -> tuple[bytes, int]:
    """A segment's bytes with one record forged, and that record's sequence."""
    parts, found, at = [], 0, 0
    with opened(segment) as descriptor:
        while at < segment.size:
            chunk, _ = read_frames(descriptor, at, segment.size, None, 1 << 20)
            assert chunk is not None
            for frame in chunk.frames():
                whole = chunk.data[frame.start : frame.end]
                if old in whole:
                    whole, found = forged(whole, old, new), frame.sequence
                parts.append(whole)
            at += len(chunk.data)
    assert found
    return b"".join(parts), found


def write_archive(segment: Segment, content: bytes) -> None:
    """Put other content in an archived segment's place."""
    segment.path.write_bytes(zstd.compress(content, options={zstd.CompressionParameter.checksum_flag: 1}))
