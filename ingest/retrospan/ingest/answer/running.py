"""One query while it runs: its answer comes through a pipe, and it can be stopped.

The engine works in a thread of the pool and writes into the pipe; the event loop reads it. The pipe is bounded: a
client that reads slowly makes the engine wait. A query is stopped when its client has disconnected, when it exceeds its
limit, or when others wait for its slot while its client reads nothing. A query that cannot be stopped is reported: only
the end of the process ends it.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from dataclasses import dataclass

from retrospan.ingest.access.fair_executor import FairExecutor
from retrospan.ingest.answer.failures import QUERY_WAS_CANCELLED
from retrospan.ingest.http.connection import Connection
from retrospan.ingest.machine.operating_system import widen_pipe
from retrospan.schemas.errors import TIMEOUT_EXCEEDED, RetrospanError, SqlError

#: A query that runs so long after its limit, or after it was to stop, is stuck. What can be stopped is within
#: two; where others use the processors as well, two would end a whole engine for a query that was just about
#: to end.
STOP_SECONDS = 5.0
_LOOK_SECONDS = 0.25
_OVERRUN_SECONDS = 0.5
_GONE_SECONDS = 0.75
_STALLED_SECONDS = 1.0
_AHEAD_BYTES = 1 << 20

#: Runs the query, and writes its answer to a descriptor. Blocks; raises SqlError.
Write = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """How a running query relates to others."""

    connection: Connection | None
    wanted: Callable[[], bool]
    """Whether others wait for its place."""
    stuck: Callable[[str], None]
    """Told of a query that cannot be stopped."""
    stopped: Callable[[str], None]
    """Told why a query is stopped: `hung_up`, `overrun` or `unread`."""


class RunningQuery:
    """Belongs to the thread of the event loop. `stopper` is set, by the query's thread, once there is one."""

    def __init__(self, limit_seconds: float, name: str, around: Circumstances) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit_seconds = limit_seconds
        self._name = name
        self._around = around
        self._began = self._loop.time()
        self._pieces: deque[bytes] = deque()
        self._ahead = 0
        self._changed = asyncio.Event()
        self._discarding = self._listening = self._ended = False
        self._reader = -1
        self._stopping_since: float | None = None
        self._gone_since: float | None = None
        self._told = False
        self._lost: SqlError | None = None
        self._stops: FairExecutor | None = None
        self._work: Future[None] | None = None
        self.stopper: Callable[[], None] | None = None

    def start(self, pool: FairExecutor, stops: FairExecutor, write: Write, done: Callable[[], None]) -> None:
        """Run it in the pool; `done` is called, in the loop, once the engine has done with it."""
        self._stops = stops
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        widen_pipe(self._reader)

        def work() -> None:
            try:
                write(writer)
            finally:
                os.close(writer)

        self._work = pool.submit(work)
        self._work.add_done_callback(lambda _: self._notify(done))
        self._listen()
        self._loop.call_later(_LOOK_SECONDS, self._look)

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the answer as it comes.

        Raises:
            SqlError: the engine's, or that it was stopped.
            RetrospanError: there is no engine now.
        """
        while True:
            while not self._pieces and not self._ended and self._lost is None:
                self._changed.clear()
                await self._changed.wait()
            if self._lost is not None:
                raise self._lost
            if not self._pieces:
                break
            piece = self._pieces.popleft()
            self._ahead -= len(piece)
            self._listen()
            yield piece
        assert self._work is not None, "it was started"
        await asyncio.wrap_future(self._work)

    def stop(self, why: str) -> None:
        """Have it stopped; its further output is dropped."""
        if self._stopping_since is not None or self._is_done():
            return
        self._stopping_since = self._loop.time()
        self._around.stopped(why)
        self._drop()
        self._ask_to_stop()

    def leave(self) -> None:
        """Nobody wants the rest of the answer."""
        if not self._is_done():
            self.stop("hung_up")

    def abandon(self) -> None:
        """Note that the loop has ended: writers to the pipe must no longer wait for a reader."""
        if not self._ended:
            self._ended = True
            os.close(self._reader)

    def _is_done(self) -> bool:
        return self._work is None or self._work.done()

    def _notify(self, done: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(done)
        except RuntimeError:
            pass  # the port was stopped meanwhile, and waited long enough for this query

    def _look(self) -> None:
        """Every quarter of a second while it runs: whether there is a reason to stop it, and whether that works."""
        if self._is_done():
            return
        now = self._loop.time()
        self._loop.call_later(_LOOK_SECONDS, self._look)
        over = self._began + self._limit_seconds
        if self._stopping_since is not None:
            self._ask_to_stop()
        elif now > over + _OVERRUN_SECONDS:
            self._stop_overrun()
        elif self._is_gone(now):
            self.stop("hung_up")
        elif self._around.wanted() and self._has_stalled():
            self.stop("unread")
            assert self._around.connection is not None, "only a client can stall"
            self._around.connection.transport.abort()
        ends = min(over, over if self._stopping_since is None else self._stopping_since) + STOP_SECONDS
        if now > ends and not self._told:
            self._told = True
            self._lost = self._lost or SqlError("the query was not to be stopped.", code=TIMEOUT_EXCEEDED)
            self._drop()
            self._changed.set()
            self._around.stuck(self._name)

    def _stop_overrun(self) -> None:
        limit = f"the query took longer than its limit of {self._limit_seconds:g} s and was stopped"
        self._lost = SqlError(f"{limit}.", code=TIMEOUT_EXCEEDED)
        self.stop("overrun")

    def _is_gone(self, now: float) -> bool:
        connection = self._around.connection
        if connection is not None:
            connection.read_behind()
        if connection is None or not connection.has_hung_up:
            self._gone_since = None
            return False
        self._gone_since = self._gone_since or now
        return connection.transport.is_closing() or now - self._gone_since >= _GONE_SECONDS

    def _has_stalled(self) -> bool:
        connection = self._around.connection
        return connection is not None and connection.has_stalled(_STALLED_SECONDS)

    def _ask_to_stop(self) -> None:
        stopper, stops = self.stopper, self._stops
        if stopper is not None and stops is not None and stops.waiting == 0:
            stops.submit(_quietly, stopper)

    def _drop(self) -> None:
        self._discarding = True
        self._pieces.clear()
        self._ahead = 0
        if self._lost is None:
            self._lost = SqlError("the query was stopped.", code=QUERY_WAS_CANCELLED)
        self._changed.set()
        self._listen()

    def _listen(self) -> None:
        if not self._listening and not self._ended and self._ahead < _AHEAD_BYTES:
            self._loop.add_reader(self._reader, self._read)
            self._listening = True

    def _read(self) -> None:
        try:
            piece = os.read(self._reader, _AHEAD_BYTES)
        except BlockingIOError:
            return
        if not piece:
            self._ended = True
        elif not self._discarding:
            self._pieces.append(piece)
            self._ahead += len(piece)
        if self._ended or self._ahead >= _AHEAD_BYTES:
            self._loop.remove_reader(self._reader)
            self._listening = False
        if self._ended:
            os.close(self._reader)
        self._changed.set()


def _quietly(stopper: Callable[[], None]) -> None:
    """Ask again in a moment if it cannot be asked now."""
    try:
        stopper()
    except (RetrospanError, RuntimeError, OSError):
        pass
