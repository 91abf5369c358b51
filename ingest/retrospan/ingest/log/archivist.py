"""A thread that brings loaded segments of the log into the archive, at the lowest priority, and never in the way.

Compressing takes a quarter of a core while spans flood in (measured on two cores), and has time: it waits for a lull.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from retrospan.ingest.log.segmented import SegmentedLog
from retrospan.ingest.priority import ARCHIVING
from retrospan.ingest.service import Service

_LOOK_SECONDS = 1.0
_RETRY_SECONDS = 30.0
#: A flood without a lull gives way to one segment so often.
_PATIENCE_SECONDS = 60.0


class Archivist(Service):
    """One per log. Segments that could not be archived stay as they are; those left at a stop wait for the next start."""

    thread_name = "retrospan-archivist"
    work = "archiving a segment"
    niceness = ARCHIVING
    pauses = (_RETRY_SECONDS, _RETRY_SECONDS)

    def __init__(
        self, log: SegmentedLog, loaded: Callable[[], int], may_wait: Callable[[], bool] = lambda: False
    ) -> None:
        """Ask `loaded` up to which sequence the warehouse has everything; `may_wait`, whether others need the processor
        and the disk has room."""
        super().__init__(_LOOK_SECONDS)
        self._log = log
        self._loaded = loaded
        self._may_wait = may_wait
        self._worked_at = time.monotonic()

    def run_once(self) -> None:
        """Archive what is loaded, until others need the processor."""
        if self._may_wait() and time.monotonic() - self._worked_at < _PATIENCE_SECONDS:
            return
        while self._log.archive_next(self._loaded()):
            if self.is_stopping or self._may_wait():
                break
        self._worked_at = time.monotonic()
