"""Counters of the SQL port's answers, updated from many threads; and the figures of alerts."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, replace

from retrospan.schemas.errors import TIMEOUT_EXCEEDED, RetrospanError, SqlError, WarehouseUnavailable


@dataclass(slots=True)
class QueryCounters:
    """What the port has answered since start."""

    queries: int = 0
    refused: int = 0
    failed: int = 0
    timed_out: int = 0
    turned_away: int = 0
    seconds: float = 0.0
    result_bytes: int = 0
    stopped: int = 0
    hung_up: int = 0
    stuck: int = 0


@dataclass(slots=True)
class AlertCounters:
    """What alerts have come to, since start. Written by two threads, each its own fields."""

    evaluations: int = 0
    failures: int = 0
    decisions: int = 0
    seconds: float = 0.0
    attempts: int = 0
    refusals: int = 0
    sent: int = 0
    given_up: int = 0
    pending: int = 0


class Counting:
    """Counts queries. Safe to share between threads."""

    def __init__(self) -> None:
        self._counting = threading.Lock()
        self._counters = QueryCounters()

    @property
    def counters(self) -> QueryCounters:
        """A copy, consistent in itself."""
        with self._counting:
            return replace(self._counters)

    def answered(self, started: float, size: int) -> None:
        """Count a query that began at `started`, by the monotonic clock, and was answered with so many bytes."""
        with self._counting:
            self._counters.queries += 1
            self._counters.seconds += time.monotonic() - started
            self._counters.result_bytes += size

    def failed(self, error: SqlError | WarehouseUnavailable) -> RetrospanError:
        """Count an error of the engine, and return what the client is told.

        A limit that was hit (time, memory) is not a refusal to the store; to a client it is ClickHouse's error.
        """
        found = re.search(r"Code: (\d+).*", str(error), re.DOTALL)
        if found is None and isinstance(error, WarehouseUnavailable):
            return error
        code = int(found[1]) if found else error.code if isinstance(error, SqlError) else None
        with self._counting:
            self._counters.failed += 1
            self._counters.timed_out += code == TIMEOUT_EXCEEDED
        return SqlError(found[0] if found else str(error), code=code)

    def refused(self) -> None:
        """Count one that the guard refused."""
        with self._counting:
            self._counters.refused += 1

    def turned_away(self) -> None:
        """There was no place for one."""
        with self._counting:
            self._counters.turned_away += 1

    def stopped(self, why: str) -> None:
        """One was stopped, for instance because its client `hung_up`."""
        with self._counting:
            self._counters.stopped += 1
            self._counters.hung_up += why == "hung_up"

    def stuck(self) -> None:
        """One could not be stopped."""
        with self._counting:
            self._counters.stuck += 1
