"""How batches are routed: most to an interpreting process, the next one read ahead; long runs by themselves.

What a process cannot do the quick way it does again with all that belongs to it, in halves until the one trace is
found that cannot be done; that goes the way of the long runs, where it is read or listed as broken.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from retrospan.ingest.interpret.service.backlog import Backlog
from retrospan.ingest.interpret.service.dispatch import LONG_BYTES, LONG_ROWS, BatchRunner, TraceBatch
from retrospan.ingest.interpret.service.job import BatchResult, Job, TooLong
from retrospan.ingest.interpret.service.long_runs import LongRuns
from retrospan.ingest.interpret.service.result_writer import ResultWriter
from retrospan.ingest.interpret.service.worker import WorkerGone
from retrospan.schemas.errors import OutOfMemory, PermanentError, RetryableError
from retrospan.schemas.store import Store

_LOG = logging.getLogger("retrospan.interpret")


@dataclass(frozen=True, slots=True)
class _Sent:
    """A batch, and the process that has it."""

    batch: TraceBatch
    place: int


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
        self._under_way: deque[_Sent] = deque()  # what processes have, in the order in which it is written
        self._again: list[TraceBatch] = []
        self._apart: dict[str, TraceBatch] = {}  # by tenant, to be read with all that belongs to them

    @property
    def is_busy(self) -> bool:
        """Whether a batch is with another process."""
        return bool(self._under_way)

    def again(self) -> list[TraceBatch]:
        """Return the batches that wait for their turn."""
        waiting = [*self._again, *self._apart.values()]
        self._again.clear()
        self._apart.clear()
        return waiting

    def forget(self, tenant: str, trace_ids: Iterable[str]) -> None:
        """Have traces that are being read just now read anew before they are written: rows of them are gone."""
        gone = set(trace_ids)
        for batch in (sent.batch for sent in self._under_way):
            if batch.tenant == tenant and not batch.newest.keys().isdisjoint(gone):
                batch.stale = True
        self._long.forget(tenant, gone)

    def drop(self) -> None:
        """Forget what waits and what is under way: it is found again with the next connection."""
        self._runner.processes.stop()
        self._long.drop()
        self._under_way.clear()
        self._again.clear()
        self._apart.clear()

    def advance(self, store: Store, batch: TraceBatch | None) -> None:
        """Read a batch and pass it on; where no process is free for it, write the first that was passed on before.

        Raises:
            WarehouseUnavailable: the warehouse is away.
        """
        many_wait = batch is not None and len(batch.newest) >= self._runner.room
        batch = self._admitted(store, batch) if batch is not None else None
        job = self._job(store, batch) if batch is not None else None
        place = self._runner.processes.free(many_wait)
        if batch is not None and job is not None and place is not None:
            if not self._send(batch, job, place):
                self._settle(store, batch, None)
            return
        if self._under_way:
            before = self._under_way.popleft()
            done = self._received(before)
            # The next is on its way before the last is looked at: the process does not wait for the warehouse.
            is_free = done is not None and not done.is_large
            # A job that was not taken is not offered again: its pages are used up.
            if batch is not None and job is not None and is_free:
                batch, job = (None if self._send(batch, job, before.place) else batch), None
            self._finish(store, before, done)
        if batch is None:
            return
        place = self._runner.processes.free(many_wait=True)
        if job is None or place is None or not self._send(batch, job, place):
            self._settle(store, batch, None)

    def _send(self, batch: TraceBatch, job: Job, place: int) -> bool:
        is_sent = self._runner.processes.send(place, job)
        if is_sent:
            self._under_way.append(_Sent(batch, place))
        return is_sent

    def _received(self, sent: _Sent) -> BatchResult | None:
        """Wait for what came of a batch that a process has; None when it has to be done again."""
        began = time.perf_counter()
        done = self._runner.processes.receive(sent.place)
        sent.batch.seconds += time.perf_counter() - began
        return done

    def _finish(self, store: Store, sent: _Sent, done: BatchResult | None) -> None:
        """Write what came of a batch, or do it again.

        Where a process is needed for that, or has not told all of it yet, what the others have is waited for first, and
        written afterwards: whether it stands is known only then.
        """
        done = self._checked(store, sent.batch, done)
        if done is not None and not done.is_large:
            self._settle(store, sent.batch, done)
            return
        told = [(following.batch, self._received(following)) for following in self._under_way]
        self._under_way.clear()
        self._settle(store, sent.batch, done)
        if done is not None:
            self._runner.processes.stop()  # one would keep the memory that a long run took
        for batch, following in told:
            # Rows that were not told whole are lost: the processes may have had other things to do since.
            stands = following is not None and not following.is_large
            self._settle(store, batch, self._checked(store, batch, following if stands else None))

    def _checked(self, store: Store, batch: TraceBatch, done: BatchResult | None) -> BatchResult | None:
        """Return what came of a batch, or of those of its traces that lead nowhere: the others wait to be read with all that
        belongs to them. None when that is the whole batch.
        """
        if done is None:
            self._runner.note_leading(batch.tenant, batch.newest)
            return None
        # The batch before it may have told that others belong to these.
        if leading := self._runner.leading(store, batch, done):
            self._runner.note_leading(batch.tenant, leading)
        if batch.stale:
            return None  # rows are gone since
        if apart := leading | done.left:
            if apart == batch.newest.keys():
                return None
            self._set_apart(batch.take_out(apart))
        return done.without(batch.tenant, leading) if leading else done

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
        return self._by_themselves(store, batch.part(now)) if now else None

    def _by_themselves(self, store: Store, batch: TraceBatch) -> TraceBatch:
        """Have the traces of which more is known to be needed wait for a turn of their own, where there are others."""
        if leading := self._known_leading(store, batch):
            taken = batch.take_out(leading)
            if not batch.newest:
                return taken
            self._set_apart(taken)
        return batch

    def _set_apart(self, batch: TraceBatch) -> None:
        """Have a batch wait, together with others: what writing takes hardly depends on how many traces it is of."""
        held = self._apart.setdefault(batch.tenant, batch)
        if held is batch:
            return
        if held.newest.keys().isdisjoint(batch.newest):
            held.newest.update(batch.newest)
            held.rebuilt += batch.rebuilt
        else:
            self._again.append(batch)

    def _known_leading(self, store: Store, batch: TraceBatch) -> set[str]:
        if batch.whole:
            return set()
        try:
            return self._runner.known_leading(store, batch)
        except (OutOfMemory, PermanentError) as error:
            _LOG.warning("what belongs to %d traces is not known: %.300s", len(batch.newest), error)
            return {*batch.newest}

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
