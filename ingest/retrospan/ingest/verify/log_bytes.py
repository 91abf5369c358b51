"""Compares the bytes of the log with the hashes made when they were loaded.

Two sources have the hashes: the file of hashes beside the log, and the rows of the batches of every epoch. A batch whose
records no longer give its hash is wrong, unless all of it lies in segments that retention rewrote or removed: for these
the receipt has the hash of what the segment holds since.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from retrospan.ingest.log.archive import opened
from retrospan.ingest.log.hashes import KnownHashes
from retrospan.ingest.log.segment import Segment
from retrospan.ingest.log.segment_reader import Chunk, read_frames
from retrospan.ingest.verify.report import VerifiedPart
from retrospan.ingest.verify.sql import load
from retrospan.schemas.sequences import base_of
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows

_AT_ONCE = 4 << 20
_PAGE = 5_000


class VerifiedLog(Protocol):
    """What is asked of the log."""

    @property
    def durable_sequence(self) -> int: ...

    def read(self, after_sequence: int, *, max_bytes: int, until: int | None = None) -> Chunk | None: ...

    def archived(self, loaded_sequence: int) -> list[Segment]: ...


@dataclass(frozen=True, slots=True, order=True)
class Expected:
    """Records from `first` to `last` had this hash. `source` says who says so."""

    first: int
    last: int
    hash: str
    source: str


@dataclass(frozen=True, slots=True)
class Attested:
    """What receipts say of one segment of the archive, the newest last."""

    first: int
    last: int
    number: int
    hash_before: str
    hash_after: str


@dataclass(slots=True)
class _Open:
    """An expectation on its way: what was read of it so far."""

    expected: Expected
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    place: tuple[int, int] | None = None
    """Segment and offset where it begins."""
    end: tuple[int, int] | None = None
    """Segment and offset where what was read of it ends."""


class LogBytes:
    """One pass over the log."""

    def __init__(
        self,
        log: VerifiedLog,
        attested: Mapping[str, Attested],
        loaded: int,
        part: VerifiedPart,
        go_on: Callable[[], None] = lambda: None,
    ) -> None:
        """`attested` are receipts by the name of their segment. `go_on` is called now and then; it may raise."""
        self._log = log
        self._loaded = loaded
        self._part = part
        self._go_on = go_on
        self._segments = log.archived(loaded)
        self._attested = attested
        self._vouched: list[tuple[int, int]] = []

    def check_segments(self) -> None:
        """Compare each segment that receipts name with what the newest of them says it holds."""
        there = {segment.path.name: segment for segment in self._segments}
        for name, receipt in self._attested.items():
            self._go_on()
            segment = there.get(name)
            try:
                found = content_hash(segment) if segment is not None else None
            except FileNotFoundError:
                found = None  # removed since the log was opened
            if found is None:
                if not receipt.hash_after:
                    self._vouched.append((receipt.first, receipt.last))
                else:
                    self._part.report_wrong(
                        f"log/archive/{name}",
                        f"is missing, but receipt {receipt.number} lists its content",
                        file=name,
                    )
                continue
            self._part.count(segments_by_receipt=1)
            if found == receipt.hash_after:
                self._vouched.append((receipt.first, receipt.last))
            elif found == receipt.hash_before:
                self._part.leave_out(
                    f"log/archive/{name} still holds what receipt {receipt.number} lists as deleted: the next "
                    "`retention apply` deletes it"
                )
            else:
                self._part.report_wrong(
                    f"log/archive/{name}",
                    f"matches neither hash of receipt {receipt.number}: before or after the deletion",
                    file=name,
                )
        self._vouched = _joined(self._vouched)

    def check(
        self, expected: Iterable[Expected], progress: Callable[[int], None] = lambda sequence: None
    ) -> None:
        """Compare records with what is expected of them, which comes in order of `first`."""
        waiting = _Ahead(expected)
        active: list[_Open] = []
        after = 0
        while active or waiting.next is not None:
            self._go_on()
            if not active and waiting.next is not None:
                after = max(after, waiting.next.first - 1)
            wanted = max((each.expected.last for each in active), default=0)
            if waiting.next is not None:
                wanted = max(wanted, waiting.next.last)
            chunk = self._log.read(after, max_bytes=_AT_ONCE, until=max(wanted, after + 1))
            if chunk is None:
                # Nothing of them is there any more.
                while waiting.next is not None and waiting.next.first <= wanted:
                    active.append(_Open(waiting.take()))
                for each in active:
                    self._close(each)
                active, after = [], max(wanted, after + 1)
                continue
            active = self._take(chunk, active, waiting)
            after = chunk.last_sequence
            progress(after)

    def _take(self, chunk: Chunk, active: list[_Open], waiting: _Ahead) -> list[_Open]:
        """Feed a chunk to the expectations that it is about; returns those that go on behind it."""
        view = memoryview(chunk.data)
        start = end = 0
        for frame in chunk.frames():
            begins = waiting.next is not None and waiting.next.first <= frame.sequence
            ends = any(each.expected.last < frame.sequence for each in active)
            if begins or ends:
                _feed(active, view[start : frame.start], chunk, start)
                start = frame.start
                for each in active:
                    if each.expected.last < frame.sequence:
                        self._close(each)
                active = [each for each in active if each.expected.last >= frame.sequence]
                while waiting.next is not None and waiting.next.first <= frame.sequence:
                    begun = _Open(waiting.take())
                    if begun.expected.last < frame.sequence:
                        self._close(begun)
                    else:
                        active.append(begun)
            end = frame.end
        _feed(active, view[start:end], chunk, start)
        for each in active:
            if each.expected.last <= chunk.last_sequence:
                self._close(each)
        return [each for each in active if each.expected.last > chunk.last_sequence]

    def _close(self, each: _Open) -> None:
        expected = each.expected
        records = expected.last - expected.first + 1
        if each.digest.hexdigest() == expected.hash:
            self._part.count(batches=1, bytes=0 if each.place is None else _length(each))
            return
        touching = [(a, b) for a, b in self._vouched if a <= expected.last and b >= expected.first]
        if any(a <= expected.first and expected.last <= b for a, b in touching):
            self._part.count(batches_by_receipt=1)
        elif touching:
            self._part.leave_out(
                f"records {expected.first}-{expected.last}: retention rewrote only a part of their batch, and the "
                "hash covers the whole"
            )
        else:
            self._part.report_wrong(
                f"{self._file(each)}, records {expected.first}-{expected.last}",
                f"{_bytes(each)} do not match the hash of {expected.source}",
                first_record=expected.first,
                last_record=expected.last,
                records=records,
                file=self._file(each),
            )

    def _file(self, each: _Open) -> str:
        if each.place is None:
            return "the log"
        for segment in self._segments:
            if segment.first == each.place[0]:
                return f"log/archive/{segment.path.name}"
        return f"log/{each.place[0]:020d}.seg"


class _Ahead:
    """The expectations that are still to come; equal ones once."""

    def __init__(self, expected: Iterable[Expected]) -> None:
        self._rest = iter(expected)
        self.next: Expected | None = next(self._rest, None)

    def take(self) -> Expected:
        taken = self.next
        assert taken is not None
        while self.next is not None and (self.next.first, self.next.last, self.next.hash) == (
            taken.first,
            taken.last,
            taken.hash,
        ):
            self.next = next(self._rest, None)
        return taken


def known_hashes(
    hashes: KnownHashes, part: VerifiedPart, wanted: Callable[[int, int], bool]
) -> Iterator[Expected]:
    """Yield what the file beside the log says."""
    for line in hashes.read():
        if line.number == 1 and not line.records:
            part.leave_out(
                f"records up to {line.last} have no hash in log/hashes: they were loaded before it existed"
            )
        elif wanted(line.first, line.last):
            yield Expected(line.first, line.last, line.hash, f"line {line.number} of log/hashes")


def batch_hashes(
    store: Store, log: int, part: VerifiedPart, wanted: Callable[[int, int], bool]
) -> Iterator[Expected]:
    """Yield what the rows of the batches say, of every epoch; two of one epoch that hold the same record are wrong."""
    base, place = base_of(log), (0, 0, 0)
    ends: dict[int, int] = {}
    while True:
        asked = {"log": log, "first": place[0], "epoch": place[1], "number": place[2], "limit": _PAGE}
        rows = typed_rows(store, tuple[int, int, str, int, int], load("batch_hashes"), asked)
        for first, last, digest, epoch, number in rows:
            if first <= ends.get(epoch, 0):
                part.report_wrong(
                    f"batches, number {number} of epoch {epoch}",
                    f"holds records from {first - base} on, but the previous one ends with {ends[epoch] - base}",
                )
            ends[epoch] = max(last, ends.get(epoch, 0))
            if wanted(first - base, last - base):
                yield Expected(first - base, last - base, digest, f"batch {number} of epoch {epoch}")
            place = (first, epoch, number)
        if len(rows) < _PAGE:
            return


def in_order(*sources: Iterable[Expected]) -> Iterator[Expected]:
    """Merge what several sources expect, each in order."""
    return heapq.merge(*sources)


def attested_segments(store: Store, log: int) -> dict[str, Attested]:
    """Return what the newest receipt of each segment of the archive says, by the segment's name."""
    found: dict[str, Attested] = {}
    rows = typed_rows(store, tuple[str, int, str, str], load("attested_segments"), {"log": log})
    for name, number, before, after in rows:
        first, _, last = name.removesuffix(".seg.zst").partition("-")
        if first.isdecimal() and last.isdecimal():
            found[name] = Attested(int(first), int(last), number, before, after)
    return found


def content_hash(segment: Segment) -> str:
    """SHA-256 of a segment's whole records, in hex."""
    digest, at = hashlib.sha256(), 0
    with opened(segment) as descriptor:
        while at < segment.size:
            chunk, _ = read_frames(descriptor, at, segment.size, None, _AT_ONCE)
            if chunk is None:
                break
            digest.update(chunk.data)
            at += len(chunk.data)
    return digest.hexdigest()


def _feed(active: list[_Open], data: memoryview, chunk: Chunk, start: int) -> None:
    if data:
        for each in active:
            each.digest.update(data)
            if each.place is None:
                each.place = (chunk.segment, chunk.offset + start)
            each.end = (chunk.segment, chunk.offset + start + len(data))


def _length(each: _Open) -> int:
    if each.place is None or each.end is None or each.place[0] != each.end[0]:
        return 0
    return each.end[1] - each.place[1]


def _bytes(each: _Open) -> str:
    if each.place is None or each.end is None:
        return "the records are not there: nothing is left that could be compared, and they"
    return f"bytes {each.place[1]:,}-{each.end[1]:,} of its content"


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined
