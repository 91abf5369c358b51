"""Reads the next batch while one is inserted, so that in a flood the engine does not wait for Python.

Reading, joining and hashing a full batch takes a fifth of the time that its insert takes. The batch is used once
everything before it is loaded, and dropped if the loader has moved elsewhere in the meantime.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from retrospan.ingest.load.batches import Content
from retrospan.ingest.machine.priority import LOADING, set_thread_nice


class Prefetcher:
    """One batch at most. Belongs to the loader's thread, and has one of its own while it reads."""

    def __init__(self, read: Callable[[int], Content]) -> None:
        """`read` gives the batch that follows a sequence."""
        self._read = read
        self._after = -1
        self._content: Content | None = None
        self._thread: threading.Thread | None = None

    def begin(self, after: int) -> None:
        """Read what follows a sequence, from now on; what was read already stays."""
        if self._after == after and (self._thread is not None or self._content is not None):
            return
        self.drop()
        self._after = after
        self._thread = threading.Thread(target=self._run, name="retrospan-ahead", daemon=True)
        self._thread.start()

    def take(self, after: int) -> Content | None:
        """Return what follows a sequence, waiting for it; None when that was not begun, or could not be read."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        content, self._content = self._content, None
        return content if self._after == after and content is not None and content.frames else None

    def drop(self) -> None:
        """Forget what was read."""
        self.take(-1)

    def _run(self) -> None:
        set_thread_nice(LOADING)
        try:
            self._content = self._read(self._after)
        except OSError:
            self._content = None  # the loader reads it itself then, and says what is wrong
