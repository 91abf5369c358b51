"""Finds the tenant in the records of a log, for a directory whose file `tenant` is lost."""

from __future__ import annotations

from typing import Protocol

from retrospan.ingest.log.record import decode
from retrospan.ingest.log.segment_reader import Chunk

_AT_ONCE = 1 << 20


class ReadLog(Protocol):
    """What is asked of the log."""

    @property
    def durable_sequence(self) -> int: ...

    def read(self, after_sequence: int, *, max_bytes: int) -> Chunk | None: ...


def first_sender(log: ReadLog) -> str | None:
    """Return the tenant of the first record that holds something that was sent; None when there is none.

    Receipts, flags and holds do not count: those of segments are of no tenant.
    """
    found, after = None, 0
    while found is None and (chunk := log.read(after, max_bytes=_AT_ONCE)) is not None:
        for frame in chunk.frames():
            record = decode(chunk.data[frame.body : frame.end])
            if record.traces is not None or record.logs is not None or record.rejects:
                found = record.tenant
                break
        after = chunk.last_sequence
    log.read(log.durable_sequence, max_bytes=1)  # whoever has read to the end keeps nothing unpacked
    return found
