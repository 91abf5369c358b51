"""A thread that brings loaded segments of the log into the archive, at the lowest priority, and never in the way.

Compressing takes a quarter of a core while spans flood in (measured on two cores), and has time: it waits for a lull.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from retrospan.ingest.log.segmented import SegmentedLog
from retrospan.ingest.priority import ARCHIVING, set_thread_nice

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0
_RETRY_SECONDS = 30.0
#: A flood without a lull gives way to one segment so often.
_PATIENCE_SECONDS = 60.0


class Archivist:
    """One per log."""

    def __init__(
        self, log: SegmentedLog, loaded: Callable[[], int], may_wait: Callable[[], bool] = lambda: False
    ) -> None:
        """`loaded` says up to which sequence the warehouse has everything; `may_wait`, whether others need the processor
        and the disk has room."""
        self.failure = ""
        """Why the last segment could not be archived; '' when it could. It stays as it is and is tried again."""
        self._log = log
        self._loaded = loaded
        self._may_wait = may_wait
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="retrospan-archivist", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Finish the segment in hand, then end. What is left waits for the next start. Harmless when repeated."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        set_thread_nice(ARCHIVING)
        pause = _LOOK_SECONDS
        worked = time.monotonic()
        while not self._stopping.wait(pause):
            if self._may_wait() and time.monotonic() - worked < _PATIENCE_SECONDS:
                continue
            try:
                while self._log.archive_next(self._loaded()):
                    if self._stopping.is_set() or self._may_wait():
                        break
                worked = time.monotonic()
                self.failure, pause = "", _LOOK_SECONDS
            except OSError as cause:
                self.failure, pause = str(cause), _RETRY_SECONDS
                _LOG.warning("a segment could not be archived, trying again in %.0f s: %.300s", pause, cause)
