"""Long runs are read by themselves: one at a time, by a process of its own, while the others go on.

Nothing waits for that process. It asks for what it needs and says what came of it, a message at a time, and each message
is dealt with between two batches of ordinary runs. A run that it cannot read, in the memory and the time that a run may
have, is listed as not interpreted; so is everything that the ordinary way could not read.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import cast

from retrospan.ingest.interpret.service.backlog import Backlog
from retrospan.ingest.interpret.service.dispatch import LONG_PAGE_BYTES, LONG_ROWS, BatchRunner, TraceBatch
from retrospan.ingest.interpret.service.job import BatchResult
from retrospan.ingest.interpret.service.remote_store import StoreQuery, answer_from
from retrospan.ingest.interpret.service.result_writer import ResultWriter, Writing
from retrospan.ingest.interpret.service.run_queue import TraceKey
from retrospan.ingest.interpret.service.worker import Worker, WorkerGone
from retrospan.ingest.warehouse.rows import Encoded
from retrospan.schemas.errors import OutOfMemory, PermanentError, RetryableError
from retrospan.schemas.sequences import newest_of
from retrospan.schemas.store import Store

_LOG = logging.getLogger("retrospan.interpret")

#: Messages are dealt with for so long before ordinary runs have their turn, in seconds.
SLICE_SECONDS = 0.3
#: How often a run is tried that the engine had no memory for, or whose process was killed, and how long it waits.
TRIES = 3
#: Less than ordinary runs get, where the processor is short.
_NICENESS = 5
PAUSE_SECONDS = 10.0


@dataclass(slots=True)
class _LongRun:
    """The run that is being read. `began` by the monotonic clock; `members` are the traces that were read so far."""

    batch: TraceBatch
    began: float
    members: set[str]
    writing: Writing | None = None


class LongRuns:
    """Belongs to the interpreter's thread."""

    def __init__(
        self,
        runner: BatchRunner,
        writer: ResultWriter,
        backlog: Backlog,
        *,
        memory_bytes: int,
        most_seconds: float,
    ) -> None:
        self._runner = runner
        self._writer = writer
        self._backlog = backlog
        self._most_seconds = most_seconds
        self._worker = Worker(memory_bytes, most_seconds, niceness=_NICENESS)
        self._waiting: dict[TraceKey, TraceBatch] = {}
        self._not_before: dict[TraceKey, float] = {}
        self._tries: dict[TraceKey, int] = {}
        self._now: _LongRun | None = None

    def __len__(self) -> int:
        return len(self._waiting) + (self._now is not None)

    def holds(self, trace: TraceKey) -> bool:
        """Whether a trace waits here, or is being read."""
        if (
            self._now is not None
            and self._now.batch.tenant == trace[0]
            and trace[1] in self._now.batch.newest
        ):
            return True
        return trace in self._waiting

    def add(self, batch: TraceBatch, rows: int = 0, size: int = 0) -> None:
        """Have the one trace of a batch read, when those before it have been. `rows` and `size` are about what it has."""
        (trace_id,) = batch.newest
        trace = (batch.tenant, trace_id)
        spans = LONG_PAGE_BYTES * rows // size if rows and size else LONG_ROWS
        batch.page_spans = max(8, min(LONG_ROWS, spans))
        held = self._waiting.get(trace)
        if held is None:
            self._waiting[trace] = batch
            self._writer.counters.long_runs += 1
            return
        # It has grown while it waited: read once, with everything.
        held.newest[trace_id] = newest_of((*held.newest[trace_id], *batch.newest[trace_id]))
        held.rebuilt += batch.rebuilt
        held.page_spans = batch.page_spans
        self._backlog.done(TraceBatch(batch.tenant, dict(batch.newest), []), False)

    def forget(self, tenant: str, trace_ids: set[str]) -> None:
        """Have the run that is being read, of which rows are gone, read anew before it is written."""
        now = self._now
        if now is not None and now.batch.tenant == tenant and not now.members.isdisjoint(trace_ids):
            now.batch.stale = True

    def advance(self, store: Store, may_begin: bool = True) -> bool:
        """Go on for a moment, with another run only where it `may_begin`; False when there was nothing to do.

        Raises:
            WarehouseUnavailable: the warehouse is away.
        """
        if self._now is None and not (may_begin and self._begin(store)):
            return False
        until, worked = time.monotonic() + SLICE_SECONDS, False
        while self._now is not None and time.monotonic() < until:
            now = self._now
            try:
                if now.batch.stale:
                    self._put_back(0.0)
                    return True
                if time.monotonic() - now.began > self._most_seconds:
                    raise PermanentError(f"it could not be read within {self._most_seconds:,.0f} s")
                if self._worker.is_running and not self._worker.has_message(0.0):
                    break
                worked = True
                self._take(store, now, self._worker.message())
            except (OutOfMemory, WorkerGone) as error:
                self._try_again(store, now.batch, str(error))
            except RetryableError:
                raise
            except Exception as error:  # noqa: BLE001 (whatever one run does, the others go on)
                self._give_up(store, now.batch, f"{type(error).__name__}: {error}")
        return worked

    def wait(self, seconds: float) -> bool:
        """Wait for the next message of the run under way; False when there is none under way."""
        if self._now is None:
            return False
        try:
            self._worker.has_message(seconds)
        except WorkerGone:
            pass  # what comes next finds it
        return True

    def drop(self) -> None:
        """End the process, and forget what waited or was under way."""
        self._worker.stop()
        self._waiting.clear()
        self._now = None

    def _begin(self, store: Store) -> bool:
        moment = time.monotonic()
        due = (trace for trace in self._waiting if self._not_before.get(trace, 0.0) <= moment)
        trace = next(due, None)
        if trace is None:
            return False
        batch = self._waiting.pop(trace)
        self._not_before.pop(trace, None)
        self._now = _LongRun(batch, moment, {*batch.newest})
        try:
            self._worker.send(self._runner.asking_job(store, batch))
        except (OutOfMemory, WorkerGone) as error:
            self._try_again(store, batch, str(error))
        except PermanentError as error:
            self._give_up(store, batch, f"{type(error).__name__}: {error}")
        return True

    def _take(self, store: Store, now: _LongRun, message: object) -> None:
        batch = now.batch
        if isinstance(message, StoreQuery):
            members = message.parameters.get("trace_ids")
            if not isinstance(members, (str, int, float, type(None))):
                now.members.update(str(trace_id) for trace_id in members)
            owns = self._backlog.owns
            self._worker.reply(answer_from(store, lambda run_id: owns(batch.tenant, run_id)), message)
        elif isinstance(message, BatchResult):
            now.writing = self._writer.begin(store, batch, message)
        elif isinstance(message, Encoded):
            self._writer.piece(store, cast(Writing, now.writing), message)
        else:
            writing = cast(Writing, now.writing)
            self._writer.end(store, writing)
            self._writer.counters.seconds += time.monotonic() - now.began
            self._done(batch, self._writer.overtaken(store, writing))

    def _done(self, batch: TraceBatch, again: bool) -> None:
        for trace_id in batch.newest:
            self._tries.pop((batch.tenant, trace_id), None)
        self._now = None
        self._worker.stop()
        self._backlog.done(batch, again)

    def _put_back(self, pause: float) -> None:
        """Read the run under way again, later: what it has written is behind no pointer."""
        assert self._now is not None
        batch, self._now = self._now.batch, None
        self._worker.stop()
        batch.stale = False
        (trace_id,) = batch.newest
        self._waiting[batch.tenant, trace_id] = batch
        self._not_before[batch.tenant, trace_id] = time.monotonic() + pause

    def _try_again(self, store: Store, batch: TraceBatch, reason: str) -> None:
        (trace_id,) = batch.newest
        trace = (batch.tenant, trace_id)
        self._tries[trace] = self._tries.get(trace, 0) + 1
        if self._tries[trace] >= TRIES:
            self._give_up(store, batch, reason)
            return
        _LOG.warning("trace %s is read again in %.0f s: %.300s", trace_id, PAUSE_SECONDS, reason)
        self._put_back(PAUSE_SECONDS)

    def _give_up(self, store: Store, batch: TraceBatch, reason: str) -> None:
        self._worker.stop()
        self._writer.give_up(store, batch, reason)
        self._done(batch, False)
