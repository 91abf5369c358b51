"""A thread that gives memory back while an embedded engine is idle.

Starting and answering touch 200 MB of the engine's code, of which a tenth is needed at rest; and after loading, Python,
the C library and the engine keep freed memory for later use.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from retrospan.ingest.machine.memory import give_back
from retrospan.ingest.machine.operating_system import forget_code
from retrospan.ingest.service import Service

#: How the file of the engine's library begins.
LIBRARY = "_chdb"
_LOOK_SECONDS = 5.0
#: It rests once nothing has happened for so long; and what it does at rest needs code too, so that is given back again.
_QUIET_SECONDS = 30.0
_AGAIN_SECONDS = 300.0


class Resting(Service):
    """One per embedded engine. Harmless at any time: what is needed is there again when it is needed."""

    thread_name = "retrospan-resting"
    work = "giving back memory"

    def __init__(self, activity: Callable[[], object], rest: Callable[[], None]) -> None:
        """`activity` returns another value whenever something has happened; `rest` has the engine give back memory."""
        super().__init__(_LOOK_SECONDS)
        self._rest_engine = rest
        self._activity = activity
        self._seen: object = None
        self._due_at = time.monotonic() + _QUIET_SECONDS

    def run_once(self) -> None:
        """Give back what is due."""
        seen, now = self._activity(), time.monotonic()
        if seen != self._seen:
            self._seen, self._due_at = seen, now + _QUIET_SECONDS
        elif now >= self._due_at:
            self._rest_engine()
            give_back()
            forget_code(LIBRARY)
            self._due_at = now + _AGAIN_SECONDS
