"""What an interpreter still has to read, and who waits for it: everything that its thread shares with others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from retrospan.ingest.interpret.service.dispatch import TraceBatch
from retrospan.ingest.interpret.service.partition_lease import PartitionLease
from retrospan.ingest.interpret.service.run_queue import RunQueue, Touched, TraceKey

_LOOK_SECONDS = 0.2


class Backlog:
    """Safe to share between threads."""

    def __init__(self, quiet_seconds: float, most: int, share: PartitionLease | None) -> None:
        """With a `share` only its runs are taken in; `most` traces are held in memory."""
        self._queue = RunQueue(quiet_seconds, most)
        self._share = share
        self.gains_read = 0
        """How often parts of the runs had come to the share when what is unread was looked up."""
        self._noticed: list[tuple[int, int]] = []
        self._awaited: dict[TraceKey, Touched] = {}  # what a rebuild still waits for
        self._busy = 0
        self._taken: dict[
            TraceKey, float
        ] = {}  # when each trace was taken that is being read, the first first
        self._took = 0.0  # when a batch was taken, by the monotonic clock
        self._is_known = True  # False while what is unread is not known: the warehouse is away
        self._changed = threading.Condition()
        self._woken = False

    def owns(self, tenant: str, run_id: str) -> bool:
        """Whether a run is this interpreter's just now."""
        return self._share is None or self._share.owns(tenant, run_id)

    def notice(self, first_sequence: int, last_sequence: int) -> None:
        """Note log records that are in the raw tables now."""
        with self._changed:
            self._noticed.append((first_sequence, last_sequence))
            self._changed.notify_all()

    def wake(self) -> None:
        """Have everybody look again who waits here, or is about to."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def wait(self, seconds: float, idle_seconds: float) -> None:
        """Wait until something changes: for so long at most, and while nothing is left to read for `idle_seconds`."""
        with self._changed:
            # What others pass on with a share is found by asking only.
            is_idle = self._share is None and not self._pending()
            if not self._woken and not self._noticed:
                self._changed.wait(idle_seconds if is_idle else seconds)
            self._woken = False

    def wait_idle(self, timeout: float) -> bool:
        """Wait until it is known that nothing is left to interpret; False when the time ran out first."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._pending(), timeout)

    def wait_read(
        self, rows: Sequence[Touched], progress: Callable[[int, int], None], stopping: Callable[[], bool]
    ) -> None:
        """Have these traces read, and wait for that; `progress` gets (done, all)."""
        with self._changed:
            self._awaited = self._touch(rows, late=True)
            self._changed.notify_all()
            while self._awaited and not stopping():
                progress(max(0, len(rows) - len(self._awaited)), len(rows))
                self._changed.wait(_LOOK_SECONDS)

    def read_again(self, tenant: str, trace_ids: Iterable[str], home: str = "") -> None:
        """Have traces read soon, as if something of them had just come in; with a `home`, as part of that run.

        Who waits for a rebuild waits for the traces of a `home` as well.
        """
        with self._changed:
            touched = self._touch(
                [Touched(tenant, trace_id, home=home) for trace_id in trace_ids], urgent=True
            )
            if home and self._awaited:
                self._awaited |= touched
            self._changed.notify_all()

    @property
    def is_awaited(self) -> bool:
        """Whether a rebuild waits for something."""
        return bool(self._awaited)

    @property
    def lag_traces(self) -> int:
        """How many traces wait or are being read; 1 at least while the warehouse has not told what waits."""
        with self._changed:
            return self._pending()

    @property
    def lag_seconds(self) -> float:
        """How long the longest waiting trace has waited, or is being read; one that grows waits from when it has its turn."""
        with self._changed:
            now = time.monotonic()
            taken = next(iter(self._taken.values()), now)
            return max(self._queue.lag(now), now - taken)

    @property
    def wants_unread(self) -> bool:
        """Whether there was no room for traces, and there is now."""
        return bool(self._queue.left_out) and self._queue.has_room

    def lose(self) -> None:
        """Forget what is being read: what is unread is not known until `begin`."""
        with self._changed:
            self._is_known = False
            self._busy = 0
            self._taken.clear()

    def begin(self, unread: Sequence[Touched]) -> None:
        """Take in all that is unread."""
        with self._changed:
            self._is_known = True
            self._queue.looked(len(unread))
            self._touch(unread, late=True)
            # A rebuild asked for traces that were read before: they are not unread.
            self._awaited = self._touch(self._awaited.values(), late=True)
            self._changed.notify_all()

    def sooner_if_ended(self, rows: Iterable[Touched]) -> list[TraceKey]:
        """Return the traces among these that would be read sooner if they had ended."""
        traces = [row.trace for row in rows]
        with self._changed:
            waiting = [trace for trace in traces if self._queue.waits_its_turn(trace)]
            return [*waiting, *self._queue.may_be_read_at_once(traces)]

    def take_noticed(self) -> list[tuple[int, int]]:
        """Take the records that were noticed; until `take` they count as work."""
        with self._changed:
            noticed, self._noticed = self._noticed, []
            self._busy += len(noticed)
        return noticed

    def take(
        self,
        noticed: int,
        touched: Sequence[Touched],
        unread: Sequence[Touched] | None,
        room: int,
        patience: float,
    ) -> list[TraceBatch]:
        """Put in what came of so many notices and of a look at what is unread, and take up to `room` traces that are due,
        in one go: between the two nothing would seem to wait.

        With a `patience` in seconds there is a batch only when one has waited so long, or is waited for.
        """
        batches: dict[str, TraceBatch] = {}
        with self._changed:
            self._busy -= noticed
            if unread is not None:
                self._queue.looked(len(unread))
            self._touch(unread or (), late=True)
            self._touch(touched)
            now, oldest = time.monotonic(), self._queue.oldest()
            if oldest is None or self._awaited or now - max(oldest, self._took) >= patience:
                for trace, newest in self._queue.take(now, room):
                    tenant, trace_id = trace
                    batch = batches.setdefault(tenant, TraceBatch(tenant, {}, []))
                    batch.newest[trace_id] = newest
                    if trace in self._awaited:
                        batch.rebuilt.append(trace)
                    self._busy += 1
                    self._taken.setdefault(trace, now)
            if batches:
                self._took = now
            elif noticed:
                self._changed.notify_all()
        return [*batches.values()]

    def done(self, batch: TraceBatch, again: bool = False) -> None:
        """Count the traces of a batch as done; `again` has them read once more."""
        with self._changed:
            self._busy -= len(batch.newest)
            for trace_id in batch.newest:
                self._taken.pop((batch.tenant, trace_id), None)
            for trace in batch.rebuilt:
                self._awaited.pop(trace, None)
            if again:
                self._touch([Touched(batch.tenant, trace_id) for trace_id in batch.newest], urgent=True)
            self._changed.notify_all()

    def note_effort(self, tenant: str, effort: Mapping[str, float]) -> None:
        """Note what reading each trace took, in seconds: those that take long wait for more."""
        with self._changed:
            for trace_id, seconds in effort.items():
                self._queue.done((tenant, trace_id), seconds)

    def _pending(self) -> int:
        asking = self._share is not None and (self._share.settling or self._share.gains != self.gains_read)
        known = len(self._queue) + self._queue.left_out + self._busy + len(self._noticed)
        return known + asking + (not self._is_known)

    def _touch(
        self, rows: Iterable[Touched], urgent: bool = False, late: bool = False
    ) -> dict[TraceKey, Touched]:
        """Queue the traces that are this interpreter's; return them."""
        now = time.monotonic()
        touched: dict[TraceKey, Touched] = {}
        for row in rows:
            if self.owns(row.tenant, row.home or row.trace_id):
                self._queue.touch(
                    row.trace,
                    row.records,
                    tuple(row.newest),
                    now,
                    # Passed on by another interpreter: it has waited long enough.
                    urgent=urgent or bool(row.home),
                    ended=row.ended,
                    late=late or row.late,
                )
                touched[row.trace] = row
        return touched
