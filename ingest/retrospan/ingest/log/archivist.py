"""A thread that brings loaded segments of the log into the archive, at the lowest priority, and never in the way."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.precedence import ARCHIVING, give_way

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0
_RETRY_SECONDS = 30.0


class Archivist:
    """One per log. `loaded` says up to which sequence the warehouse has everything."""

    def __init__(self, log: WriteAheadLog, loaded: Callable[[], int]) -> None:
        self.failure = ""
        """Why the last segment could not be archived; '' when it could. It stays as it is and is tried again."""
        self._log = log
        self._loaded = loaded
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
        give_way(ARCHIVING)
        pause = _LOOK_SECONDS
        while not self._stopping.wait(pause):
            try:
                while self._log.archive_next(self._loaded()) and not self._stopping.is_set():
                    pass
                self.failure, pause = "", _LOOK_SECONDS
            except OSError as cause:
                self.failure, pause = str(cause), _RETRY_SECONDS
                _LOG.warning("a segment could not be archived, trying again in %.0f s: %.300s", pause, cause)
