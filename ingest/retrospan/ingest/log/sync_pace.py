"""How long the log's disk takes to confirm a write: every acknowledgement waits for that."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

#: What it took longer ago says nothing of the disk as it is now.
_REMEMBERED_SECONDS = 60.0


class SyncPace:
    """Written by the one thread that syncs, read by any."""

    def __init__(self) -> None:
        self._began = 0.0  # of the sync that is under way
        self._took = self._ended = 0.0  # of the last one

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Measure a sync."""
        self._began = began = time.monotonic()
        try:
            yield
        finally:
            self._ended = time.monotonic()
            self._took, self._began = self._ended - began, 0.0

    @property
    def seconds(self) -> float:
        """How long the sync under way has taken, or the last one did, whichever is more; 0 when none was lately."""
        began, now = self._began, time.monotonic()
        last = self._took if now - self._ended < _REMEMBERED_SECONDS else 0.0
        return max(last, now - began if began else 0.0)
