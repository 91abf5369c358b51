"""A loop in its own thread: one pass after another, until it is stopped.

Every background loop of the collector is a `Service`, so that all are named, stopped and retried in the same way.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from typing import ClassVar

from retrospan.ingest.machine.priority import set_thread_nice
from retrospan.schemas.errors import RetrospanError, RetryableError

_LOG = logging.getLogger("retrospan")
_NUMBER = re.compile(r"\d[\d,.]*")
#: What fails again so soon is not told again, though a pass went well in between.
_QUIET_SECONDS = 60.0


class Service:
    """A daemon thread. Start it once; `stop` may be called again, and without a start.

    A pass that fails is logged, once as long as the reason stays the same but for its numbers, and done again after a pause
    that doubles with each failure. What trying again cannot help has pauses of its own. Nothing but a stop ends the thread,
    unless `failed` raises.
    """

    thread_name: ClassVar[str]
    work: ClassVar[str]
    """What fails when a pass fails, for the log."""
    niceness: ClassVar[int] = 0
    pauses: tuple[float, float] = (1.0, 60.0)
    """After the first failure and at most, in seconds."""
    permanent_pauses: tuple[float, float] | None = None
    """The same, after what trying again cannot help; None when it makes no difference."""

    def __init__(self, rest: float = 0.0) -> None:
        """`rest` is how long it rests before each pass, in seconds; a pass may change it."""
        self.failure = ""
        """Why the last pass failed; '' when it did not."""
        self._logged_reason = ""
        self._reason_met_at = 0.0
        self._rest = rest
        self._stopping = threading.Event()
        self._deadline = 0.0
        self._thread = threading.Thread(target=self._run, name=self.thread_name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, timeout: float = 0.0) -> bool:
        """Finish the pass in hand, or for up to `timeout` seconds all that is left, and return once the thread has ended.

        Returns whether nothing is left.
        """
        self._deadline = time.monotonic() + timeout
        self.ask_to_stop()
        if self._thread.is_alive():
            self._thread.join()
        return not self.has_more

    def ask_to_stop(self) -> None:
        """Have it end, without waiting for that."""
        self._stopping.set()

    @property
    def is_stopping(self) -> bool:
        """Whether it was asked to stop."""
        return self._stopping.is_set()

    @property
    def has_died(self) -> bool:
        """Whether its thread ended though nobody asked it to: a fault of ours."""
        return self._thread.ident is not None and not self._thread.is_alive() and not self.is_stopping

    @property
    def has_more(self) -> bool:
        """Whether something is left that a stop with a timeout waits for."""
        return False

    def run_once(self) -> None:
        """Do what there is to do now."""
        raise NotImplementedError

    def failed(self, error: Exception) -> None:
        """Clear away what a failed pass left; before the pause."""

    def end(self) -> None:
        """Clear up after the last pass, in the same thread."""

    def _run(self) -> None:
        if self.niceness:
            set_thread_nice(self.niceness)
        pause = 0.0
        while not self._stopping.wait(pause or self._rest) or self._drains():
            try:
                self.run_once()
                self.failure, pause = "", 0.0
            except Exception as error:  # noqa: BLE001 (it must go on, whatever one pass met)
                pause = self._note(error, pause)
                self.failed(error)
        self.end()

    def _drains(self) -> bool:
        return self.has_more and time.monotonic() < self._deadline

    def _note(self, error: Exception, pause: float) -> float:
        """Log what a pass met, unless the last one that failed met the same; return the pause that follows one of so long."""
        is_known = isinstance(error, RetrospanError | OSError)
        first, last = (
            self.pauses
            if isinstance(error, RetryableError | OSError)
            else self.permanent_pauses or self.pauses
        )
        pause = min(max(2 * pause, first), last)
        reason = (str(error) if is_known else f"{type(error).__name__}: {error}")[:500]
        kind, now = _NUMBER.sub("0", reason), time.monotonic()
        if kind != self._logged_reason or not (self.failure or now - self._reason_met_at < _QUIET_SECONDS):
            told = None if is_known else error
            _LOG.error("%s failed, trying again in %.1f s: %s", self.work, pause, reason, exc_info=told)
        self.failure, self._logged_reason, self._reason_met_at = reason, kind, now
        return pause
