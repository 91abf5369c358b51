"""Threads that are there before anything depends on them: a system that is short of them says so while there is nothing
to undo."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from opentelemetry import context


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
