"""Limits on one request and its answer: one deadline from the connection to the answer's end, and a number of bytes.

The receiver is not trusted. Socket timeouts restart with each piece that arrives, so here each wait gets the remaining
time; status line, interim answers, headers and body are counted together, as they come over the wire.
"""

from __future__ import annotations

import io
import time
import zlib
from typing import Any

#: Of an answer over the wire, and again of its body once it is inflated. Receivers of OTLP answer with a
#: line.
MOST_ANSWER_BYTES = 64 * 1024

#: Slower than this no request is sent: a large one gets more time.
_SLOWEST_BYTES_PER_SECOND = 256 * 1024
#: Pieces in which a request is handed to the socket: each is a wait of its own.
_PIECE_BYTES = 256 * 1024
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class AnswerTooLong(OSError):
    """An answer that did not end within MOST_ANSWER_BYTES."""


def attempt_seconds(timeout_seconds: float, request_bytes: int) -> float:
    """Return how long an attempt to deliver may take: what is set, and the time that sending so much takes."""
    return timeout_seconds + request_bytes / _SLOWEST_BYTES_PER_SECOND


class Exchange:
    """The deadline and the budget of one attempt. `spent` is true once one of them is reached."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._bytes = 0
        self.spent = False

    def left(self) -> float:
        """Seconds until the deadline. Raises TimeoutError behind it."""
        left = self._until - time.monotonic()
        if left <= 0:
            self.spent = True
            raise TimeoutError(f"no answer within {self._seconds:.3g} s")
        return left

    def count(self, size: int) -> None:
        """Note bytes of the answer. Raises AnswerTooLong."""
        self._bytes += size
        if self._bytes > MOST_ANSWER_BYTES:
            self.spent = True
            raise AnswerTooLong(f"an answer of more than {MOST_ANSWER_BYTES} bytes")


class WatchedSocket:
    """A connected socket, plain or TLS, whose every wait obeys the exchange that is going on."""

    def __init__(self, inner: Any, exchange: Exchange) -> None:
        self._inner = inner
        self.exchange = exchange

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def sendall(self, data: bytes, flags: int = 0) -> None:
        view = memoryview(data).cast("B")
        while view:
            self._inner.settimeout(self.exchange.left())
            try:
                view = view[self._inner.send(view[:_PIECE_BYTES]) :]
            except TimeoutError:
                self.exchange.left()
                raise

    def makefile(self, mode: str = "r", *args: Any, **options: Any) -> Any:
        """Return what http.client reads an answer from; as with any socket, it keeps the connection open until it is
        closed itself."""
        if mode != "rb":
            return self._inner.makefile(mode, *args, **options)
        return io.BufferedReader(_Reading(self, self._inner.makefile("rb", buffering=0)))


class _Reading(io.RawIOBase):
    def __init__(self, watched: WatchedSocket, raw: Any) -> None:
        self._watched, self._raw = watched, raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        exchange = self._watched.exchange
        self._watched.settimeout(exchange.left())
        try:
            size = self._raw.readinto(buffer) or 0
        except TimeoutError:
            exchange.left()
            raise
        exchange.count(size)
        return size

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


def inflated(data: bytes) -> bytes:
    """Return the beginning of what gzip or zlib made smaller, MOST_ANSWER_BYTES at most; b'' where it is neither."""
    try:
        return zlib.decompressobj(_GZIP_OR_ZLIB).decompress(data, MOST_ANSWER_BYTES)
    except zlib.error:
        return b""
