"""Rows of several tables go in two at a time, each over a connection of its own.

An insert of a few hundred rows waits for files, and for its turn at a processor, for longer than it computes: one after the
other, those of a batch kept the interpreter's thread for two fifths of its time, with processor to spare.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from retrospan.ingest.warehouse.rows import Encoded, insert_encoded
from retrospan.schemas.store import Store


class SideBySide:
    """Belongs to the interpreter's thread. The second connection is opened when it is first needed, and kept."""

    def __init__(self, connect: Callable[[], Store]) -> None:
        self._connect = connect
        self._second: Store | None = None
        self._thread: ThreadPoolExecutor | None = None

    def insert(self, store: Store, rows: Iterable[Encoded], may_write: Callable[[], None]) -> None:
        """Insert all of these rows, in any order; they are all there when this returns.

        `may_write` is called before each insert and raises where nothing may be written any more. Whatever is raised, and by
        whichever of the two, no insert is under way any more then.
        """
        left = _Left(rows, may_write)
        if self._thread is None:
            # It has the priority of the thread that starts it.
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="retrospan-writing")
        second = self._thread.submit(lambda: left.insert(self._connected))
        try:
            left.insert(lambda: store)
        finally:
            failure = second.exception()
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Close the second connection. The next insert opens another."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown()
        second, self._second = self._second, None
        if second is not None:
            second.close()

    def _connected(self) -> Store:
        if self._second is None:
            self._second = self._connect()
        return self._second


class _Left:
    """The rows that neither of the two has inserted yet."""

    def __init__(self, rows: Iterable[Encoded], may_write: Callable[[], None]) -> None:
        self._rows = iter(rows)
        self._may_write = may_write
        self._lock = threading.Lock()

    def insert(self, connected: Callable[[], Store]) -> None:
        """Insert what is left, beside another thread that does the same, until nothing is, or one of them fails."""
        try:
            while (rows := self._next()) is not None:
                insert_encoded(connected(), rows)
        except BaseException:
            with self._lock:
                self._rows = iter(())
            raise

    def _next(self) -> Encoded | None:
        with self._lock:
            rows = next(self._rows, None)
            if rows is not None:
                self._may_write()
            return rows
