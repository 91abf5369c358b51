"""How long a gRPC call may keep a thread waiting for its message, and how much may come in meanwhile.

The library hands a call to a thread before its message is there, and waits as long as the client likes: sixteen
clients that send nothing would hold every thread. Here such a call is cancelled in time, sooner while others wait.

The library also takes in every message by itself, each as large as the largest request. Incoming bytes are measured and
charged to the budget of all requests; a call that does not fit is ended with UNAVAILABLE.

Clients may retry either kind of call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from retrospan.ingest.receive.arrivals import Arrivals
from retrospan.ingest.receive.budget import Budget, Hold
from retrospan.ingest.receive.status import UNAVAILABLE
from retrospan.ingest.service import Service
from retrospan.schemas.errors import Overloaded

MESSAGE_SECONDS = 30.0
#: The same, while other calls wait for a thread.
CONTENDED_SECONDS = 5.0
#: A connection that has brought no more than this may have brought it for the call that it has.
_NEW_BYTES = 16 << 20
#: A message that takes longer than this is watched.
_TICK_SECONDS = 0.02


@dataclass(slots=True)
class _Waiting:
    call: Any
    since: float
    ended: bool = False


@dataclass(slots=True)
class _Connection:
    """One that brings messages for which threads wait. Which bytes are whose, nobody knows."""

    hold: Hold
    first: int | None
    """What had come over it when the first of these calls began to wait, as far as was known."""
    delivered: int = 0
    """The size of the messages that it has brought since."""
    calls: dict[int, _Waiting] = field(default_factory=dict)


class ReadDeadline(Service):
    """Watches the threads that wait for a message. `others_wait` says whether a call waits for a thread."""

    thread_name = "retrospan-grpc-patience"
    work = "watching calls"

    def __init__(
        self,
        others_wait: Callable[[], bool],
        seconds: float = MESSAGE_SECONDS,
        contended_seconds: float = CONTENDED_SECONDS,
        *,
        budget: Budget,
        note_refused: Callable[[], None] = lambda: None,
    ) -> None:
        """`note_refused` counts a call that is ended for want of room."""
        super().__init__(_TICK_SECONDS)
        self._others_wait = others_wait
        self._seconds = seconds
        self._contended_seconds = contended_seconds
        self._budget = budget
        self._note_refused = note_refused
        self._arrivals = Arrivals()
        # By the address of the other end, and in them by thread.
        self._connections: dict[str, _Connection] = {}
        self._peers: dict[int, str] = {}
        self._lock = threading.Lock()
        self._some_wait = threading.Event()

    def wait_for(self, call: Any) -> None:
        """Note that this thread is about to wait for the message of a call."""
        found = call.peer()
        peer = found.decode(errors="replace") if isinstance(found, bytes) else str(found)
        first = self._arrivals.at_once(peer) if peer not in self._connections else None
        thread = threading.get_ident()
        with self._lock:
            connection = self._connections.get(peer)
            if connection is None:
                connection = self._connections[peer] = _Connection(self._budget.hold(), first)
            connection.calls[thread] = _Waiting(call, time.monotonic())
            self._peers[thread] = peer
            self._some_wait.set()

    def arrived(self, size: int = 0) -> None:
        """Note that this thread waits no longer; its message has `size` bytes. Harmless when repeated."""
        thread = threading.get_ident()
        with self._lock:
            peer = self._peers.pop(thread, None)
            if peer is None:
                return
            connection = self._connections[peer]
            del connection.calls[thread]
            connection.delivered += size
            if not connection.calls:
                connection.hold.release()
                del self._connections[peer]
            elif connection.hold.arrived:
                connection.hold.arrived_whole(max(0, connection.hold.arrived - size))

    def ask_to_stop(self) -> None:
        """Have it end, without waiting for that."""
        super().ask_to_stop()
        self._some_wait.set()

    def run_once(self) -> None:
        """Cancel the calls that have waited too long, and account for what comes in; sleep while no call waits."""
        self._some_wait.wait()
        with self._lock:
            if not self._connections:
                if not self.is_stopping:
                    self._some_wait.clear()
                return
            now = time.monotonic()
            slow = {
                peer: connection
                for peer, connection in self._connections.items()
                if any(one.since < now - _TICK_SECONDS for one in connection.calls.values())
            }
            waiting = [one for connection in slow.values() for one in connection.calls.values()]
        allowed = self._contended_seconds if slow and self._others_wait() else self._seconds
        for one in waiting:
            if one.since < now - allowed:
                one.call.cancel()
        for peer, connection in slow.items():
            received = self._arrivals.received(peer)
            if received is not None:
                self._account(connection, received)

    def _account(self, connection: _Connection, received: int) -> None:
        """Hold what has come in over a connection and is not a message yet, or end the calls on it."""
        with self._lock:
            if not connection.calls:
                return
            if connection.first is None:
                # One that nobody has looked at before is mostly a new one.
                connection.first = received if received > _NEW_BYTES else 0
            inside = max(0, received - connection.first - connection.delivered)
            try:
                connection.hold.arrived_whole(inside)
            except Overloaded as error:
                ended = [one for one in connection.calls.values() if not one.ended]
                reason = str(error)
                connection.hold.release()
                connection.first, connection.delivered = received, 0
            else:
                return
        for one in ended:
            one.ended = True
            one.call.cancel(UNAVAILABLE, reason)
            self._note_refused()
