"""Cuts the log into batches: whole records, up to a number of spans and of bytes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self

from retrospan.ingest.load.ledger import Batch
from retrospan.ingest.log.record import holds_only_spans, items_at, tenant_at
from retrospan.ingest.log.segment_reader import Chunk
from retrospan.schemas.errors import LogFailed

#: Reading while receivers write takes processor time from them: so often a batch looks for more, in seconds.
_LOOK_SECONDS = 0.2
#: How much of the log is in memory at a time, unless a record has more.
_PIECE_BYTES = 2 << 20
#: A batch of up to so many bytes is held; the bytes of a larger one are read again when they are wanted.
_HELD_BYTES = 4 << 20


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
    """The records of a batch: where each lies in its bytes, of which there are `size`, and whose they are.

    `hash` is the SHA-256 of the bytes, in hex. `pieces` yields them, each piece holding whole records: a large batch is
    read from the log once more for that, so that neither it nor the next one is held in memory while it is inserted.
    It raises LogFailed after the last piece when these are not the bytes that were hashed.
    """

    frames: Sequence[Frame]
    items: int
    size: int
    hash: str
    tenants: frozenset[str]
    holds_only_spans: bool
    pieces: Callable[[], Iterator[bytes]] = field(compare=False)

    @classmethod
    def of(cls, data: bytes, frames: Sequence[Frame]) -> Self:
        """Return the content whose bytes these are."""
        return cls(
            frames=frames,
            items=sum(items_at(data, frame.body, frame.end) for frame in frames),
            size=len(data),
            hash=hashlib.sha256(data).hexdigest(),
            tenants=frozenset(tenant_at(data, frame.body, frame.end) for frame in frames),
            holds_only_spans=holds_only_spans(data),
            pieces=lambda: iter([data]),
        )

    @property
    def data(self) -> bytes:
        """All of its bytes. Raises LogFailed when they are not those that were hashed."""
        return b"".join(self.pieces())

    def batch(self, epoch: int) -> Batch:
        """Return these records as a batch of the ledger."""
        return Batch(
            first=self.frames[0].sequence,
            last=self.frames[-1].sequence,
            records=len(self.frames),
            items=self.items,
            token=token_of_hash(epoch, self.hash),
        )


class _Cut:
    """A batch in the making: what follows a sequence in the log."""

    def __init__(self, log: ReadableLog, after: int) -> None:
        self.size = self.items = 0
        self.frames: list[Frame] = []
        self._log = log
        self._after = after
        self._tenants: set[str] = set()
        self._only_spans = True
        self._hash = hashlib.sha256()
        self._held: list[bytes] = []

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
            self._tenants.add(tenant_at(chunk.data, frame.body, frame.end))
            end = frame.end
        whole = end == len(chunk.data)
        data = chunk.data if whole else chunk.data[:end]
        self._only_spans = self._only_spans and holds_only_spans(data)
        self._hash.update(data)
        self.size += end
        if self.size <= _HELD_BYTES:
            self._held.append(data)
        else:
            self._held.clear()
        return whole

    def content(self) -> Content:
        held = self._held
        return Content(
            frames=self.frames,
            items=self.items,
            size=self.size,
            hash=self._hash.hexdigest(),
            tenants=frozenset(self._tenants),
            holds_only_spans=self._only_spans,
            pieces=self._read_again if self.size > _HELD_BYTES else lambda: iter(held),
        )

    def _read_again(self) -> Iterator[bytes]:
        at, last, found = self._after, self.frames[-1].sequence, hashlib.sha256()
        while at < last and (chunk := self._log.read(at, max_bytes=_PIECE_BYTES, until=last)) is not None:
            found.update(chunk.data)
            at = chunk.last_sequence
            yield chunk.data
        if found.digest() != self._hash.digest():
            raise LogFailed(
                f"records {self.frames[0].sequence} to {last} of the log are not what they were a moment ago; "
                "they are read again"
            )


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
    cut, last, segment = _Cut(log, after), after, 0
    deadline = time.monotonic() + wait_seconds
    while cut.size < most_bytes and cut.items < most_items:
        chunk = log.read(last, max_bytes=min(_PIECE_BYTES, most_bytes - cut.size), until=until)
        if chunk is None:
            left = deadline - time.monotonic()
            if left <= 0 or pause(min(_LOOK_SECONDS, left)):
                break
            continue
        if cut.frames and (cut.size + len(chunk.data) > most_bytes or chunk.segment != segment):
            break
        segment = chunk.segment
        last = chunk.last_sequence
        # The next segment is not looked into: to unpack an archived one takes as long as to read this one.
        if not cut.add(chunk, most_items) or chunk.ends_segment:
            break
    return cut.content()


def content_of(log: ReadableLog, batch: Batch) -> Content:
    """Return the records of a batch again, as they were when it was cut."""
    last = batch.first - 1
    cut = _Cut(log, last)
    while last < batch.last:
        chunk = log.read(last, max_bytes=_PIECE_BYTES, until=batch.last)
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
