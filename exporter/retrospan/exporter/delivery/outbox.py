"""Requests that wait for delivery, in order: in the spool if there is one, else in memory.

If the spool is full or cannot be written, a request waits in memory between those on disk, which keeps the order.
Requests in memory count against the memory for waiting spans.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from retrospan.exporter.delivery.notices import say
from retrospan.exporter.delivery.owners import Dead
from retrospan.exporter.delivery.records import Signal
from retrospan.exporter.delivery.requests import ExportRequest
from retrospan.exporter.delivery.spool import Damaged, Spool, Spooled, SpoolFull


@dataclass(slots=True)
class Item:
    """A request that waits. `parts`, its spans or log records, is 0 until an adopted file was read; `own`: they were
    accepted in this process."""

    request: ExportRequest | None
    spooled: Spooled | None
    parts: int
    signal: Signal
    own: bool = True
    is_gone: bool = False
    """Its file is not there any more, or was put aside: there is nothing to remove."""


class Outbox:
    """Filled by one thread, emptied by another."""

    def __init__(
        self,
        spool: Spool | None,
        account: Callable[[int], None],
        killed: Callable[[Dead], ExportRequest] | None = None,
    ) -> None:
        """`account` is told of bytes taken up (positive) and given back (negative) in memory. `killed` makes the request
        that says that a process was killed."""
        self._killed = killed
        self._spool = spool
        self._account = account
        self._items: deque[Item] = deque()
        self._put_off: list[Item] = []
        self._filled = threading.Condition()
        self._said_full = self._said_broken = False
        self._adopted: dict[str, int] = {}

    def put(self, request: ExportRequest, held: int = 0) -> None:
        """Take a request, whose parts have taken up `held` bytes until now. Never blocks, never raises."""
        item = Item(request, None, request.parts, request.signal)
        if self._spool is not None and (spooled := self._written(self._spool, request)):
            item = Item(None, spooled, request.parts, request.signal)
        self._account((0 if item.request is None else len(request.body)) - held)
        with self._filled:
            self._items.append(item)
            self._filled.notify()

    def head(self, seconds: float) -> Item | None:
        """Return the oldest item, which stays; None if there is none within so many seconds."""
        with self._filled:
            if not self._items:
                self._filled.wait(seconds)
            return self._items[0] if self._items else None

    def nudge(self) -> None:
        """End a wait in `head`."""
        with self._filled:
            self._filled.notify_all()

    def read(self, item: Item) -> ExportRequest | None:
        """Return the request of an item; None where its file is gone, or damaged, which is said.

        Raises OSError, MemoryError where it cannot be read now: nothing is known of the file, and it stays.
        """
        if item.request is not None:
            return item.request
        assert item.spooled is not None and self._spool is not None
        try:
            body, item.parts = self._spool.read(item.spooled)
        except FileNotFoundError:
            item.is_gone = True
            return None
        except Damaged as error:
            say(f"{error}. It is renamed to .damaged.")
            self._try(partial(self._spool.put_aside, item.spooled))
            # Where that failed it stays as it is: what it holds may be of use to a person.
            item.is_gone = True
            return None
        return ExportRequest(body, item.parts, item.signal)

    def keep(self, item: Item) -> None:
        """Leave the oldest item, a file, to whoever adopts it next: this receiver does not take it."""
        with self._filled:
            self._items.popleft()

    def put_off(self, item: Item) -> None:
        """Set the oldest item aside, whose file cannot be read now, so that those behind it are delivered."""
        with self._filled:
            self._put_off.append(self._items.popleft())

    def take_up(self) -> None:
        """Put what was set aside in front again: it is older."""
        with self._filled:
            self._items.extendleft(reversed(self._put_off))
            self._put_off.clear()

    def __len__(self) -> int:
        return len(self._items) + len(self._put_off)

    def done(self, item: Item) -> None:
        """Forget the oldest item: it was delivered, or never will be."""
        with self._filled:
            self._items.popleft()
        if item.request is not None:
            self._account(-len(item.request.body))
        if item.spooled is not None and self._spool is not None:
            spooled = item.spooled
            if not item.is_gone:
                self._try(partial(self._spool.remove, spooled))
            if spooled.owner in self._adopted:
                self._adopted[spooled.owner] -= 1
                if not self._adopted[spooled.owner]:
                    del self._adopted[spooled.owner]
                    self._try(partial(self._spool.release, spooled.owner))

    def adopt(self) -> None:
        """Put files in the spool from processes that have ended in front: they are older."""
        if self._spool is None:
            return
        try:
            found = self._spool.adopt()
        except OSError:
            return
        for spooled in found:
            self._adopted[spooled.owner] = self._adopted.get(spooled.owner, 0) + 1
        with self._filled:
            self._items.extendleft(
                Item(None, spooled, 0, spooled.signal, own=False) for spooled in reversed(found)
            )
        self._say_killed(self._spool)

    def _say_killed(self, spool: Spool) -> None:
        """Keep the record of each process that was killed; where there is no room for it, at the next time."""
        for dead in spool.killed() if self._killed is not None else ():
            assert self._killed is not None
            request = self._killed(dead)
            if (spooled := self._written(spool, request)) is None:
                return
            with self._filled:
                self._items.append(Item(None, spooled, request.parts, request.signal, own=False))
            self._try(partial(spool.told, dead))

    def persist(self) -> None:
        """At the end: what waits in memory goes to the spool, where it has room again."""
        if self._spool is None:
            return
        with self._filled:
            for item in self._items:
                if item.request is not None and (spooled := self._written(self._spool, item.request)):
                    self._account(-len(item.request.body))
                    item.spooled, item.request = spooled, None

    def left(self, signal: Signal) -> int:
        """Return how many of this process's spans, or log records, wait in the spool."""
        with self._filled:
            all_items = (*self._items, *self._put_off)
            items = [item for item in all_items if item.own and item.signal is signal]
        return sum(item.parts for item in items if item.spooled is not None)

    def close(self) -> None:
        if self._spool is not None:
            self._try(self._spool.close)

    def leave_to_parent(self) -> None:
        if self._spool is not None:
            self._spool.leave_to_parent()

    def _written(self, spool: Spool, request: ExportRequest) -> Spooled | None:
        try:
            return spool.write(request.body, request.parts, request.signal)
        except SpoolFull as error:
            if not self._said_full:
                say(f"the spool is full: {error}. Spans wait in memory until there is room.")
            self._said_full = True
        except OSError as error:
            if not self._said_broken:
                say(f"the spool cannot be written: {error}. Spans wait in memory instead.")
            self._said_broken = True
        return None

    @staticmethod
    def _try(do: Callable[[], object]) -> None:
        try:
            do()
        except OSError as error:
            say(f"the spool cannot be maintained: {error}.")
