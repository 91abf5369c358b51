"""Runs retention by itself: carries out receipts that wait, and applies the policy every so often."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from retrospan.ingest.retention.deletion.retention import Retention
from retrospan.ingest.retention.policy.policy import Policy
from retrospan.schemas.errors import RetrospanError

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 5.0
#: What fails is tried again after a pause that doubles, up to so many seconds.
_LONGEST_PAUSE_SECONDS = 300.0
BY = "schedule"


class Schedule:
    """One per collector; a thread of its own. What the last run did or why it did nothing is in the log."""

    def __init__(
        self,
        retention: Retention,
        policy: Callable[[], Policy],
        every_seconds: float,
        alone: Callable[[], AbstractContextManager[bool]],
    ) -> None:
        """`alone` is entered around each run, and says whether no other command is under way.

        With `every_seconds` 0 only receipts that wait are carried out.
        """
        self.failure = ""
        """Why the last run did not end well; '' when it did."""
        self._retention = retention
        self._policy = policy
        self._every = every_seconds
        self._alone = alone
        self._next = time.monotonic() + every_seconds
        self._looked_again = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="retrospan-retention", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End after the units in hand. Harmless when repeated."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def _run(self) -> None:
        pause = _LOOK_SECONDS
        while not self._stopping.wait(pause):
            try:
                with self._alone() as alone:
                    if alone:
                        self._turn()
                self.failure, pause = "", _LOOK_SECONDS
                continue
            except RetrospanError as error:
                self._say(str(error))
            except Exception as error:  # noqa: BLE001 - the thread must go on, whatever one run met
                _LOG.exception("retention failed")
                self._say(f"{type(error).__name__}: {error}")
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _turn(self) -> None:
        if not self._looked_again:
            if number := self._retention.look_again():
                _LOG.warning("%d rows that were deleted are there again: deleting them", number)
            self._looked_again = True
        if self._retention.has_unburied():
            self._retention.finish()
        if self._every and time.monotonic() >= self._next:
            self._next = time.monotonic() + self._every
            summary = self._retention.apply(self._policy(), lambda progress: None, by=BY)
            _LOG.info("retention deleted %d runs under %s", summary.units, summary.policy)
            if altered := summary.archive.get("segments_altered"):
                _LOG.warning(
                    "retention left %d segments of the log as they are: they are not what was loaded "
                    "(`retrospan verify --full` names the places)",
                    altered,
                )

    def _say(self, reason: str) -> None:
        if reason != self.failure:
            _LOG.warning("retention: %.500s", reason)
        self.failure = reason
