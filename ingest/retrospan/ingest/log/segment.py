"""A segment: one file of whole records, and the survey that says which of its bytes are good.

A survey walks from record to record. Where the bytes are damaged it looks for the next record that holds together:
first where the damaged record's own length points, then byte by byte. A candidate found byte by byte counts only
if it is followed by another record or by the end of the segment: request bytes may contain something that looks
like a record, but it cannot also end where a real one does.
"""

from __future__ import annotations

import mmap
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from retrospan.ingest.log.record import TRAILER_BYTES, checksum_holds, header_of
from retrospan.schemas.wire import Buffer, read_varint, varint

SUFFIX = ".seg"
_NAME = re.compile(r"\d{20}\.seg")
#: How a record begins behind its length: arrived_at, sequence, tenant. Lookahead, so that matches may overlap.
_BEGINNING = re.compile(rb"\x09(?=.{8}\x10[\x80-\xff]{0,9}[\x00-\x7f]\x1a)", re.DOTALL)
_LONGEST_LENGTH = 5
#: Tag and bytes of a record's arrival.
_BEFORE_SEQUENCE = 9
#: At so many places the end of a segment is looked for.
_MOST_ALIKE = 64


class Framed(NamedTuple):
    """Where a whole, checksummed record lies: `start` is the first byte of its length, `body` of the record."""

    sequence: int
    arrived_at: int
    start: int
    body: int
    end: int


@dataclass(slots=True)
class Segment:
    """One file of the log. `size` and `last` are what is durable; `bad` are byte ranges to leave out.

    `size` and `bad` speak of the records' own bytes; an archived segment takes only `packed` bytes on disk. One that
    `is_sealed` no longer grows, even if it is the newest.
    """

    path: Path
    first: int
    last: int = 0
    size: int = 0
    bad: list[tuple[int, int]] = field(default_factory=list)
    packed: int = 0
    is_sealed: bool = False

    @property
    def disk_bytes(self) -> int:
        return self.packed or self.size

    @property
    def place(self) -> str:
        """Where it lies in a data directory, for messages."""
        return f"log/archive/{self.path.name}" if self.packed else f"log/{self.path.name}"


@dataclass(frozen=True, slots=True)
class Survey:
    """What a walk over a whole segment found. `end` is where the last good record ends."""

    records: int
    last: Framed | None
    bad: list[tuple[int, int]]
    end: int


def segment_path(directory: Path, first_sequence: int) -> Path:
    return directory / f"{first_sequence:020d}{SUFFIX}"


def segments_in(directory: Path) -> list[Segment]:
    """Return the segments of a log directory in order, not yet surveyed."""
    names = sorted(name for entry in directory.iterdir() if _NAME.fullmatch(name := entry.name))
    return [
        Segment(path=directory / name, first=int(name[:20]), size=(directory / name).stat().st_size)
        for name in names
    ]


def framed_at(data: Buffer, start: int, end: int) -> Framed | None:
    """Return the whole record that starts at `start` and ends by `end`; None if there is none, or it is damaged."""
    frame = extent_at(data, start, end)
    if frame is None or frame.end > end or not checksum_holds(data, frame.body, frame.end):
        return None
    return frame


def extent_at(data: Buffer, start: int, end: int) -> Framed | None:
    """Return the record that starts at `start` by its own account: no checksum, and it may reach beyond `end`."""
    length = read_varint(data, start, end)
    if length is None or length[0] <= TRAILER_BYTES:
        return None
    header = header_of(data, length[1], min(end, length[1] + length[0]))
    if header is None:
        return None
    return Framed(header[1], header[0], start, length[1], length[1] + length[0])


def begins_with(descriptor: int, size: int) -> int | None:
    """Return the sequence of the whole record that a segment begins with; None when there is none."""
    if (size := _held(descriptor, size)) == 0:
        return None
    with mmap.mmap(descriptor, size, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
        frame = framed_at(data, 0, size)
    return frame.sequence if frame is not None else None


def ends_with(descriptor: int, size: int, sequence: int) -> bool:
    """Return whether the first `size` bytes of a segment end with the whole record of that sequence."""
    if size == 0:
        return False
    mark = b"\x10" + varint(sequence) + b"\x1a"
    with mmap.mmap(descriptor, size, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
        at = size
        # From the end: what is found first is the last record, unless what was sent holds the same bytes.
        for _ in range(_MOST_ALIKE):
            at = mapped.rfind(mark, 0, at)
            body = at - _BEFORE_SEQUENCE
            for start in range(max(0, body - _LONGEST_LENGTH), body):
                frame = extent_at(data, start, size)
                if frame is not None and (frame.sequence, frame.body, frame.end) == (sequence, body, size):
                    return checksum_holds(data, body, size)
            if at < 0:
                return False
    return False


def survey(descriptor: int, *, first: int, before: int | None, size: int) -> Survey:
    """Walk the first `size` bytes of a segment whose sequences lie from `first` up to, not including, `before`.

    What the file does not hold any more, because somebody truncated it, is damaged.
    """
    held = _held(descriptor, size)
    if held == 0:
        return Survey(0, None, [(0, size)] if size else [], 0)
    with mmap.mmap(descriptor, held, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
        found = _walk(data, held, first, before)
    if held == size:
        return found
    start = found.bad.pop()[0] if found.bad and found.bad[-1][1] == held else held
    return replace(found, bad=[*found.bad, (start, size)])


def _held(descriptor: int, size: int) -> int:
    """Return how many of the first bytes there are: what is mapped beyond the end of a file ends the process."""
    return min(size, os.fstat(descriptor).st_size)


def _walk(data: Buffer, size: int, first: int, before: int | None) -> Survey:
    records, last, end, at = 0, None, 0, 0
    bad: list[tuple[int, int]] = []
    lowest = first
    while at < size:
        frame = framed_at(data, at, size)
        if frame is not None and not _in_order(frame, lowest, before):
            frame = None
        if frame is None:
            frame = _next_good(data, at, size, lowest, before)
            bad.append((at, frame.start if frame else size))
            if frame is None:
                break
        records, last, end = records + 1, frame, frame.end
        lowest, at = frame.sequence + 1, frame.end
    return Survey(records, last, bad, end)


def _in_order(frame: Framed, lowest: int, before: int | None) -> bool:
    return frame.sequence >= lowest and (before is None or frame.sequence < before)


def _next_good(data: Buffer, damaged: int, size: int, lowest: int, before: int | None) -> Framed | None:
    """Return the first record behind a damaged one that can be trusted."""
    claimed = extent_at(data, damaged, size)
    if claimed is not None and claimed.end < size:
        frame = framed_at(data, claimed.end, size)
        if frame is not None and _in_order(frame, lowest, before):
            return frame
    with memoryview(data) as view:
        for match in _BEGINNING.finditer(view, damaged + 1, size):
            for length in range(1, min(_LONGEST_LENGTH, match.start() - damaged) + 1):
                frame = extent_at(data, match.start() - length, size)
                if frame is None or frame.body != match.start() or not _in_order(frame, lowest, before):
                    continue
                followed = frame.end == size or framed_at(data, frame.end, size) is not None
                if followed and checksum_holds(data, frame.body, frame.end):
                    return frame
    return None
