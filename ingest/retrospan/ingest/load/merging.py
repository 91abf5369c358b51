"""A thread that merges the parts of an embedded warehouse's tables once nothing has happened for a while.

The engine merges only as far as it needs to, and leaves a few parts of medium size for ever. Compression finds
repetition within one part only: merged into one part, the same rows take a third less disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple

from retrospan.ingest.load.sql import load
from retrospan.ingest.machine.priority import ARCHIVING
from retrospan.ingest.service import Service
from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.store import Parameters, Store
from retrospan.schemas.typed_rows import typed_rows

_LOOK_SECONDS = 5.0
#: Merging begins when nothing was loaded or interpreted for so long. Superseded rows are deleted by then.
_QUIET_SECONDS = 150.0
#: What is larger is left to the engine: each merge is to end soon, and large parts hold most that repeats already.
_MOST_BYTES = 64 << 20
#: So much has to lie outside the largest part, and an eighth of that: no row is written anew more than a few times.
_LEAST_BYTES = 128 << 10
#: More parts at once would take too much memory, 10 MB each; the engine makes fewer of so many by itself.
_MOST_PARTS = 16


class Scattered(NamedTuple):
    """A partition whose rows lie in several parts."""

    table: str
    partition_id: str
    parts: list[str]


class Merging(Service):
    """One per embedded warehouse. A stop waits for the merge at hand."""

    thread_name = "retrospan-merging"
    work = "merging parts"
    niceness = ARCHIVING
    pauses = (60.0, 600.0)

    def __init__(self, store: Callable[[], Store], activity: Callable[[], object]) -> None:
        """`activity` returns another value whenever something was loaded or interpreted, and None while that goes on."""
        super().__init__(_LOOK_SECONDS)
        self._store = store
        self._activity = activity
        self._seen: object = None
        self._quiet_since = time.monotonic()
        self._is_done = False
        self._tried: set[tuple[str, ...]] = set()
        self.merges = 0
        """How many partitions were merged."""

    def run_once(self) -> None:
        """Merge what is scattered, one partition after another, unless something has happened or happens meanwhile."""
        if not self._rests() or self._is_done:
            return
        with closing(self._store()) as store:
            while self._rests() and not self.is_stopping:
                scattered = self._next(store)
                if scattered is None:
                    self._is_done = True
                    return
                self._tried.add(_key(scattered))
                asked = {"table": scattered.table, "partition_id": scattered.partition_id}
                store.command(load("merge_parts"), asked)
                self.merges += 1

    def _rests(self) -> bool:
        """Whether nothing has happened for long enough."""
        seen, now = self._activity(), time.monotonic()
        if seen is None or seen != self._seen:
            self._seen, self._quiet_since, self._is_done = seen, now, False
            self._tried.clear()
            return False
        return now - self._quiet_since >= _QUIET_SECONDS

    def _next(self, store: Store) -> Scattered | None:
        """Return what is worth merging most; what the engine left as it was is not tried again."""
        asked: Parameters = {
            "database": DATABASE,
            "most_bytes": _MOST_BYTES,
            "least_bytes": _LEAST_BYTES,
            "most_parts": _MOST_PARTS,
        }
        for found in typed_rows(store, Scattered, load("list_scattered"), asked):
            if _key(found) not in self._tried:
                return found
        return None


def _key(scattered: Scattered) -> tuple[str, ...]:
    return (scattered.table, scattered.partition_id, *scattered.parts)
