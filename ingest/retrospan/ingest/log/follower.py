"""The log as the process of the warehouse sees it: it reads and archives segments that another process writes.

It is told how far the log is durable, and never reads beyond. Its own records (flags, holds, receipts) go to the single
writer and are on disk when `append` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from retrospan.ingest.log.record import Note
from retrospan.ingest.log.recovery import Recovery
from retrospan.ingest.log.segment import Segment
from retrospan.ingest.log.segmented import SegmentedLog
from retrospan.ingest.machine.durable_files import Files


class Append(Protocol):
    """Has the writer of the log append notes; returns the record's sequence once it is on disk."""

    def __call__(self, *, tenant: str, notes: Sequence[Note] = ()) -> int: ...


class Seal(Protocol):
    """Has the writer of the log seal its newest segment, if this is its last record; returns whether it did."""

    def __call__(self, last_sequence: int) -> bool: ...


class LogFollower(SegmentedLog):
    """One per process. `grow` belongs to whoever hears of the log; everything else may be called from any thread."""

    def __init__(
        self,
        directory: Path,
        segments: list[Segment],
        append: Append,
        moved: Callable[[Segment, bool], None],
        seal: Seal = lambda last_sequence: False,
        files: Files | None = None,
    ) -> None:
        """`segments` are what the writer has durable by now; `moved` is told of each segment that was archived, written
        anew (True) or removed (False)."""
        super().__init__(directory, files or Files(), segments, Recovery())
        self._append = append
        self._moved = moved
        self._ask_to_seal = seal
        self._durable = segments[-1].last if segments else 0

    def grow(self, segments: Sequence[Segment]) -> None:
        """Note how far the newest segments are durable now: the newest that was known, and those that are new."""
        with self._grown:
            newest = self._segments[-1] if self._segments else None
            for told in segments:
                if newest is not None and told.first == newest.first:
                    # Words may come late: what was durable stays so.
                    newest.size, newest.last = max(newest.size, told.size), max(newest.last, told.last)
                    newest.is_sealed |= told.is_sealed
                elif not self._segments or told.first > self._segments[-1].first:
                    self._segments.append(told)
            if self._segments:
                self._durable = max(self._durable, self._segments[-1].last)
            self._grown.notify_all()

    def append(self, *, tenant: str, notes: Sequence[Note] = ()) -> int:
        """Write one record of notes and return its sequence, once it is on disk.

        Raises:
            LogFull: the log has no room for it; nothing was written.
            LogFailed: the disk failed, or the writer is gone; whether the record is on disk is unknown.
        """
        return self._append(tenant=tenant, notes=notes)

    def seal(self, last_sequence: int) -> bool:
        """Have the writer begin a new segment with the next record, if this one is the newest; whether it is."""
        if not self._ask_to_seal(last_sequence):
            return False
        with self._lock:
            newest = self._segments[-1]
            newest.is_sealed |= newest.last == last_sequence
        return True

    def _resized(self, segment: Segment, by: int) -> None:
        self._moved(segment, segment in self._segments)
