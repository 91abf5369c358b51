"""The processes that batches are interpreted in: one is enough for a few runs, more share the work when many wait.

Each has one batch at a time. None is started before it gets one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from retrospan.ingest.interpret.service.job import BatchResult, Job
from retrospan.ingest.interpret.service.remote_store import StoreQuery
from retrospan.ingest.interpret.service.worker import Worker, WorkerGone
from retrospan.schemas.errors import OutOfMemory

#: A process beside the first ends when it had no job for so many seconds: it holds 0.1 GB, and another is started in a
#: third of a second.
IDLE_SECONDS = 5.0

_LOG = logging.getLogger("retrospan.interpret")


class Processes:
    """Numbered from 0. Belongs to the interpreter's thread."""

    def __init__(self, most: int, memory_bytes: int, patience_seconds: float) -> None:
        """At `most` so many; each may take `memory_bytes`, and is ended when it says nothing for so long."""
        self._workers = [Worker(memory_bytes, patience_seconds) for _ in range(most)]
        self._busy: set[int] = set()
        self._to_forget: set[int] = set()  # these end after the job that they have
        self._ended_at = [0.0] * most  # when the last job of each ended, by the monotonic clock

    def __len__(self) -> int:
        return len(self._workers)

    def free(self, many_wait: bool) -> int | None:
        """Return the number of a process without a job; one beside the others only where `many_wait`."""
        if self._busy and not many_wait:
            return None
        return next((number for number in range(len(self._workers)) if number not in self._busy), None)

    def send(self, number: int, job: Job) -> bool:
        """Give a job to a process that has none; False when it is gone, or a page of spans does not fit."""
        try:
            self._workers[number].send(job)
        except (WorkerGone, OutOfMemory) as error:
            _LOG.warning("%s; its work is done again", error)
            return False
        self._busy.add(number)
        return True

    def receive(self, number: int) -> BatchResult | None:
        """Wait for what came of the job that was sent; None when it has to be done again, with all that belongs to it."""
        worker = self._workers[number]
        self._busy.discard(number)
        self._ended_at[number] = time.monotonic()
        is_to_forget = number in self._to_forget
        self._to_forget.discard(number)
        try:
            done = worker.receive()
            if is_to_forget and not (done is not None and done.is_large):
                worker.stop()
            return done
        except WorkerGone as error:
            _LOG.warning("%s; its work is done again", error)
        except Exception:  # noqa: BLE001 (done again, in halves, it shows which trace it was)
            _LOG.exception("the interpreting process could not do a batch; its work is done again")
        return None

    def whole(self, job: Job, answer: Callable[[StoreQuery], object]) -> BatchResult:
        """Have a job done by a process that asks for what it needs. One of them has no job when this is called.

        Raises:
            TooLong: what belongs to the traces is long.
            WorkerGone: the process came to an end over them.
        """
        number = self.free(many_wait=True)
        assert number is not None, "whoever has traces read whole has taken back a job before"
        worker = self._workers[number]
        worker.send(job)
        done = worker.receive(answer)
        assert done is not None
        return done

    def rest(self) -> None:
        """End those that are not needed just now."""
        now = time.monotonic()
        for number, worker in enumerate(self._workers[1:], start=1):
            if number not in self._busy and now - self._ended_at[number] > IDLE_SECONDS:
                worker.stop()

    def forget(self) -> None:
        """Have them keep nothing of what they have read: each ends, once it has answered what it has under way."""
        for number, worker in enumerate(self._workers):
            if number in self._busy:
                self._to_forget.add(number)
            else:
                worker.stop()

    def stop(self) -> None:
        """End them, whatever they do. Safe to call twice; the next job starts another."""
        for worker in self._workers:
            worker.stop()
        self._busy.clear()
        self._to_forget.clear()
