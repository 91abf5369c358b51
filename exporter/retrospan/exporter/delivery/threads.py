"""Threads that are started before anything depends on them: a lack of threads shows while nothing has to be undone.

In a program whose threads are gevent's greenlets, calls that would stop them all run in a thread beside them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from opentelemetry import context

_Returned = TypeVar("_Returned")


class Worker:
    """A daemon thread that waits for what it is to run. Instrumentation is off in it: the exporter's own requests do not
    become spans."""

    def __init__(self, name: str) -> None:
        """Start the thread. Raises RuntimeError, MemoryError where the system has none to give."""
        self._known = threading.Event()
        self._run: Callable[[], None] | None = None
        threading.Thread(name=name, target=self._wait, daemon=True).start()

    def begin(self, run: Callable[[], None]) -> None:
        self._run = run
        self._known.set()

    def dismiss(self) -> None:
        """End the thread, if it was given nothing to run."""
        self._known.set()

    def _wait(self) -> None:
        self._known.wait()
        if self._run is not None:
            context.attach(context.set_value(context._SUPPRESS_INSTRUMENTATION_KEY, True))
            self._run()


@contextmanager
def workers(names: Sequence[str]) -> Iterator[list[Worker]]:
    """Start all of these threads, or none: what was given nothing to run when the block ends, ends too."""
    found: list[Worker] = []
    try:
        for name in names:
            found.append(Worker(name))
        yield found
    finally:
        for worker in found:
            worker.dismiss()


def beside_greenlets(call: Callable[[], _Returned]) -> _Returned:
    """Return what a call returns that waits where gevent does not see it, as grpcio's do; or raise what it raises.

    In a program that calls `monkey.patch_all` every thread is a greenlet, and all of them would wait with this one.
    """
    monkey: Any = sys.modules.get("gevent.monkey")
    if monkey is None or not monkey.is_module_patched("threading"):
        return call()
    returned: _Returned = sys.modules["gevent"].get_hub().threadpool.apply(call)
    return returned
