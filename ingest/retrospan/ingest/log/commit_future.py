"""The outcome of appending one record: the appender waits here until its bytes are on disk, or known not to be.

It is one lock and nothing else: completing the standard library's Future took up to a tenth of Python's time while
requests flooded in.
"""

from __future__ import annotations

import threading


class CommitFuture:
    """Kept once, by the thread that writes; waited for by any number of others."""

    __slots__ = ("_failure", "_known", "_pending", "_sequence")

    def __init__(self) -> None:
        self._pending = threading.Lock()  # held until the outcome is known
        self._pending.acquire()
        self._known = False
        self._sequence = 0
        self._failure: Exception | None = None

    def done(self) -> bool:
        """Return whether the outcome is known."""
        return self._known

    def result(self, timeout: float = -1) -> int:
        """Return the record's sequence, once its bytes are on disk. Waits, by default for as long as it takes.

        Raises:
            TimeoutError: it was not known within `timeout` seconds.
            LogFull, LogFailed: as `WriteAheadLog.append` says.
        """
        if not self._pending.acquire(timeout=timeout):
            raise TimeoutError(f"the record is not on disk after {timeout} s")
        self._pending.release()
        if self._failure is not None:
            raise self._failure
        return self._sequence

    def set_result(self, sequence: int) -> None:
        """Note that the record is on disk under this sequence."""
        self._sequence = sequence
        self._known = True
        self._pending.release()

    def set_exception(self, failure: Exception) -> None:
        """Note that the record is not on disk, or that nobody can say."""
        self._failure = failure
        self._known = True
        self._pending.release()
