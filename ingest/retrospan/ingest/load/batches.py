"""Cuts the log into batches: whole records, up to a number of spans and of bytes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from retrospan.ingest.load.ledger import Batch
from retrospan.ingest.log.record import items_at
from retrospan.ingest.log.segment_reader import Chunk

#: Reading while receivers write takes processor time from them: so often a batch looks for more, in seconds.
_LOOK_SECONDS = 0.2


class ReadableLog(Protocol):
    """What is asked of the write-ahead log."""

    @property
    def durable_sequence(self) -> int: ...

    def bytes_beyond(self, sequence: int) -> int: ...

    def wait_beyond(self, sequence: int, timeout: float) -> bool: ...

    def read(self, after_sequence: int, *, max_bytes: int, until: int | None = None) -> Chunk | None: ...


class Frame(NamedTuple):
    """One record inside a batch's data: `data[start:end]` is insertable, `data[body:end]` the record."""

    sequence: int
    start: int
    body: int
    end: int


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a batch and where its records lie. `hash` is their SHA-256, in hex."""

    data: bytes
    frames: list[Frame]
    items: int
    hash: str

    def batch(self, epoch: int) -> Batch:
        """Return these records as a batch of the ledger."""
        return Batch(
            first=self.frames[0].sequence,
            last=self.frames[-1].sequence,
            records=len(self.frames),
            items=self.items,
            token=token_of_hash(epoch, self.hash),
        )


@dataclass(slots=True)
class _Cut:
    """A batch in the making. Its parts are joined once, at the end: they may be many, and large."""

    parts: list[bytes | memoryview] = field(default_factory=list)
    size: int = 0
    frames: list[Frame] = field(default_factory=list)
    items: int = 0

    def add(self, chunk: Chunk, most_items: int | None = None) -> bool:
        """Append a chunk's records until `most_items`; whether all fitted. The first record always fits."""
        end = 0
        for frame in chunk.frames():
            items = items_at(chunk.data, frame.body, frame.end)
            if most_items is not None and self.frames and self.items + items > most_items:
                break
            self.frames.append(
                Frame(frame.sequence, self.size + frame.start, self.size + frame.body, self.size + frame.end)
            )
            self.items += items
            end = frame.end
        whole = end == len(chunk.data)
        if end:
            self.parts.append(chunk.data if whole else memoryview(chunk.data)[:end])
            self.size += end
        return whole

    def content(self) -> Content:
        data = b"".join(self.parts)
        return Content(data, self.frames, self.items, hashlib.sha256(data).hexdigest())


def next_content(
    log: ReadableLog,
    after: int,
    *,
    most_items: int,
    most_bytes: int,
    wait_seconds: float,
    pause: Callable[[float], object] = time.sleep,
    until: int | None = None,
) -> Content:
    """Return what follows a sequence in the log, up to `until`. Wait up to `wait_seconds` for more while there is room.

    A batch lies in one segment: one that retention writes anew takes no half of a batch with it, whose hash nobody
    could compute again.

    `pause` sleeps for the seconds it is given, and returns true when there is no more time to wait.
    """
    cut, last, segment = _Cut(), after, 0
    deadline = time.monotonic() + wait_seconds
    while cut.size < most_bytes and cut.items < most_items:
        chunk = log.read(last, max_bytes=most_bytes - cut.size, until=until)
        if chunk is None:
            left = deadline - time.monotonic()
            if left <= 0 or pause(min(_LOOK_SECONDS, left)):
                break
            continue
        if cut.frames and (cut.size + len(chunk.data) > most_bytes or chunk.segment != segment):
            break
        segment = chunk.segment
        last = chunk.last_sequence
        if not cut.add(chunk, most_items):
            break
    return cut.content()


def content_of(log: ReadableLog, batch: Batch, *, most_bytes: int) -> Content:
    """Return the records of a batch again, as they were when it was cut."""
    cut, last = _Cut(), batch.first - 1
    while last < batch.last:
        chunk = log.read(last, max_bytes=most_bytes, until=batch.last)
        if chunk is None:
            break
        cut.add(chunk)
        last = chunk.last_sequence
    return cut.content()


def token_of(epoch: int, data: bytes | memoryview) -> str:
    """Return the token of an insert: other data has another, and so has the same data in another epoch."""
    return token_of_hash(epoch, hashlib.sha256(data).hexdigest())


def token_of_hash(epoch: int, data_hash: str) -> str:
    """Return the token of data whose SHA-256 is known already, in hex."""
    return hashlib.sha256(f"{epoch}:{data_hash}".encode()).hexdigest()
