"""A thread that brings loaded segments of the log into the archive, at the lowest priority, and never in the way.

Compressing takes a quarter of a core while spans flood in (measured on two cores), and has time: it waits for a lull.
A segment that is not full is sealed once nothing has come in for a while, so that a log at rest is compressed too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from retrospan.ingest.machine.priority import ARCHIVING
from retrospan.ingest.service import Service

_LOOK_SECONDS = 1.0
_RETRY_SECONDS = 30.0
#: A flood without a lull gives way to one segment so often.
_PATIENCE_SECONDS = 60.0
#: The newest segment is sealed once it has not grown for so long,
_QUIET_SECONDS = 30.0
#: unless it is smaller than this: each piece is a file, and small pieces have less that repeats.
_WORTH_BYTES = 4 << 20


class ArchivedLog(Protocol):
    """What is asked of the log."""

    def archive_next(self, loaded_sequence: int) -> bool: ...

    def growing(self) -> tuple[int, int]: ...

    def seal(self, last_sequence: int) -> bool: ...


class Archivist(Service):
    """One per log. Segments that could not be archived stay as they are; those left at a stop wait for the next start."""

    thread_name = "retrospan-archivist"
    work = "archiving a segment"
    niceness = ARCHIVING
    pauses = (_RETRY_SECONDS, _RETRY_SECONDS)

    def __init__(
        self, log: ArchivedLog, loaded: Callable[[], int], may_wait: Callable[[], bool] = lambda: False
    ) -> None:
        """Ask `loaded` up to which sequence the warehouse has everything; `may_wait`, whether others need the processor
        and the disk has room."""
        super().__init__(_LOOK_SECONDS)
        self._log = log
        self._loaded = loaded
        self._may_wait = may_wait
        self._worked_at = time.monotonic()
        self._growing, self._grew_at = (0, 0), time.monotonic()

    def run_once(self) -> None:
        """Archive what is loaded, until others need the processor."""
        if self._may_wait() and time.monotonic() - self._worked_at < _PATIENCE_SECONDS:
            return
        while self._log.archive_next(self._loaded()):
            if self.is_stopping or self._may_wait():
                break
        self._worked_at = time.monotonic()
        self._seal_at_rest()

    def _seal_at_rest(self) -> None:
        growing = self._log.growing()
        if growing != self._growing:
            self._growing, self._grew_at = growing, time.monotonic()
            return
        last, size = growing
        rests = last <= self._loaded() and time.monotonic() - self._grew_at >= _QUIET_SECONDS
        if size >= _WORTH_BYTES and rests and not self.is_stopping:
            self._log.seal(last)
