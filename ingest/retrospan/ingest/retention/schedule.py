"""Runs retention automatically: carries out waiting receipts, and applies the policy at intervals."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from retrospan.ingest.retention.deletion.retention import Retention
from retrospan.ingest.retention.policy.policy import Policy
from retrospan.ingest.service import Service
from retrospan.schemas.errors import WarehouseUnavailable

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 5.0
BY = "schedule"


class Schedule(Service):
    """One per collector. It ends after the units in hand. What the last run did or why it did nothing is in the log."""

    thread_name = "retrospan-retention"
    work = "retention"
    pauses = (2 * _LOOK_SECONDS, 300.0)

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
        super().__init__(_LOOK_SECONDS)
        self._retention = retention
        self._policy = policy
        self._every = every_seconds
        self._alone = alone
        self._next = time.monotonic() + every_seconds
        self._looked_again = False

    def run_once(self) -> None:
        """Do what is due, unless a command is under way."""
        with self._alone() as alone:
            if alone:
                self._delete_due()

    def _delete_due(self) -> None:
        if not self._looked_again:
            if number := self._retention.look_again():
                _LOG.warning("%d rows that were deleted are there again: deleting them", number)
            self._looked_again = True
        if self._retention.has_unburied():
            self._retention.finish()
        if self._every and time.monotonic() >= self._next:
            began, self._next = self._next, time.monotonic() + self._every
            try:
                summary = self._retention.apply(self._policy(), lambda progress: None, by=BY)
            except WarehouseUnavailable:
                self._next = began  # soon, not in a day: nothing was wrong with what was asked
                raise
            _LOG.info("retention deleted %d runs under %s", summary.units, summary.policy)
            if altered := summary.archive.get("segments_altered"):
                _LOG.warning(
                    "retention left %d segments of the log as they are: they are not what was loaded "
                    "(`retrospan verify --full` names the places)",
                    altered,
                )
            if waiting := summary.archive.get("segments_waiting"):
                _LOG.warning(
                    "retention left %d segments of the log as they are: the disk is full. Free some space",
                    waiting,
                )
