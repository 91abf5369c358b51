"""The memory that incoming requests may hold together: one budget for both receivers.

It has two parts. *Arriving* bytes are counted as they come, before it is known what they will become, and never wait.
*Work* is what a request may become between decompression and the log: it is reserved before that begins, first come,
first served, and released once the log has it. A share of each part is reserved for small requests, so that they get
through while large ones fill the rest.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from retrospan.schemas.errors import Overloaded

MIB = 1 << 20
#: What a request may cost beside a multiple of its size.
BASE_BYTES = 8 * MIB
#: A request up to this size, inflated, may use what is kept for small ones.
SMALL_BYTES = 4 * MIB
#: A few bytes become at most so many where they are read; what is larger is read in pieces.
_WORST = 90
_WAIT_SECONDS = 1.0
#: Large requests that wait hold a thread and their bytes: as much may wait as this many times what may be in work.
_WAITING_ROOMS = 2


def work_bytes(size: int) -> int:
    """Return what a request of `size` bytes, inflated, may hold beside those bytes until the log has it."""
    return min(_WORST * size, BASE_BYTES) + 3 * size


@dataclass(slots=True)
class BudgetCounters:
    """Since the start of the process; `bytes_held` is now."""

    requests_waited: int = 0
    requests_over_budget: int = 0
    bytes_held: int = 0


class Budget:
    """Shared by all threads of both receivers."""

    def __init__(self, total_bytes: int, wait_seconds: float = _WAIT_SECONDS) -> None:
        """Let a request wait up to `wait_seconds` for its share."""
        self._arriving_room = total_bytes * 3 // 8
        self._working_room = total_bytes - self._arriving_room
        self._wait_seconds = wait_seconds
        self._arriving = 0
        self._working = 0
        self._counters = BudgetCounters()
        # Held many times for every request; a lock is taken without running Python, a condition is not.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        # Who waits, and for how much: large requests, small ones.
        self._queues: tuple[deque[list[int]], deque[list[int]]] = (deque(), deque())

    @property
    def counters(self) -> BudgetCounters:
        """A copy, consistent in itself."""
        with self._lock:
            return replace(self._counters, bytes_held=self._arriving + self._working)

    def hold(self) -> Hold:
        """Return what one request holds; nothing yet."""
        return Hold(self)

    def arrive(self, more: int, so_far: int) -> None:
        """Account for bytes that are there already. Raises Overloaded, and then accounts for nothing."""
        room = self._arriving_room
        if so_far + more > SMALL_BYTES:
            room -= room // 4
        with self._lock:
            # The largest request must get in at some time, however small the budget is.
            if self._arriving + more > room and self._arriving > so_far:
                raise self._over()
            self._arriving += more

    def work(self, size: int) -> int:
        """Set aside what a request may become, and return how much that is.

        Raises:
            Overloaded: there was no room for so long, or too many wait for it already.
        """
        small = size <= SMALL_BYTES
        room = self._room(small)
        cost = min(work_bytes(size), room)
        with self._lock:
            if self._queues[small] or self._working + cost > room:
                self._wait(cost, room, small)
            self._working += cost
        return cost

    def widen(self, cost: int, size: int) -> int:
        """Set more aside for work that turned out larger, if there is room now. Raises Overloaded."""
        room = self._room(size <= SMALL_BYTES)
        wanted = min(work_bytes(size), room)
        with self._lock:
            if self._working - cost + wanted > room:
                raise self._over()
            self._working += wanted - cost
        return wanted

    def give_back(self, arrived: int, working: int) -> None:
        """Release what a request held."""
        with self._lock:
            self._arriving -= arrived
            self._working -= working
            if any(self._queues):
                self._changed.notify_all()

    def _room(self, small: bool) -> int:
        return self._working_room if small else self._working_room - self._working_room // 4

    def _wait(self, cost: int, room: int, small: bool) -> None:
        queue = self._queues[small]
        if not small and queue and sum(one for (one,) in queue) + cost > _WAITING_ROOMS * room:
            raise self._over()
        self._counters.requests_waited += 1
        ticket = [cost]
        queue.append(ticket)
        try:
            if not self._changed.wait_for(
                lambda: queue[0] is ticket and self._working + cost <= room, self._wait_seconds
            ):
                raise self._over()
        finally:
            del queue[next(place for place, one in enumerate(queue) if one is ticket)]
            self._changed.notify_all()

    def _over(self) -> Overloaded:
        self._counters.requests_over_budget += 1
        return Overloaded("incoming requests use all the memory reserved for them; try again in a moment")


class Hold:
    """What one request holds of the budget, until the block ends. Used by one thread at a time."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._arrived = 0
        self._working = 0
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    @property
    def arrived(self) -> int:
        """The bytes that have been accounted for as arrived."""
        return self._arrived

    def arrive(self, more: int) -> None:
        """Account for further bytes of the body as it was sent. Raises Overloaded."""
        self._budget.arrive(more, self._arrived)
        self._arrived += more

    def arrived_whole(self, size: int) -> None:
        """Note that the body as it was sent has `size` bytes, whatever it was taken for so far. Raises Overloaded."""
        if size < self._arrived:
            self._budget.give_back(self._arrived - size, 0)
            self._arrived = size
        else:
            self.arrive(size - self._arrived)

    def work(self, size: int) -> None:
        """Set aside what a body of `size` bytes may become, waiting a moment for it. Raises Overloaded."""
        self._working = self._budget.work(size)
        self._size = size

    def widen(self, size: int) -> None:
        """Note that the body turns out to have this many bytes. Raises Overloaded, at once."""
        if size > self._size:
            # In steps, so that a body which grows piece by piece does not ask for every piece.
            size += size // 2
            self._working = self._budget.widen(self._working, size)
            self._size = size

    def narrow(self, size: int) -> None:
        """Note that the work is done, and of it `size` bytes are left, those that arrived among them."""
        size = max(0, size - self._arrived)
        given, self._working = self._working - min(size, self._working), min(size, self._working)
        if given:
            self._budget.give_back(0, given)

    def release(self) -> None:
        """Give everything back. Harmless when repeated."""
        arrived, working, self._arrived, self._working, self._size = self._arrived, self._working, 0, 0, 0
        if arrived or working:
            self._budget.give_back(arrived, working)
