"""Compares the log with its hashes, in its own thread, after it was loaded again.

When the warehouse is rebuilt from the log, its rows always agree with the log: only the hashes kept beside it show
whether the log has changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from retrospan.ingest.load.chain import Chains
from retrospan.ingest.machine.priority import ARCHIVING
from retrospan.ingest.service import Service
from retrospan.ingest.verify.log_bytes import LogBytes, attested_segments, known_hashes
from retrospan.ingest.verify.report import VerifiedPart
from retrospan.ingest.verify.surviving_log import LogOfFiles, SurvivingLog
from retrospan.schemas.errors import RetrospanError
from retrospan.schemas.store import Store

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 0.5


class Stopped(Exception):
    """The collector stops."""


class Rechecking(Service):
    """Waits until an epoch is loaded, and compares once. The ledger keeps what it found. A stop ends a comparison."""

    thread_name = "retrospan-rechecking"
    work = "comparing the log with its hashes"
    niceness = ARCHIVING

    def __init__(self, log: LogOfFiles, store: Callable[[], Store], chains: Chains, log_number: int) -> None:
        super().__init__(_LOOK_SECONDS)
        self._log = SurvivingLog(log)
        self._store = store
        self._chains = chains
        self._log_number = log_number

    def run_once(self) -> None:
        """Compare when all is loaded that is durable, unless that was done."""
        chains = self._chains
        if not chains.is_rechecked and chains.loaded_sequence >= self._log.durable_sequence:
            self._compare(chains.epoch)

    def _compare(self, epoch: int) -> None:
        found: list[str] = []

        def hear(told: Mapping[str, object]) -> None:
            if told.get("wrong"):
                found.append(f"{told['where']}: {told['wrong']}")

        part = VerifiedPart("log", hear)
        try:
            store = self._store()
            try:
                loaded = self._chains.loaded_sequence
                attested = attested_segments(store, self._log_number)
                bytes_of = LogBytes(self._log, attested, loaded, part, self._go_on)
                bytes_of.check_segments()
                bytes_of.check(known_hashes(self._chains.hashes, part, lambda first, last: last <= loaded))
                if found and attested_segments(store, self._log_number) != attested:
                    return  # retention wrote segments anew meanwhile: the next pass compares what is there then
            finally:
                store.close()
        except Stopped:
            return
        except (RetrospanError, OSError) as error:
            _LOG.warning("the log was not compared with its hashes after it was loaded again: %.300s", error)
            return
        differs = f"{found[0]}; {part.wrong} such places: see `retrospan verify --full`" if found else ""
        if differs:
            _LOG.error("the log was altered: %s", differs)
        self._chains.note_rechecked(epoch, differs)

    def _go_on(self) -> None:
        if self.is_stopping:
            raise Stopped
