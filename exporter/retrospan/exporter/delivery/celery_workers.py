"""Workers of Celery: what they end with, since their pool ends them with a signal as soon as they say that they are done.

Neither `atexit` nor the finalizers of multiprocessing run then. Celery's own signal comes before that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def end_with_worker(end: Callable[[], None]) -> None:
    """Have `end` called in each worker process before it ends, if this program has loaded Celery. Safe to repeat."""
    signals: Any = sys.modules.get("celery.signals")
    if signals is not None:
        signals.worker_process_shutdown.connect(_Ending(end), weak=False, dispatch_uid="retrospan.exporter")


class _Ending:
    """A receiver as Celery calls it."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end

    def __call__(self, **_: object) -> None:
        self._end()
