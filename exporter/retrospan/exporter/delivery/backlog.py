"""Ended spans that wait to be encoded, within the memory that they share with waiting requests.

`put` is called by the agent, on whatever thread ends a span, an event loop's included: it only measures the span, never
blocks, and is safe in a signal handler and in a finalizer. A span that does not fit is refused, so that everything
accepted before stays whole.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from sys import getsizeof

from opentelemetry.sdk.trace import ReadableSpan

#: What a span takes in memory apart from its values; an event, a link, an attribute.
_SPAN_BYTES, _PART_BYTES, _PAIR_BYTES = 2_700, 600, 150
_MANY_SPANS, _MANY_BYTES = 256, 1 << 20


class Backlog:
    """Bounded by bytes. Any thread may put, one takes."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._spans: deque[tuple[ReadableSpan, int]] = deque()
        self._lock = threading.RLock()
        self._used = 0
        self._waiting_bytes = 0
        self.accepted = 0
        # Held while there is no reason to wake: a lock that anybody may release is all an event needs to be here.
        self._asleep = threading.Lock()
        self._asleep.acquire()

    def put(self, span: ReadableSpan) -> bool:
        """Accept a span; return False if there is no room."""
        cost = weight(span)
        with self._lock:
            # A span larger than everything is taken when nothing else waits: it is reduced, not lost.
            if self._used and self._used + cost > self._most:
                return False
            self._used += cost
            self._waiting_bytes += cost
            self.accepted += 1
            self._spans.append((span, cost))
            many = len(self._spans) >= _MANY_SPANS or self._waiting_bytes >= _MANY_BYTES
        if many:
            self.wake()
        return True

    def take(self) -> ReadableSpan | None:
        """Return the oldest span. Its memory is given back."""
        with self._lock:
            if not self._spans:
                return None
            span, cost = self._spans.popleft()
            self._used -= cost
            self._waiting_bytes -= cost
        return span

    def account(self, size: int) -> None:
        """Take up memory for something else, or with a negative size give it back."""
        with self._lock:
            self._used += size

    def crowded(self) -> bool:
        """Return whether more than half of the memory is in use."""
        return self._used * 2 > self._most

    def wait(self, seconds: float) -> None:
        """Return when so much time has passed, or there is much to take, or `wake` was called."""
        self._asleep.acquire(timeout=seconds)

    def wake(self) -> None:
        try:
            self._asleep.release()
        except RuntimeError:
            pass  # awake already

    def __len__(self) -> int:
        return len(self._spans)


def weight(span: ReadableSpan) -> int:
    """About how many bytes the span takes in memory; cheap."""
    size = _SPAN_BYTES + _mapping(span.attributes)
    for event in span.events:
        size += _PART_BYTES + _mapping(event.attributes)
    for link in span.links:
        size += _PART_BYTES + _mapping(link.attributes)
    return size


def _mapping(attributes: Mapping[str, object] | None) -> int:
    size = 0
    for value in list(attributes.values()) if attributes else ():
        size += _PAIR_BYTES + getsizeof(value)
        if isinstance(value, tuple):
            size += sum(map(getsizeof, value))
    return size
