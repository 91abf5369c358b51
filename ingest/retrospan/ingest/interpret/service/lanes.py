"""The ways that batches go: most to the interpreting process, one ahead of the other; long runs by themselves.

What the process cannot do the quick way it does again with all that belongs to it, in halves until the one trace is
found that cannot be done; that goes the way of the long runs, where it is read or listed as broken.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections import deque
from collections.abc import Iterable

from retrospan.ingest.interpret.service.backlog import Backlog
from retrospan.ingest.interpret.service.dispatch import LONG_BYTES, LONG_ROWS, BatchRunner, TraceBatch
from retrospan.ingest.interpret.service.job import BatchResult, Job, TooLong
from retrospan.ingest.interpret.service.long_runs import LongRuns
from retrospan.ingest.interpret.service.result_writer import ResultWriter
from retrospan.ingest.interpret.service.worker import WorkerGone
from retrospan.schemas.errors import OutOfMemory, PermanentError, RetryableError
from retrospan.schemas.store import Store

_LOG = logging.getLogger("retrospan.interpret")


class Lanes:
    """Belongs to the interpreter's thread, which holds its lock whenever it asks something of this."""

    def __init__(
        self,
        runner: BatchRunner,
        writer: ResultWriter,
        long_runs: LongRuns,
        backlog: Backlog,
    ) -> None:
        self._runner = runner
        self._writer = writer
        self._long = long_runs
        self._backlog = backlog
        self._under_way: TraceBatch | None = None  # what the other process has
        self._again: deque[TraceBatch] = deque()

    @property
    def is_busy(self) -> bool:
        """Whether a batch is with the other process."""
        return self._under_way is not None

    def again(self) -> list[TraceBatch]:
        """Return a batch that waits for its turn, if there is one."""
        return [self._again.popleft()] if self._again else []

    def forget(self, tenant: str, trace_ids: Iterable[str]) -> None:
        """Have traces that are being read just now read anew before they are written: rows of them are gone."""
        gone = set(trace_ids)
        batch = self._under_way
        if batch is not None and batch.tenant == tenant and not batch.newest.keys().isdisjoint(gone):
            batch.stale = True
        self._long.forget(tenant, gone)

    def drop(self) -> None:
        """Forget what waits and what is under way: it is found again with the next connection."""
        self._runner.stop()
        self._long.drop()
        self._under_way = None
        self._again.clear()

    def advance(self, store: Store, batch: TraceBatch | None) -> None:
        """Read a batch and pass it on; write the one before it, which was interpreted meanwhile.

        Raises:
            WarehouseUnavailable: the warehouse is away.
        """
        batch = self._admitted(store, batch) if batch is not None else None
        job = self._job(store, batch) if batch is not None else None
        before, self._under_way = self._under_way, None
        done = self._received(before)
        # The next is on its way before the last is looked at: the process does not wait for the warehouse.
        is_free = before is None or (done is not None and not done.is_large)
        if batch is not None and job is not None and is_free and self._runner.send(job):
            self._under_way, batch = batch, None
        if before is not None:
            done = self._checked(store, before, done)
            if done is None or done.is_large:
                self._settle_alone(store, before, done)
            else:
                self._settle(store, before, done)
        if batch is None:
            return
        # A job that was not taken is not offered again: its pages are used up.
        if is_free or job is None or not self._runner.send(job):
            self._settle(store, batch, None)
        else:
            self._under_way = batch

    def _received(self, batch: TraceBatch | None) -> BatchResult | None:
        """Wait for what came of a batch that the other process has; None when it has to be done again, or is none."""
        if batch is None:
            return None
        began = time.perf_counter()
        done = self._runner.receive()
        batch.seconds += time.perf_counter() - began
        return done

    def _checked(self, store: Store, batch: TraceBatch, done: BatchResult | None) -> BatchResult | None:
        """Return what came of a batch; None when it has to be done again with all that belongs to it."""
        if done is None or self._runner.leads_on(store, batch, done):
            self._runner.note_leading(batch)
            return None
        if batch.stale or self._runner.joined(store, batch):
            return None  # rows are gone since, or the batch before it told that others belong to these
        return done

    def _settle_alone(self, store: Store, batch: TraceBatch, done: BatchResult | None) -> None:
        """Settle a batch for which the other process is needed, or which it has not told whole yet.

        What that has under way is waited for first, and written afterwards: whether it stands is known only then.
        """
        following, self._under_way = self._under_way, None
        told = self._received(following)
        if told is not None and told.is_large:
            told = None  # its rows are lost once the process gets something else to do
        self._settle(store, batch, done)
        if done is not None:
            self._runner.stop()  # it would keep the memory that a long run took
        if following is not None:
            self._settle(store, following, self._checked(store, following, told))

    def _admitted(self, store: Store, batch: TraceBatch) -> TraceBatch | None:
        """Return what of a batch is read now. Long runs are set aside, and what is too much at once waits."""
        if not self._runner.has_process:
            return batch
        for trace_id in [*batch.newest]:
            if self._long.holds((batch.tenant, trace_id)):
                self._long.add(batch.part([trace_id]))
                del batch.newest[trace_id]
        sizes = self._sizes(store, batch)
        now: list[str] = []
        later: list[str] = []
        rows, size = 0, 0
        for trace_id in batch.newest:
            of_trace = sizes.get(trace_id, (0, 0))
            rows, size = rows + of_trace[0], size + of_trace[1]
            if of_trace[0] > LONG_ROWS or of_trace[1] > LONG_BYTES:
                rows, size = rows - of_trace[0], size - of_trace[1]
                self._long.add(batch.part([trace_id]), *of_trace)
            elif now and (rows > 2 * LONG_ROWS or size > 2 * LONG_BYTES):
                later.append(trace_id)
            else:
                now.append(trace_id)
        if later:
            self._again.append(batch.part(later))
        return batch.part(now) if now else None

    def _sizes(self, store: Store, batch: TraceBatch) -> dict[str, tuple[int, int]]:
        try:
            return self._runner.sizes(store, batch) if batch.newest else {}
        except (OutOfMemory, PermanentError) as error:
            _LOG.warning("how much %d traces hold is not known: %.300s", len(batch.newest), error)
            return {}

    def _job(self, store: Store, batch: TraceBatch) -> Job | None:
        began = time.perf_counter()
        try:
            return self._runner.job(store, batch)
        except OutOfMemory as error:
            _LOG.warning("reading %d traces at once: %s", len(batch.newest), error)
        except PermanentError:
            _LOG.exception("%d traces cannot be read together", len(batch.newest))
        finally:
            batch.seconds += time.perf_counter() - began
        return None

    def _settle(self, store: Store, batch: TraceBatch, done: BatchResult | None) -> None:
        """Write what a batch gave, or all that belongs to it, and count it as done."""
        try:
            if done is None:
                began = time.perf_counter()
                done = self._runner.whole(store, batch)
                batch.seconds += time.perf_counter() - began
            self._writer.write(store, batch, done)
        except (OutOfMemory, WorkerGone, TooLong) as error:
            self._take_apart(store, batch, str(error))
        except RetryableError:
            raise
        except Exception:  # noqa: BLE001 (whatever one trace does, the others go on)
            self._take_apart(store, batch, traceback.format_exc())
        else:
            self._backlog.done(batch)

    def _take_apart(self, store: Store, batch: TraceBatch, reason: str) -> None:
        """Find the trace that cannot be done; alone, it goes the way of the long runs."""
        if len(batch.newest) > 1:
            self._again += batch.halves()
        elif self._runner.has_process:
            _LOG.warning("trace %s is read by itself: %.1000s", next(iter(batch.newest)), reason.strip())
            self._long.add(batch)
        else:
            self._writer.give_up(store, batch, reason)
            self._backlog.done(batch)
