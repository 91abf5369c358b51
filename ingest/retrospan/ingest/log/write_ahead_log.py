"""The write-ahead log: what was acknowledged is in here, on disk, and everything else is derived from it.

    DATA/log/00000000000000000001.seg      named by the first sequence in it
    ┌────────┬──────────────────────────────────────────────────────────────┬────────┬─────────────────────
    │ length │ record 1                                                     │ length │ record 2 …
    │ varint │ arrived_at · sequence · tenant · OTLP bytes · rejects · CRC  │ varint │
    └────────┴──────────────────────────────────────────────────────────────┴────────┴─────────────────────
    DATA/log/00000000000000000731.seg      begun when the first would have grown beyond `segment_bytes`
    DATA/log/archive/                      segments that are full or sealed, and loaded, compressed (`archive.py`)

One thread writes. It takes everything that waits, appends it with one write, makes it durable with one fdatasync,
and only then answers all of them (group commit): under load a sync is shared by many requests, alone a request
waits for one. Records are `record.py`, damage is `recovery.py`, reading is `segment_reader.py`.

A disk that refuses a write or a sync ends all writing until the log is opened again: a failed sync may have lost
pages that a second one would report as written. A full disk found by the write itself is taken back cleanly, and so is
a segment that cannot be begun, for want of descriptors say: nothing of it was written.
"""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from retrospan.ingest.log.archive import DIRECTORY, archived_in
from retrospan.ingest.log.commit_future import CommitFuture
from retrospan.ingest.log.disk_budget import GIB, MIB, DiskBudget, LogLimits
from retrospan.ingest.log.hashes import NAME, KnownHashes, has_records
from retrospan.ingest.log.record import Note, Reject, encode, seal
from retrospan.ingest.log.recovery import Recovered, recover
from retrospan.ingest.log.segment import Segment, segment_path
from retrospan.ingest.log.segmented import SegmentedLog
from retrospan.ingest.log.sync_pace import SyncPace
from retrospan.ingest.log.tombstones import Tombstones
from retrospan.ingest.machine.durable_files import NO_ROOM, Files
from retrospan.ingest.machine.system_errors import worded
from retrospan.schemas.errors import LogFailed, LogFull, RetryableError


@dataclass(slots=True)
class _Entry:
    sequence: int
    parts: list[bytes]
    size: int
    durable: CommitFuture


class WriteAheadLog(SegmentedLog):
    """Append from any thread; read from any thread. Made by `open`; one per directory (see `directory.claim`)."""

    def __init__(
        self, directory: Path, files: Files, limits: LogLimits, found: Recovered, next_sequence: int
    ) -> None:
        super().__init__(directory, files, found.segments, found.recovery)
        self._limits = limits
        self._work = threading.Condition(self._lock)
        self._queue: list[_Entry] = []
        self._next = next_sequence
        self._arrived_at = found.last_arrived_at
        self._durable = found.last_sequence
        self._room = DiskBudget(
            directory, files, limits, sum(segment.disk_bytes for segment in found.segments)
        )
        self._ended: RetryableError | None = None
        self.obstacle = ""
        """Why the last segment could not be begun, which the next record tries again; '' when it could."""
        self.pace = SyncPace()
        """How long the disk takes to confirm a write."""
        self._descriptor = -1
        self._writer = threading.Thread(target=self._write, name="retrospan-log-writer", daemon=True)
        self._writer.start()

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        segment_bytes: int = 64 * MIB,
        limit_bytes: int = 64 * GIB,
        low_water_bytes: int = GIB,
        loaded_sequence: int = 0,
        files: Files | None = None,
    ) -> WriteAheadLog:
        """Open a directory, creating it where missing, and recover what a crash left behind (`recovery`).

        `loaded_sequence` is the last sequence the warehouse is known to hold. No later record gets that number
        again, even if the disk lost the log's end; and segments before it are not verified now.
        """
        files = files or Files()
        files.make_directory(directory)
        if not has_records(directory):
            # With the log, so that its absence tells that somebody removed it.
            KnownHashes(directory / NAME, files).begin()
        found = recover(directory, files, loaded_sequence=loaded_sequence)
        limits = LogLimits(
            segment_bytes=segment_bytes, limit_bytes=limit_bytes, low_water_bytes=low_water_bytes
        )
        return cls(directory, files, limits, found, max(found.last_sequence, loaded_sequence) + 1)

    def append(
        self,
        *,
        tenant: str,
        traces: bytes | None = None,
        logs: bytes | None = None,
        rejects: Sequence[Reject] = (),
        items: int = 0,
        notes: Sequence[Note] = (),
    ) -> int:
        """Write one record and return its sequence, once its bytes are on disk (fdatasync).

        `items` is how many spans or log records the request holds; the loader cuts its batches by it.

        Raises:
            LogFull: the log is at its limit, the disk below its low-water mark, or no segment can be begun; nothing
                was written.
            LogFailed: the disk failed, or the log is closed; whether the record is on disk is unknown.
        """
        later = self.append_later(
            tenant=tenant, traces=traces, logs=logs, rejects=rejects, items=items, notes=notes
        )
        return later.result()

    def append_later(
        self,
        *,
        tenant: str,
        traces: bytes | None = None,
        logs: bytes | None = None,
        rejects: Sequence[Reject] = (),
        items: int = 0,
        notes: Sequence[Note] = (),
    ) -> CommitFuture:
        """As `append`, without waiting; LogFull and a log that has failed already are raised at once."""
        durable = CommitFuture()
        with self._lock:
            if self._ended is not None:
                raise type(self._ended)(str(self._ended))
            arrived_at = max(time.time_ns(), self._arrived_at + 1)
            parts, size = encode(
                arrived_at=arrived_at,
                sequence=self._next,
                tenant=tenant,
                traces=traces,
                logs=logs,
                rejects=rejects,
                items=items,
                notes=notes,
                sealed=False,
            )
            has_spans = traces is not None or logs is not None or bool(rejects)
            self._room.reserve(size, self._waiting(), has_spans=has_spans)
            self._queue.append(_Entry(self._next, parts, size, durable))
            self._next += 1
            self._arrived_at = arrived_at
            self._work.notify()
        return durable

    @property
    def last_arrived_at(self) -> int:
        """When the last record arrived, Unix ns; 0 when there is none. One that follows arrives later, whatever the clock
        says."""
        return self._arrived_at

    @property
    def bytes_used(self) -> int:
        """The size of all segments on disk, archived ones and what is about to be written included."""
        return self._room.used

    def segments(self, first: int = 0) -> list[Segment]:
        """Return copies of the segments that begin at a sequence or later, as far as they are durable, in order."""
        with self._lock:
            found = self._segments[self._place_of(first) :]
            return [replace(s, bad=list(s.bad)) for s in found if s.last]

    def note_archived(self, first: int, path: Path | None, size: int, packed: int) -> None:
        """Count what became of a segment that a follower archived, wrote anew, or removed (`path` None)."""
        with self._lock:
            at = self._place_of(first)
            segment = self._segments[at] if at < len(self._segments) else None
            is_newest = at == len(self._segments) - 1
            if segment is None or segment.first != first or (is_newest and not segment.is_sealed):
                return
            before = segment.disk_bytes
            if path is None:
                del self._segments[at]
                self._room.used -= before
            else:
                segment.path, segment.size, segment.packed = path, size, packed
                self._room.used += segment.disk_bytes - before

    def look_again(self) -> None:
        """Find what a follower made of the archive and had no time to say: it was killed."""
        folder = self.directory / DIRECTORY
        removed = Tombstones.read(folder)
        archived = {segment.first: segment for segment in archived_in(self.directory)}
        with self._lock:
            sealed = super()._sealed()
        for segment in sealed:
            found = archived.get(segment.first)
            if not segment.packed and segment.path.exists():
                continue  # of one that is there as both, the plain one counts
            if found is not None and removed.holds(found.first, found.last):
                self._files.remove(found.path)  # it was to go when the follower died
                found = None
            if found is None:
                self.note_archived(segment.first, None, 0, 0)
            else:
                self.note_archived(segment.first, found.path, found.size, found.packed)

    def seal(self, last_sequence: int) -> bool:
        """Have the next record begin a new segment, if this one is the newest record; return whether it is."""
        with self._lock:
            newest = self._segments[-1] if self._segments else None
            # Then nothing is on its way, and the writer's thread has nothing in hand.
            is_last = newest is not None and newest.last == last_sequence == self._next - 1
            if newest is None or not is_last or self._ended is not None:
                return False
            newest.is_sealed = True
            descriptor, self._descriptor = self._descriptor, -1
            if descriptor >= 0:
                # Now: once the file is archived and removed, an open one would keep its bytes.
                self._files.close(descriptor)
            return True

    @property
    def failure(self) -> str:
        """Why nothing can be appended any more; '' as long as it can."""
        return str(self._ended) if self._ended is not None else ""

    def close(self) -> None:
        """Write what was accepted, then stop; later appends raise LogFailed. Harmless when repeated."""
        with self._lock:
            if self._ended is None:
                self._ended = LogFailed("the write-ahead log is closed")
            self._work.notify_all()
        self._writer.join()
        if self._descriptor >= 0:
            self._files.close(self._descriptor)
            self._descriptor = -1
        super().close()

    def _sealed(self) -> list[Segment]:
        return [] if self._ended is not None else super()._sealed()

    def _resized(self, segment: Segment, by: int) -> None:
        self._room.used += by

    def _waiting(self) -> int:
        """Return the size of what is not on disk yet."""
        return sum(entry.size for entry in self._queue)

    def _write(self) -> None:
        """Write everything that waits, again and again: the writer thread."""
        while True:
            with self._lock:
                while not self._queue and self._ended is None:
                    self._work.wait()
                if not self._queue:
                    return
                batch, self._queue = self._queue, []
            try:
                for entry in batch:
                    # Here and not where it is appended: there the lock is held, and every sender would wait.
                    seal(entry.parts)
                self._commit(batch)
            except LogFull as full:
                self._give_back(batch, full)
            except Exception as cause:  # noqa: BLE001 - whatever it was, those who wait must be told
                self._fail(batch, cause)

    def _commit(self, batch: list[_Entry]) -> None:
        """Write a batch, beginning new segments where it crosses their size, and answer each part when durable."""
        waiting: list[_Entry] = []
        size = self._segments[-1].size if self._descriptor >= 0 else 0
        for entry in batch:
            full = size > 0 and size + entry.size > self._limits.segment_bytes
            if self._descriptor < 0 or full:
                self._flush(waiting)
                waiting = []
                try:
                    size = self._begin_segment(entry)
                except OSError as cause:
                    if cause.errno == errno.EIO:
                        raise  # the name may not have become durable, as bytes after a failed sync
                    self.obstacle = self._why_no_segment(cause)
                    raise LogFull(self.obstacle) from cause
                self.obstacle = ""
            waiting.append(entry)
            size += entry.size
        self._flush(waiting)

    def _begin_segment(self, entry: _Entry) -> int:
        """Go on in the newest segment after opening, or begin a new one; returns its size."""
        newest = self._segments[-1] if self._segments else None
        if self._descriptor < 0 and newest is not None and not newest.packed and not newest.is_sealed:
            fits = newest.size + entry.size <= self._limits.segment_bytes
            if fits and newest.last + 1 == entry.sequence:
                self._descriptor = self._files.open_append(newest.path)
                return newest.size
        if self._descriptor >= 0:
            self._files.close(self._descriptor)
            self._descriptor = -1
        path = segment_path(self.directory, entry.sequence)
        self._descriptor = self._files.create(path)
        with self._lock:
            self._segments.append(Segment(path=path, first=entry.sequence))
        return 0

    def _flush(self, waiting: list[_Entry]) -> None:
        """Append these entries to the open segment, make them durable, and answer them."""
        if not waiting:
            return
        segment = self._segments[-1]
        try:
            self._files.append(self._descriptor, [part for entry in waiting for part in entry.parts])
        except OSError as cause:
            if cause.errno not in NO_ROOM:
                raise
            # Nothing was synced, so cutting back to the durable size leaves no doubt about what is on disk.
            self._files.truncate(segment.path, segment.size)
            raise LogFull(self._disk_is_full) from cause
        with self.pace.measuring():
            self._files.sync(self._descriptor)
        with self._lock:
            segment.size += sum(entry.size for entry in waiting)
            segment.last = self._durable = waiting[-1].sequence
            self._room.measure(self._waiting())
            self._grown.notify_all()
        for entry in waiting:
            entry.durable.set_result(entry.sequence)

    @property
    def _disk_is_full(self) -> str:
        return f"the disk of {self.directory} is full: free some space"

    def _why_no_segment(self, cause: OSError) -> str:
        if cause.errno in NO_ROOM:
            return self._disk_is_full
        return f"no file can be begun in {self.directory}: {worded(cause)}. It goes on by itself once that is mended"

    def _give_back(self, batch: list[_Entry], full: LogFull) -> None:
        """Refuse all that is not durable and take its sequences back, so that the log has no gap."""
        with self._lock:
            refused = [entry for entry in batch if not entry.durable.done()] + self._queue
            self._queue = []
            self._next = refused[0].sequence
            self._room.used = sum(segment.disk_bytes for segment in self._segments)
            self._room.free = 0
        for entry in refused:
            entry.durable.set_exception(full)

    def _fail(self, batch: list[_Entry], cause: Exception) -> None:
        """Refuse all that is not durable, and everything that comes, until the log is opened again."""
        failure = LogFailed(f"the disk refused a write to {self.directory}: {cause}. Restart to recover")
        failure.__cause__ = cause
        with self._lock:
            refused = [entry for entry in batch if not entry.durable.done()] + self._queue
            self._queue = []
            self._ended = failure
        for entry in refused:
            entry.durable.set_exception(failure)
