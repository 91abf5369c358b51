"""Runs the queries of a port: each waits for a free place, and runs in a thread on its own read-only connection.

Its answer comes through a pipe. The first megabyte of an answer is held back, so that an error still has a status of
its own. Places, and the count of what became of queries, are shared by all ports of a process.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

from retrospan.ingest.access.fair_executor import FairExecutor
from retrospan.ingest.access.tokens import Grant
from retrospan.ingest.answer.readers import ReaderOf
from retrospan.ingest.answer.running import Circumstances, RunningQuery
from retrospan.ingest.answer.running_queries import RunningQueries
from retrospan.ingest.answer.slots import Slots
from retrospan.ingest.http.connection import Connection
from retrospan.ingest.http.messages import Request
from retrospan.ingest.settings.config import Limits
from retrospan.ingest.status.counting import Counting
from retrospan.schemas.errors import RetrospanError, SqlError, WarehouseUnavailable
from retrospan.schemas.store import Store

#: So much of an answer is waited for before its first byte goes out.
HELD_BYTES = 1 << 20


class Places:
    """What the ports of a process share. Safe to use from several event loops."""

    def __init__(self, limits: Limits) -> None:
        self.slots = Slots(limits.queries, limits.queries_per_token)
        self.counting = Counting()


class Asked(Protocol):
    """A request at a port, and the query that runs for it."""

    request: Request
    connection: Connection | None
    running: RunningQuery | None


@dataclass(frozen=True, slots=True)
class Query:
    """What is to be run."""

    write: Callable[[Store, int], None]
    """In a thread: asks a connection, and writes the answer to a descriptor. Raises SqlError."""
    limit_seconds: float
    """0 for none."""
    stuck: str
    """What the log says if it cannot be stopped."""
    query_id: str = ""
    told: str = ""
    """The statement, for whoever has it killed."""


class BrokenOff(RetrospanError):
    """An answer that ended with an error: the connection is cut, so that nobody takes the answer for complete."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A short answer in `whole`; a long one, that has begun, as a `stream` that raises as `Desk.ask` does."""

    whole: bytes
    stream: AsyncIterator[bytes] | None = None


class Desk:
    """Belongs to the thread of one event loop."""

    def __init__(
        self,
        places: Places,
        threads: FairExecutor,
        stops: FairExecutor,
        reader_of: ReaderOf,
        stuck: Callable[[str], None],
    ) -> None:
        """
        Args:
            threads: as many as there are places, so that a waiting query cannot delay the next one.
            stops: end queries.
            stuck: told of a query that still runs five seconds after its limit or after it was to stop.
        """
        self._places = places
        self._threads = threads
        self._stops = stops
        self._reader_of = reader_of
        self._stuck = stuck
        self.running = RunningQueries()

    async def ask(self, asked: Asked, query: Query, grant: Grant) -> Answer:
        """Run a query once there is a place for it, and return its answer, or as much as is held back.

        Raises:
            SqlError: the engine's, that it was stopped, or that there was no place for it.
            RetrospanError: what its `write` raises, or there is no engine now.
        """
        started = time.monotonic()
        pieces = await self._begun(asked, query, grant)
        held = bytearray()
        try:
            async for piece in pieces:
                held += piece
                if len(held) >= HELD_BYTES:
                    return Answer(b"", self._rest(held, pieces, started))
        except (SqlError, WarehouseUnavailable) as error:
            raise self._places.counting.failed(error) from error
        self._places.counting.answered(started, len(held))
        return Answer(bytes(held))

    async def _rest(
        self, held: bytearray, pieces: AsyncIterator[bytes], started: float
    ) -> AsyncIterator[bytes]:
        size = len(held)
        yield bytes(held)
        held.clear()
        try:
            async for piece in pieces:
                size += len(piece)
                yield piece
        except (SqlError, WarehouseUnavailable) as error:
            raise self._places.counting.failed(error) from error
        finally:
            self._places.counting.answered(started, size)

    async def _begun(self, asked: Asked, query: Query, grant: Grant) -> AsyncIterator[bytes]:
        slots, counting = self._places.slots, self._places.counting
        try:
            await slots.take(grant.name)
        except SqlError:
            counting.turned_away()
            raise
        running = RunningQuery(
            query.limit_seconds or math.inf,
            query.stuck,
            Circumstances(
                asked.connection,
                lambda: slots.wanted_from(grant.name),
                self._note_stuck,
                counting.stopped,
            ),
        )
        self.running.add(running, query.query_id, grant, query.told)

        def done() -> None:
            self.running.discard(running)
            slots.give_back(grant.name)

        running.start(
            self._threads,
            self._stops,
            lambda descriptor: self._run(running, query, grant.tenant, descriptor),
            done,
        )
        asked.running = running
        return running.pieces()

    def stop(self) -> None:
        """End what runs; the port listens no more."""
        left = [*self.running]
        for running in left:
            running.abandon()
        for pool in (self._threads, self._stops):
            # One that is stuck in the engine would not end.
            pool.shutdown(wait=not left)

    def _note_stuck(self, query: str) -> None:
        self._places.counting.stuck()
        self._stuck(query)

    def _run(self, running: RunningQuery, query: Query, tenant: str, descriptor: int) -> None:
        store = self._reader_of(tenant)
        try:
            running.stopper = store.stopper()
            query.write(store, descriptor)
        finally:
            running.stopper = None
            store.close()
