"""How long a gRPC call may keep a thread waiting for its message.

The library hands a call to a thread before its message is there, and waits as long as the client likes: sixteen
clients that send nothing would hold every thread. Here such a call is cancelled in time, sooner while others wait.
Clients may send a cancelled call again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

MESSAGE_SECONDS = 30.0
CONTENDED_SECONDS = 5.0
"""The same, while other calls wait for a thread."""


class Patience:
    """Watches the threads that wait for a message. `others_wait` says whether a call waits for a thread."""

    def __init__(
        self,
        others_wait: Callable[[], bool],
        seconds: float = MESSAGE_SECONDS,
        contended_seconds: float = CONTENDED_SECONDS,
    ) -> None:
        self._others_wait = others_wait
        self._seconds = seconds
        self._contended_seconds = contended_seconds
        # By thread: the call it has, and since when.
        self._waiting: dict[int, tuple[Any, float]] = {}
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="retrospan-grpc-patience", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()

    def wait_for(self, call: Any) -> None:
        """This thread is about to wait for the message of a call."""
        with self._lock:
            self._waiting[threading.get_ident()] = (call, time.monotonic())

    def arrived(self) -> None:
        """This thread waits no longer."""
        with self._lock:
            self._waiting.pop(threading.get_ident(), None)

    def _watch(self) -> None:
        while not self._done.wait(min(1.0, self._contended_seconds / 4)):
            allowed = self._contended_seconds if self._others_wait() else self._seconds
            limit = time.monotonic() - allowed
            with self._lock:
                late = [call for call, since in self._waiting.values() if since < limit]
            for call in late:
                call.cancel()
