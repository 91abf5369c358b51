"""A log with missing files: what follows a segment whose file is missing can still be compared."""

from __future__ import annotations

from typing import Protocol

from retrospan.ingest.load.batches import ReadableLog
from retrospan.ingest.log.segment import Segment
from retrospan.ingest.log.segment_reader import Chunk
from retrospan.ingest.verify.log_bytes import VerifiedLog
from retrospan.schemas.errors import SegmentUnreadable

#: A file that moves while it is looked for, into the archive say, is found the next time.
_TRIES = 3


class LogOfFiles(VerifiedLog, ReadableLog, Protocol):
    """What is asked of the log."""

    def missing(self) -> list[Segment]: ...


class SurvivingLog:
    """Reads like the log, and goes on behind a segment whose file was removed while the collector runs."""

    def __init__(self, log: LogOfFiles) -> None:
        self._log = log

    @property
    def durable_sequence(self) -> int:
        return self._log.durable_sequence

    def bytes_beyond(self, sequence: int) -> int:
        return self._log.bytes_beyond(sequence)

    def wait_beyond(self, sequence: int, timeout: float) -> bool:
        return self._log.wait_beyond(sequence, timeout)

    def archived(self, loaded_sequence: int) -> list[Segment]:
        return self._log.archived(loaded_sequence)

    def missing(self) -> list[Segment]:
        return self._log.missing()

    def read(self, after_sequence: int, *, max_bytes: int, until: int | None = None) -> Chunk | None:
        """Return the records that follow a sequence in the files that are there; None if there are none.

        Raises SegmentUnreadable when the files move faster than they can be read, or the disk does not give one out.
        """
        after, tries = after_sequence, _TRIES
        while until is None or after < until:
            try:
                return self._log.read(after, max_bytes=max_bytes, until=until)
            except SegmentUnreadable:
                gone = next((segment for segment in self._log.missing() if segment.last > after), None)
                tries = _TRIES if gone is not None else tries - 1
                if not tries:
                    raise
                after = gone.last if gone is not None else after
        return None
