"""Compares the log with what it held, in a thread of its own, after it was loaded anew.

When the warehouse is made again from the log, rows say what the log says: only the hashes that were kept beside it
tell whether that is what it said before.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from retrospan.ingest.load.chain import Chains
from retrospan.ingest.precedence import ARCHIVING, give_way
from retrospan.ingest.verify.log_bytes import LogBytes, VerifiedLog, attested_segments, known_hashes
from retrospan.ingest.verify.told import Part
from retrospan.schemas.errors import RetrospanError
from retrospan.schemas.store import Store

_LOG = logging.getLogger(__name__)


class Stopped(Exception):
    """The collector stops."""


class Rechecking:
    """One comparison at most at a time."""

    def __init__(self, log: VerifiedLog, store: Callable[[], Store], chains: Chains, log_number: int) -> None:
        self.complaint = ""
        """What the last comparison found, in one sentence; '' when the log is as it was."""
        self._log = log
        self._store = store
        self._chains = chains
        self._log_number = log_number
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Compare from now on, unless that is going on."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="retrospan-rechecking", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End a comparison. Harmless when there is none."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        give_way(ARCHIVING)
        found: list[str] = []

        def hear(told: Mapping[str, object]) -> None:
            if told.get("wrong"):
                found.append(f"{told['where']}: {told['wrong']}")

        part = Part("log", hear)
        try:
            store = self._store()
            try:
                loaded = self._chains.loaded_sequence
                bytes_of = LogBytes(
                    self._log, attested_segments(store, self._log_number), loaded, part, self._go_on
                )
                bytes_of.check_segments()
                bytes_of.check(known_hashes(self._chains.hashes, part, lambda first, last: last <= loaded))
            finally:
                store.close()
        except Stopped:
            return
        except (RetrospanError, OSError) as error:
            _LOG.warning("the log was not compared with its hashes after it was loaded anew: %.300s", error)
            return
        self.complaint = f"{found[0]}; {part.wrong} such places: run `retrospan verify --full`" if found else ""
        if self.complaint:
            _LOG.error("%s", self.complaint)

    def _go_on(self) -> None:
        if self._stopping.is_set():
            raise Stopped
