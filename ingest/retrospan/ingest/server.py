"""`retrospan serve`: one process in its role, from the ready line to the end of the drain."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import TYPE_CHECKING

from retrospan.ingest.config import Config
from retrospan.ingest.logs import install, log_event
from retrospan.schemas.errors import RetrospanError

if TYPE_CHECKING:
    from collections.abc import Callable

    from retrospan.ingest.collector import Collector
    from retrospan.ingest.interpreter_process import InterpretingProcess


def serve(config: Config) -> int:
    """Run until SIGTERM or SIGINT, then drain; a second signal cuts the drain short. Returns 0.

    Prints one line when every port answers.

    Raises:
        RetrospanError: it cannot start; the message says why.
    """
    stopping = threading.Event()
    install()
    process = _process_of(config, stopping.is_set)

    def stop(number: int, frame: FrameType | None) -> None:
        if stopping.is_set():
            process.hurry()
        stopping.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        ready = process.start()
        try:
            if not stopping.is_set():
                print(f"ready {ready}", flush=True)
            stopping.wait()
        finally:
            process.stop()
    except RetrospanError:
        # A signal during the start ends it as asked, whatever was half open.
        if not stopping.is_set():
            raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def _process_of(config: Config, is_ended: Callable[[], bool]) -> Collector | InterpretingProcess:
    # Imported here: neither loads what only the other needs, so that a collector acknowledges soon after its start.
    if config.role == "interpret":
        from retrospan.ingest.interpreter_process import InterpretingProcess

        return InterpretingProcess(config, log_event)
    from retrospan.ingest.collector import Collector

    return Collector(config, log_event, is_ended)
