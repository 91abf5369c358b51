"""Reading whole records out of segments, for the loader and for a rebuild.

Every record's checksum is verified on the way out, so damage that came after opening is found here, noted in the
recovery and left out, and what is handed on can be inserted as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from retrospan.ingest.log.archive import opened, unpack
from retrospan.ingest.log.recovery import Recovery
from retrospan.ingest.log.segment import Framed, Segment, extent_at, framed_at, survey

#: Enough for a record's length, arrival and sequence.
_HEAD_BYTES = 32
#: A batch is read in pieces, twice, while the next one is.
_CURSORS = 256
#: One of the batch that is inserted, one of the batch that is read ahead.
_UNPACKED = 2


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole records in order, as one byte string that `FORMAT Protobuf` reads.

    The sequences run from `first_sequence` to `last_sequence`, with gaps only where records were lost. They lie in the
    segment that begins with record `segment`, from the byte `offset` of its content on; `ends_segment` when nothing follows
    there, now or later.
    """

    first_sequence: int
    last_sequence: int
    records: int
    data: bytes
    segment: int = 0
    offset: int = 0
    ends_segment: bool = False

    def frames(self) -> Iterator[Framed]:
        """Where each record lies in `data`: `data[frame.start:frame.end]` is insertable, `data[frame.body:frame.end]`
        is the record itself."""
        at = 0
        while at < len(self.data):
            frame = extent_at(self.data, at, len(self.data))
            assert frame is not None, "a chunk holds verified records only"
            yield frame
            at = frame.end


@dataclass(frozen=True, slots=True)
class Readable:
    """A segment as far as it is durable: its first `size` bytes. `before` is the next segment's first sequence."""

    segment: Segment
    size: int
    before: int | None


class SegmentReader:
    """Finds and reads records. Remembers where the last reads ended, so that reading on costs no search.

    Not thread-safe by itself: the log calls it under its reading lock.
    """

    def __init__(self, recovery: Recovery) -> None:
        self._recovery = recovery
        self._cursors: dict[int, tuple[Segment, int]] = {}
        self._unpacked: list[tuple[Segment, int]] = []

    def close(self) -> None:
        """Let go of unpacked segments."""
        while self._unpacked:
            os.close(self._unpacked.pop()[1])

    def read(self, part: Readable, after: int, *, until: int | None, max_bytes: int) -> Chunk | None:
        """Return records of one segment following `after`, up to `until`; None if it has none.

        At least one record, however large, and no more than `max_bytes` beyond that.
        """
        chunk, intact = self._read(part, after, until, max_bytes)
        if not intact:
            self._survey_again(part)
            chunk, _ = self._read(part, after, until, max_bytes)
        return chunk

    def _read(
        self, part: Readable, after: int, until: int | None, max_bytes: int
    ) -> tuple[Chunk | None, bool]:
        with self._opened(part.segment) as descriptor:
            at = self._offset_behind(descriptor, part, after)
            if at >= part.size:
                return None, True
            stop = min((start for start, _ in part.segment.bad if start >= at), default=part.size)
            chunk, intact = read_frames(descriptor, at, stop, until, max_bytes)
        if chunk is not None:
            end = at + len(chunk.data)
            ends = part.before is not None and end >= part.size
            chunk = replace(chunk, segment=part.segment.first, offset=at, ends_segment=ends)
            self._remember(chunk.last_sequence, part.segment, end)
        return chunk, intact

    @contextmanager
    def _opened(self, segment: Segment) -> Iterator[int]:
        """Return a descriptor of a segment's bytes. An archived one stays unpacked until two others are read."""
        if not segment.packed:
            with opened(segment) as descriptor:
                yield descriptor
            return
        known = next((each for each in self._unpacked if each[0] is segment), None)
        if known is None:
            while len(self._unpacked) >= _UNPACKED:
                os.close(self._unpacked.pop(0)[1])
            known = (segment, unpack(segment))
            self._unpacked.append(known)
        yield known[1]

    def _offset_behind(self, descriptor: int, part: Readable, after: int) -> int:
        """Return where the first record following `after` starts, by the records' own account."""
        known = self._cursors.get(after)
        at = known[1] if known is not None and known[0] is part.segment else 0
        at = _past(part.segment.bad, at)
        while at < part.size:
            head = os.pread(descriptor, _HEAD_BYTES, at)
            frame = extent_at(head, 0, len(head))
            if frame is None or frame.sequence > after:
                return at
            at = _past(part.segment.bad, at + frame.end)
        return at

    def _remember(self, sequence: int, segment: Segment, offset: int) -> None:
        self._cursors.pop(sequence, None)
        self._cursors[sequence] = (segment, offset)
        while len(self._cursors) > _CURSORS:
            del self._cursors[next(iter(self._cursors))]

    def _survey_again(self, part: Readable) -> None:
        segment = part.segment
        with self._opened(segment) as descriptor:
            found = survey(descriptor, first=segment.first, before=part.before, size=part.size).bad
        self._recovery.note_damage(segment, newly_bad(found, segment.bad))
        segment.bad = found
        self._cursors.clear()


def newly_bad(found: list[tuple[int, int]], known: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the damaged ranges of which nothing was known: one that grew was told when it was smaller."""
    return [(start, end) for start, end in found if not any(a < end and start < b for a, b in known)]


def _past(bad: list[tuple[int, int]], at: int) -> int:
    for start, end in bad:
        if start <= at < end:
            at = end
    return at


def read_frames(
    descriptor: int, at: int, stop: int, until: int | None, max_bytes: int
) -> tuple[Chunk | None, bool]:
    """Return the verified records between two offsets, and whether the first bytes there were intact."""
    window = os.pread(descriptor, min(stop - at, max(max_bytes, _HEAD_BYTES)), at)
    first = extent_at(window, 0, len(window))
    if first is None:
        return None, False
    if len(window) < first.end <= stop - at:
        window = os.pread(descriptor, first.end, at)
    position = count = last = 0
    with memoryview(window) as view:
        while position < len(window):
            frame = framed_at(view, position, len(window))
            if frame is None or (until is not None and frame.sequence > until):
                break
            position, last, count = frame.end, frame.sequence, count + 1
    if count == 0:
        return None, framed_at(window, 0, len(window)) is not None
    data = window if position == len(window) else window[:position]
    return Chunk(first.sequence, last, count, data), True
