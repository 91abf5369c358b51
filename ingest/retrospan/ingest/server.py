"""`retrospan serve`: runs one process in its role, from start-up and the ready line to the end of the drain."""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from retrospan.ingest.logs import install, log_event
from retrospan.ingest.machine.operating_system import descriptor_limit, raise_descriptor_limit
from retrospan.ingest.settings.config import Config
from retrospan.schemas.errors import RetrospanError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from retrospan.ingest.collector import Collector
    from retrospan.ingest.interpreter_process import InterpretingProcess

#: With fewer the log says so.
FEW_DESCRIPTORS = 1024


def serve(config: Config) -> int:
    """Run until SIGTERM or SIGINT, then drain; a second signal cuts the drain short. Returns 0.

    Prints one line when every port answers.

    Raises:
        RetrospanError: it cannot start; the message says why.
    """
    stopping = threading.Event()
    install()
    raise_descriptor_limit()
    limit = descriptor_limit()
    if limit is not None and limit < FEW_DESCRIPTORS:
        log_event(
            f"this process may open {limit} files and sockets, which a few clients use up: allow {FEW_DESCRIPTORS} or more "
            "(ulimit -n, or systemd's LimitNOFILE)"
        )
    process = _process_of(config, stopping.is_set)

    def stop(number: int, frame: FrameType | None) -> None:
        if stopping.is_set():
            process.hurry()
        stopping.set()

    with _signals(stop) as wait:
        try:
            ready = process.start()
            try:
                if not stopping.is_set():
                    print(f"ready {ready}", flush=True)
                while not stopping.is_set():
                    wait()
            finally:
                process.stop()
        except RetrospanError:
            # A signal during the start ends it as asked, whatever was half open.
            if not stopping.is_set():
                raise
    return 0


@contextmanager
def _signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[Callable[[], object]]:
    """Have `handler` called for SIGTERM and SIGINT; gives what waits for one of them, or for one that came before.

    The kernel may give a signal to any thread. Python's handlers run in the main thread, which does not wake up from
    the wait for a lock where another thread got the signal, but does from reading what the signal writes into a socket.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        written_to = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        before = {number: signal.signal(number, handler) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield lambda: ours.recv(64)
        finally:
            for number, handled in before.items():
                signal.signal(number, handled)
            signal.set_wakeup_fd(written_to)


def _process_of(config: Config, is_ended: Callable[[], bool]) -> Collector | InterpretingProcess:
    # Imported here: neither loads what only the other needs, so that a collector acknowledges soon after its start.
    if config.role == "interpret":
        from retrospan.ingest.interpreter_process import InterpretingProcess

        return InterpretingProcess(config, log_event)
    from retrospan.ingest.collector import Collector

    return Collector(config, log_event, is_ended)
