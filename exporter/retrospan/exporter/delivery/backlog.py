"""Ended spans and log records that wait to be encoded, within the memory that they share with waiting requests.

`put` is called by the agent, on whatever thread ends a span, an event loop's included: it only measures the span, never
blocks, and is safe in a signal handler and in a finalizer. What does not fit is refused, so that everything accepted
before stays whole.
"""

from __future__ import annotations

import threading
from collections import deque

from retrospan.exporter.delivery.records import LogRecord, Signal
from retrospan.exporter.delivery.weighing import Entry, weight

_MANY_ENTRIES, _MANY_BYTES = 256, 1 << 20


class Backlog:
    """Bounded by bytes. Any thread may put, one takes."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._entries: deque[tuple[Entry, int]] = deque()
        self._lock = threading.RLock()
        self._used = 0
        self._waiting_bytes = 0
        self._accepted_spans = self._accepted_records = 0
        self._asleep: threading.Lock | None = None
        self._hurried = False

    def attend(self) -> None:
        """Make ready for who takes, before its thread starts and takes what is there.

        Not sooner: a program that calls gevent's `monkey.patch_all` meanwhile, as a worker of gunicorn does after its fork,
        has other threads from then on, and one of these that slept by a lock from before would stop them all.
        """
        # Held while there is no reason to wake: a lock that anybody may release is all an event needs to be here.
        asleep = threading.Lock()
        asleep.acquire()
        self._asleep = asleep

    def put(self, entry: Entry) -> bool:
        """Accept a span or log record; return False if there is no room."""
        is_record = isinstance(entry, LogRecord)
        most = self._most // 2 if is_record else self._most
        cost = weight(entry, self._most)
        with self._lock:
            # A span larger than everything is taken when nothing else waits: it is reduced, not lost. Log records get
            # half of the memory: what they say of a span that ends, the span says too.
            if self._used and self._used + cost > most:
                return False
            self._used += cost
            self._waiting_bytes += cost
            # No calls in these lines: a signal's handler may come in between, and put as well.
            if is_record:
                self._accepted_records += 1
            else:
                self._accepted_spans += 1
            is_first = not self._entries
            self._entries.append((entry, cost))
            many = len(self._entries) >= _MANY_ENTRIES or self._waiting_bytes >= _MANY_BYTES
            self._hurried = self._hurried or many
        if many or is_first:
            self._rouse()
        return True

    def take(self) -> Entry | None:
        """Return the oldest entry. Its memory is given back."""
        with self._lock:
            if not self._entries:
                return None
            entry, cost = self._entries.popleft()
            self._used -= cost
            self._waiting_bytes -= cost
        return entry

    def accepted(self) -> dict[Signal, int]:
        """Return how many spans and log records were accepted so far."""
        return {Signal.TRACES: self._accepted_spans, Signal.LOGS: self._accepted_records}

    def account(self, size: int) -> None:
        """Take up memory for something else, or with a negative size give it back."""
        with self._lock:
            self._used += size

    def crowded(self) -> bool:
        """Return whether more than half of the memory is in use."""
        return self._used * 2 > self._most

    def wait(self, seconds: float, idle_seconds: float = -1) -> None:
        """Return so many seconds after something was put, at once where there is much to take or `wake` was called.

        With nothing to take return after `idle_seconds`; below 0: never. Only for who `attend`s.
        """
        assert self._asleep is not None
        if not self._asleep.acquire(timeout=idle_seconds) or self._hurried or not self._entries:
            self._hurried = False
            return
        # The first has come; others may follow.
        self._asleep.acquire(timeout=seconds)
        self._hurried = False

    def wake(self) -> None:
        self._hurried = True
        self._rouse()

    def _rouse(self) -> None:
        if self._asleep is None:
            return  # who takes has not begun
        try:
            self._asleep.release()
        except RuntimeError:
            pass  # awake already

    def __len__(self) -> int:
        return len(self._entries)
