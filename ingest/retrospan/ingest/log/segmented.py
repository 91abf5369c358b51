"""The reading side of a log: which segments there are, how far they are durable, and what they contain.

Two classes build on it: the write-ahead log, which makes segments grow, and the follower in the process of the warehouse,
which is told that they have grown. Whoever follows the log archives it, and passes the change in size to `_resized`.
"""

from __future__ import annotations

import errno
import threading
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

from retrospan.ingest.log.archive import DIRECTORY, opened, pack
from retrospan.ingest.log.recovery import Recovery
from retrospan.ingest.log.rewrite import Rewritten
from retrospan.ingest.log.segment import Segment, survey
from retrospan.ingest.log.segment_reader import Chunk, Readable, SegmentReader, newly_bad
from retrospan.ingest.log.tombstones import Tombstones
from retrospan.ingest.machine.durable_files import Files
from retrospan.schemas.errors import SegmentUnreadable

#: What the disk says of one file. Anything else, such as too many open files, says nothing against the segment.
_OF_THE_FILE = {
    errno.ENOENT,
    errno.EIO,
    errno.EISDIR,
    errno.EACCES,
    errno.EPERM,
    errno.ELOOP,
    errno.ESTALE,
    errno.EUCLEAN,
}


class SegmentedLog:
    """Read from any thread. Segments are in order; only the newest grows, unless it is sealed. Others are archived."""

    def __init__(self, directory: Path, files: Files, segments: list[Segment], recovery: Recovery) -> None:
        self.directory = directory
        self.recovery = recovery
        self._files = files
        self._segments = segments
        self._reader = SegmentReader(recovery)
        self._reading = threading.Lock()
        self._lock = threading.Lock()
        self._grown = threading.Condition(self._lock)
        self._durable = 0
        self._unfit: set[int] = set()

    @property
    def durable_sequence(self) -> int:
        """The last sequence that is on disk; 0 when there is none."""
        return self._durable

    @property
    def archive_bytes(self) -> int:
        """What the archived segments take on disk."""
        return sum(segment.packed for segment in list(self._segments))

    @property
    def disk_bytes(self) -> int:
        """What all segments take on disk."""
        return sum(segment.disk_bytes for segment in list(self._segments))

    def bytes_beyond(self, sequence: int) -> int:
        """About how many durable bytes follow a record: exact by segment, by share of records within one."""
        with self._lock:
            found = 0
            for segment in reversed(self._segments):
                if not segment.last:
                    continue  # begun just now
                if segment.last <= sequence:
                    break
                records = segment.last - segment.first + 1
                found += segment.size * min(records, segment.last - sequence) // records
            return found

    def wait_beyond(self, sequence: int, timeout: float) -> bool:
        """Wait up to `timeout` seconds for a durable record following `sequence`; whether there is one."""
        with self._grown:
            return self._grown.wait_for(lambda: self._durable > sequence, timeout)

    def read(self, after_sequence: int, *, max_bytes: int, until: int | None = None) -> Chunk | None:
        """Return the durable records following a sequence (and up to `until`), as many as fit; None if there are none.

        A chunk never crosses a segment's end, and holds at least one record, however large. Sequences are missing
        only where records were lost (`recovery`).

        Raises SegmentUnreadable when the file that holds them is gone, or the disk does not give it out.
        """
        with self._reading:
            for part in self._readable(after_sequence):
                try:
                    chunk = self._reader.read(part, after_sequence, until=until, max_bytes=max_bytes)
                except OSError as cause:
                    if cause.errno not in _OF_THE_FILE:
                        raise
                    raise _unreadable(part.segment, cause) from cause
                if chunk is not None:
                    return chunk
            self._reader.close()  # whoever read to the end needs no unpacked segment any more
        return None

    def growing(self) -> tuple[int, int]:
        """Return the last record of a segment that still grows, and the segment's size; (0, 0) when none does."""
        with self._lock:
            newest = self._segments[-1] if self._segments else None
            return (
                (0, 0) if newest is None or newest.is_sealed or newest.packed else (newest.last, newest.size)
            )

    def archive_next(self, loaded_sequence: int) -> bool:
        """Compress the oldest sealed segment whose records are all loaded; whether there was one.

        The plain file is removed once the archive has been read back and is durable. A segment with damage in it
        stays plain, so that nothing of the damage is lost; `recovery` says where it is. Called by one thread at a time.

        Raises OSError when the disk refuses; the segment stays as it is.
        """
        with self._lock:
            waiting = [s for s in self._sealed() if not s.packed and s.first not in self._unfit]
        if not waiting or waiting[0].last > loaded_sequence:
            return False
        segment = waiting[0]
        with opened(segment) as descriptor:
            found = survey(descriptor, first=segment.first, before=segment.last + 1, size=segment.size)
        if found.bad or found.records != segment.last - segment.first + 1:
            self._note_unfit(segment, found.bad)
            return True
        plain = segment.path
        target, packed = pack(segment, self._files)
        with self._reading, self._lock:
            before, segment.path, segment.packed = segment.disk_bytes, target, packed
            self._resized(segment, packed - before)
        self._files.remove(plain)
        return True

    def archived(self, loaded_sequence: int) -> list[Segment]:
        """Return the archived segments whose records are all loaded, oldest first; never the newest of the log."""
        with self._lock:
            return [s for s in self._segments[:-1] if s.packed and s.last <= loaded_sequence]

    def missing(self) -> list[Segment]:
        """Return the segments whose file is gone, though nothing of this log removed it."""
        with self._lock:
            return [s for s in self._segments if s.last and not s.path.exists()]

    def absent_records(self) -> int:
        """Return how many records no segment holds, though retention removed none of them."""
        removed = Tombstones.read(self.directory / DIRECTORY)
        with self._lock:
            held = [(s.first, s.last) for s in self._segments if s.last]
        before = [0, *(last for _, last in held)]
        return sum(removed.missing(last, first) for last, (first, _) in zip(before, held, strict=False))

    def unarchived(self, loaded_sequence: int) -> list[Segment]:
        """Return the plain segments whose records are all loaded and that are not archived for their damage."""
        with self._lock:
            return [
                s
                for s in self._segments[:-1]
                if not s.packed and s.last <= loaded_sequence and (s.bad or s.first in self._unfit)
            ]

    def put_back(self, rewritten: Rewritten) -> None:
        """Put the new content of an archived segment in its place, or remove the segment when nothing is left.

        Raises OSError when the disk refuses; the segment stays as it was, or is removed at the next start.
        """
        segment, folder = rewritten.segment, self.directory / DIRECTORY
        if rewritten.path is None:
            removed = Tombstones.read(folder)
            removed.add(segment.first, segment.last)
            removed.write(folder, self._files)
            with self._reading, self._lock:
                self._segments.remove(segment)
                self._resized(segment, -segment.disk_bytes)
            self._files.remove(segment.path)
            return
        plain = Segment(path=rewritten.path, first=segment.first, last=segment.last, size=rewritten.size)
        with self._reading:
            # One who reads the old content meanwhile has its own descriptor; the next one opens the new.
            target, packed = pack(plain, self._files, folder)
            made = Segment(
                path=target, first=segment.first, last=segment.last, size=rewritten.size, packed=packed
            )
            with self._lock:
                self._segments[self._segments.index(segment)] = made
                self._resized(made, packed - segment.disk_bytes)
        self._files.remove(rewritten.path)

    def close(self) -> None:
        """Let go of what reading holds. Harmless when repeated."""
        with self._reading:
            self._reader.close()

    def _note_unfit(self, segment: Segment, bad: list[tuple[int, int]]) -> None:
        """Leave a segment plain. Damage that came after its records were loaded is told here, and nowhere before."""
        with self._reading:
            self._unfit.add(segment.first)
            self.recovery.note_damage(segment, newly_bad(bad, segment.bad))
            segment.bad = bad

    def _sealed(self) -> list[Segment]:
        """Return the segments that no longer grow. Under the lock."""
        return [s for s in self._segments if s.is_sealed or s is not self._segments[-1]]

    def _resized(self, segment: Segment, by: int) -> None:
        """Account for a segment that takes so many bytes of disk more, or less; it may be gone. Under the lock."""

    def _place_of(self, sequence: int) -> int:
        """Return where among the segments that one lies, or would lie, which begins with a record. Under the lock."""
        return bisect_left(self._segments, sequence, key=lambda segment: segment.first)

    def _readable(self, after: int) -> Iterator[Readable]:
        """Give the segments that hold records following a sequence, one by one: most readers want the first only."""
        while (part := self._next_readable(after)) is not None:
            yield part
            after = part.segment.last

    def _next_readable(self, after: int) -> Readable | None:
        with self._lock:
            # The one before may hold what follows; one that was begun just now holds nothing yet.
            for at in range(max(0, self._place_of(after + 1) - 1), len(self._segments)):
                segment = self._segments[at]
                if segment.last > after:
                    following = self._segments[at + 1] if at + 1 < len(self._segments) else None
                    return Readable(segment, segment.size, following.first if following is not None else None)
        return None


def _unreadable(segment: Segment, cause: OSError) -> SegmentUnreadable:
    is_missing = cause.errno == errno.ENOENT
    error = SegmentUnreadable(
        f"{segment.place} {'is missing' if is_missing else f'cannot be read ({cause.strerror})'}: it holds records "
        f"{segment.first}-{segment.last}. Put it back from a backup; or {'' if is_missing else 'move it away and '}"
        "restart the collector, which goes on without them and counts them as lost"
    )
    error.errno = cause.errno
    return error
