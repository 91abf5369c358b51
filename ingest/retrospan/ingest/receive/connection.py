"""A connection to an HTTP port that does not wait for ever.

uvicorn waits as long as a client likes for the first line and the headers of a request, so that a few thousand
silent clients hold every file descriptor of the process. Here a request's headers have a deadline, and when there
are too many connections, the one that has been silent longest is closed: whoever comes new gets in.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
MOST_CONNECTIONS = 4096


def most_connections() -> int:
    """How many connections a port may have: a quarter of the process's descriptors, the rest is for its files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else max(16, min(MOST_CONNECTIONS, soft // 4))


def patient(header_seconds: float, most: int) -> type[H11Protocol]:
    """The protocol of one port: `header_seconds` for the headers of a request, at most `most` connections."""
    # In the order in which they began to wait. Everything here happens in the one thread of the port's loop.
    silent: dict[Connection, None] = {}

    class Connection(H11Protocol):
        """One connection: waits for headers, or has a request in progress."""

        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait_for_headers()
            while len(self.connections) > most and silent:
                next(iter(silent)).give_up()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._in_progress():
                self._stop_waiting()
            elif self._deadline is None:
                self._wait_for_headers()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if not self.transport.is_closing() and not self._in_progress():
                self._wait_for_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def give_up(self) -> None:
            """Close a connection that has nothing in progress."""
            self._stop_waiting()
            self.connections.discard(self)
            self.transport.close()

        def _in_progress(self) -> bool:
            # uvicorn names no cycle before the first request.
            cycle: Any = self.cycle
            return cycle is not None and not cycle.response_complete

        def _wait_for_headers(self) -> None:
            self._stop_waiting()
            silent[self] = None
            self._deadline = self.loop.call_later(header_seconds, self.give_up)

        def _stop_waiting(self) -> None:
            silent.pop(self, None)
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Connection
