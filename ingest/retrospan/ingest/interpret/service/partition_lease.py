"""Which runs are an interpreter's, when several work on one warehouse: each run belongs to a part, each part to one.

A part is taken in two steps, so that no two ever hold it: say that it is wanted, wait long enough that anybody who
wants it as well can be seen, and hold it only if nobody holds it and no smaller name wants it. Who holds a part says so
again and again; whoever has been silent for the length of a lease holds nothing any more, and stops by itself before
that. Ages are told by the server's clock alone.

With three interpreters each holds a third of the parts; one that comes or goes moves as few as possible.
"""

from __future__ import annotations

import logging
import math
import os
import secrets
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterable

from retrospan.ingest.interpret.sql import load
from retrospan.ingest.service import Service
from retrospan.schemas.errors import RetrospanError, WarehouseUnavailable
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows

_LOG = logging.getLogger("retrospan.interpret")

PARTS = 32
LEASE_SECONDS = 10.0
#: The row by which an interpreter without parts is counted.
_MEMBER = PARTS


class PartitionLease(Service):
    """The parts of one interpreter. Nothing is owned until the first of them is held.

    A stop gives everything up, so that others need not wait for the leases to end.
    """

    thread_name = "retrospan-share"
    work = "renewing the parts of this interpreter"

    def __init__(
        self, connect: Callable[[], Store], name: str = "", *, lease_seconds: float = LEASE_SECONDS
    ) -> None:
        """`name` tells this interpreter from all others."""
        super().__init__()
        self.name = name or f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._connect = connect
        self._lease = lease_seconds
        self.pauses = (lease_seconds / 5, lease_seconds / 5)
        self._lock = threading.Lock()
        self._held: set[int] = set()
        self._wanted: dict[int, float] = {}
        self._leaving: set[int] = set()
        self._left: set[int] = set()
        self._until = 0.0
        self._gains = 0
        self._heard_at = math.inf  # when the warehouse answered first, since it was silent last
        self._store: Store | None = None

    @property
    def parts(self) -> frozenset[int]:
        """What is held now."""
        with self._lock:
            return frozenset(self._held) if time.monotonic() < self._until else frozenset()

    @property
    def settling(self) -> bool:
        """Whether it holds nothing and may yet: the warehouse has not answered for long enough to ask for parts."""
        now = time.monotonic()
        with self._lock:
            if self._held:
                return now >= self._until
            return now < self._heard_at + self._lease

    def owns(self, tenant: str, run_id: str) -> bool:
        """Whether a run is this interpreter's just now."""
        part = part_of(tenant, run_id)
        with self._lock:
            return part in self._held and part not in self._leaving and time.monotonic() < self._until

    def holds(self, tenant: str, run_id: str) -> bool:
        """Whether nobody else may write this run just now: also true of a part that is being given up."""
        part = part_of(tenant, run_id)
        with self._lock:
            return part in self._held and time.monotonic() < self._until

    def require(self) -> None:
        """Return while something is held. Raises WarehouseUnavailable when the leases ran out: others may write now."""
        if not self.parts:
            raise WarehouseUnavailable(
                f"the leases of {self.name} ran out while runs were read; whoever holds their parts reads them again"
            )

    @property
    def gains(self) -> int:
        """How often parts have come: after each time, what is unread of them has to be looked up."""
        with self._lock:
            return self._gains

    def renew_or_claim(self) -> None:
        """Between two batches: give back what others are to have."""
        with self._lock:
            self._left |= self._leaving & self._held
            self._held -= self._leaving
            self._leaving.clear()

    def run_once(self) -> None:
        """Renew what is held, over a connection that is kept as long as it works."""
        self._store = self._store or self._connect()
        self.renew(self._store)
        self._rest = self._lease / (20 if self._wanted else 5)

    def failed(self, error: Exception) -> None:
        """Have the next pass connect anew."""
        self._disconnect()

    def end(self) -> None:
        """Give everything up."""
        try:
            self._store = self._store or self._connect()
            self._write(self._store, [*self._held, *self._left, *self._wanted, _MEMBER], "gone")
            with self._lock:
                self._held.clear()
        except RetrospanError as error:
            _LOG.warning("the parts of this interpreter could not be given up: %.300s", error)
        self._disconnect()

    def _disconnect(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def renew(self, store: Store) -> None:
        """Say what is held, give up what is too much, ask for what is too little. One round; any thread, one at a time."""
        began = time.monotonic()
        with self._lock:
            if began >= self._until:
                # Silent for too long: others may have taken everything.
                self._heard_at = math.inf
                self._held.clear()
                self._leaving.clear()
                self._wanted.clear()
            held, left = set(self._held), set(self._left)
        self._write(store, [*held, _MEMBER], "held")
        if left:
            self._write(store, left, "gone")
        with self._lock:
            self._left -= left
            # Others count from when the row was written, which is later than this.
            self._until = began + self._lease * 2 / 3
            self._heard_at = min(self._heard_at, began)
        looked = time.monotonic()
        others = self._others(store)
        fair = -(-PARTS // (1 + len({holder for _, holder, _ in others})))
        self._judge(store, others, fair, looked)
        self._ask(store, others, fair)
        with self._lock:
            surplus = len(self._held - self._leaving) - fair
            if surplus > 0:
                self._leaving |= set(sorted(self._held - self._leaving)[-surplus:])

    def _judge(self, store: Store, others: list[tuple[int, str, str]], fair: int, looked: float) -> None:
        """Hold what was wanted long enough before the look at the others, or withdraw."""
        ripe = [part for part, since in self._wanted.items() if looked - since >= self._lease / 4]
        lost = {part for part, holder, state in others if state == "held" or holder < self.name}
        room = fair - len(self._held)
        won = [part for part in ripe if part not in lost][: max(0, room)]
        withdrawn = [part for part in ripe if part not in won]
        for part in ripe:
            del self._wanted[part]
        if withdrawn:
            self._write(store, withdrawn, "gone")
        if not won:
            return
        self._write(store, won, "held")
        if time.monotonic() - looked >= self._lease / 4:
            # Too slow: somebody may have looked before this could be seen.
            self._write(store, won, "gone")
            return
        with self._lock:
            self._held.update(won)
            self._gains += 1

    def _ask(self, store: Store, others: list[tuple[int, str, str]], fair: int) -> None:
        taken = {part for part, _, _ in others} | self._held | set(self._wanted) | self._left
        free = [part for part in range(PARTS) if part not in taken]
        # Not all from the same end: two that begin together would want the same ones.
        free.sort(key=lambda part: zlib.crc32(f"{self.name}/{part}".encode()))
        asked = free[: max(0, fair - len(self._held) - len(self._wanted))]
        if asked:
            self._write(store, asked, "wanted")
            now = time.monotonic()
            self._wanted.update(dict.fromkeys(asked, now))

    def _others(self, store: Store) -> list[tuple[int, str, str]]:
        asked = {"milliseconds": round(self._lease * 1000)}
        rows = typed_rows(store, tuple[int, str, str], load("read_leases"), asked)
        return [row for row in rows if row[2] != "gone" and row[1] != self.name]

    def _write(self, store: Store, parts: Iterable[int], state: str) -> None:
        if found := sorted(parts):
            store.command(load("write_leases"), {"parts": found, "holder": self.name, "state": state})


def part_of(tenant: str, run_id: str) -> int:
    """Return the part that a run belongs to."""
    return zlib.crc32(f"{tenant}\0{run_id}".encode("utf-8", "surrogateescape")) % PARTS
