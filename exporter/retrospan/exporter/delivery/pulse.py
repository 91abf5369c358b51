"""What a process reports about itself: its id, that it is alive while a span is open, and that another one was killed."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from retrospan.exporter.delivery.owners import Dead
from retrospan.exporter.delivery.records import LogRecord
from retrospan.exporter.operating_system import is_there
from retrospan.schemas.attributes import ALIVE, ALIVE_INTERVAL, KILLED, PROCESS_ID, SCOPE_NAME

#: The scope of records that belong to no span.
SCOPE = InstrumentationScope(SCOPE_NAME)
_PID, _INSTANCE = "process.pid", "service.instance.id"
#: Spans that never end are forgotten beyond this: that they are open says nothing any more.
_MOST_OPEN = 100_000


class Pulse:
    """Of one process: a child begins with its own. Any thread may call, also in a signal handler."""

    def __init__(self, interval_seconds: float, parent: Pulse | None = None) -> None:
        """With an interval of 0 it is never due. `parent` is that of the process that this one was forked from."""
        self.process = os.urandom(8).hex()
        self.pid = os.getpid()
        self.about: Mapping[str, object] = {PROCESS_ID: self.process, _PID: self.pid}
        self._interval = interval_seconds
        self._due = float("-inf")
        self._open: set[int] = set()
        self._resource: Resource | None = None
        #: Spans that were open when this process was forked, each with the process that began it.
        self._inherited: dict[int, int] = {}
        self._parent = parent.pid if parent is not None else 0
        if parent is not None:
            self._inherited = {**parent._inherited, **dict.fromkeys(parent._open, parent.pid)}

    def began(self, span_id: int, resource: Resource) -> None:
        """Note that a span of this process is open."""
        self._resource = resource
        if len(self._open) < _MOST_OPEN:
            self._open.add(span_id)

    def ended(self, span_id: int) -> bool:
        """Note that a span is not open any more; return whether that is for this process to say. A child that leaves a
        block which it was forked in ends the span of that, and so will the process that began it, as long as it is
        there.
        """
        self._open.discard(span_id)
        began = self._inherited.get(span_id)
        return began is None or not is_there(began, is_parent=began == self._parent)

    def seconds_left(self, most: float) -> float:
        """Return when to ask again, so many seconds at most."""
        return max(0.0, min(most, self._due - time.monotonic())) if self._interval and self._open else most

    def beat(self) -> LogRecord | None:
        """Return the record that says that this process is alive, where it is due."""
        resource, now = self._resource, time.monotonic()
        if not self._interval or not self._open or now < self._due or resource is None:
            return None
        self._due = now + self._interval
        said: dict[str, object] = {**self.about, ALIVE_INTERVAL: float(self._interval)}
        if (instance := resource.attributes.get(_INSTANCE)) is not None:
            said[_INSTANCE] = instance
        return LogRecord(ALIVE, said, time.time_ns(), resource, SCOPE)


def killed(dead: Dead, resource: Resource) -> LogRecord:
    """Return the record that a process ended without closing its spool."""
    return LogRecord(KILLED, {PROCESS_ID: dead.process, _PID: dead.pid}, time.time_ns(), resource, SCOPE)
