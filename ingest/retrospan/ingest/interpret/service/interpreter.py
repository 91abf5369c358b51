"""The interpreter: a thread that reads the runs whose rows changed and writes what they mean.

Rows carry their run's generation; the row of `canon_runs` is written last and flips readers from all of the old rows to
all of the new.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import cast

from retrospan.ingest.config import InterpreterSettings
from retrospan.ingest.interpret.run import version_with
from retrospan.ingest.interpret.service.arrivals import ArrivalFeed
from retrospan.ingest.interpret.service.dependents import dependent_runs
from retrospan.ingest.interpret.service.dispatch import BatchRunner, TraceBatch
from retrospan.ingest.interpret.service.lanes import Lanes
from retrospan.ingest.interpret.service.long_runs import LongRuns
from retrospan.ingest.interpret.service.partition_lease import PartitionLease
from retrospan.ingest.interpret.service.result_writer import InterpretationCounters, ResultWriter
from retrospan.ingest.interpret.service.run_queue import MOST_WAITING, Queue, Trace
from retrospan.ingest.interpret.service.selection import EVERYTHING, Selection
from retrospan.ingest.interpret.service.stale_generations import StaleGenerations
from retrospan.ingest.interpret.service.worker import RunSummary
from retrospan.ingest.interpret.sql import load
from retrospan.ingest.memory import memory_limit, run_bytes
from retrospan.ingest.priority import INTERPRETING, set_thread_nice
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import RetrospanError, RetryableError, WarehouseUnavailable
from retrospan.schemas.store import Store

_LOG = logging.getLogger("retrospan.interpret")

#: How often the thread looks whether a trace has become due, in seconds.
TICK_SECONDS = 0.1
#: While the loader is far behind, one batch of runs is read in so many seconds: what is loaded can be asked for, what is
#: not cannot, and interpreting would take most of the processor that loading needs. The runs wait in the warehouse.
FLOOD_PATIENCE_SECONDS = 20.0
#: How long the thread pauses after a failure, in seconds, and at most; each further one doubles it. A warehouse that was
#: away is back soon; what trying again cannot help is tried less and less.
FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS = 1.0, 5.0
FIRST_PERMANENT_SECONDS, LAST_PERMANENT_SECONDS = 8.0, 60.0


class Interpreter:
    """Interprets traces as they fall quiet. All methods may be called from any thread."""

    def __init__(
        self,
        warehouse: Warehouse,
        settings: InterpreterSettings,
        own_process: bool = True,
        share: PartitionLease | None = None,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        """`own_process` gives the reading of runs a process of its own; what needs the warehouse stays here.

        With a `share` this interpreter reads the runs that are its own. Without, it reads them all, and holds
        `most_waiting` traces in memory; the warehouse is asked for the others once those are read.

        Raises:
            ConfigError: the file of mutation rules cannot be used.
        """
        self.counters = InterpretationCounters()
        self.is_flooded: Callable[[], bool] = lambda: False
        """Tells whether the loader is far behind; the collector sets it."""
        self.failure = ""
        """Why nothing is interpreted just now; '' while it works."""
        self._warehouse = warehouse
        self._most = most_waiting if share is None else 2**63
        self._queue = Queue(settings.quiet_seconds, self._most)
        self._noticed: list[tuple[int, int]] = []
        self._awaited: dict[Trace, list[object]] = {}  # what a rebuild still waits for
        self._busy: int = 0
        self._changed = threading.Condition()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._superseded = StaleGenerations()
        self._rules_file = settings.rules
        run_memory = run_bytes(settings.run_bytes, memory_limit())
        self._runner = BatchRunner(own_process, self._owns, Ruleset.configured(settings.rules), run_memory)
        self._share = share
        self._arrivals = ArrivalFeed(share.name if share else "")
        self._gains_read = 0
        self._took = 0.0  # when a batch was taken, by the monotonic clock
        self._begun = True  # False while what is unread is not known: the warehouse is away
        self._writer = ResultWriter(
            self._runner,
            self._arrivals,
            share,
            self.counters,
            self._superseded,
            finished=self._finished,
            remark=self._remark,
        )
        self._long = LongRuns(
            self._runner,
            self._writer,
            self._owns,
            memory_bytes=run_memory,
            most_seconds=settings.run_seconds,
            finished=self._done,
        )
        self._lanes = Lanes(self._runner, self._writer, self._long, self._done)
        self._long_began = 0.0
        self.turn = threading.Lock()
        """Held while runs are read and their rows written: who deletes rows of runs takes it meanwhile."""

    def start(self) -> None:
        """Begin, with every trace that the last process left unread; the warehouse need not answer yet."""
        try:
            store = self._warehouse.connect()
            try:
                self._begin(store)
            finally:
                store.close()
        except WarehouseUnavailable as cause:
            self._begun = False
            _LOG.warning("interpretation begins once the warehouse answers: %.300s", cause)
        if self._share is not None:
            self._share.start()
        self._thread = threading.Thread(target=self._run, name="retrospan-interpret", daemon=True)
        self._thread.start()

    def notice(self, first_sequence: int, last_sequence: int) -> None:
        """Say that these log records are in the raw tables now."""
        with self._changed:
            self._noticed.append((first_sequence, last_sequence))
            self._changed.notify_all()

    def wait_idle(self, timeout: float) -> bool:
        """Wait until nothing is left to interpret; False when the time ran out first."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._pending(), timeout)

    def rebuild(self, progress: Callable[[int, int], None], selection: Selection = EVERYTHING) -> int:
        """Interpret traces again and return how many, whatever arrives meanwhile; each run changes as a whole.

        `progress` gets (done, total) as it goes on. The file of mutation rules is read anew before.

        Raises:
            ConfigError: that file cannot be used; nothing was changed.
        """
        self._runner.rules = Ruleset.configured(self._rules_file)
        store = self._warehouse.connect()
        try:
            rows = self._arrivals.keep_own(store, selection.traces(store), self._owns)
        finally:
            store.close()
        total = len(rows)
        with self._changed:
            self._awaited = self._touch(rows, urgent=True)
            self._changed.notify_all()
            while self._awaited and not self._stopping:
                progress(max(0, total - len(self._awaited)), total)
                self._changed.wait(0.2)
        progress(total, total)
        return total

    def forget(self, tenant: str, trace_ids: Iterable[str]) -> None:
        """Have traces that are being read just now read anew before they are written: rows of them are gone.

        For who holds the turn.
        """
        self._lanes.forget(tenant, trace_ids)

    def read_again(self, tenant: str, trace_ids: Iterable[str]) -> None:
        """Have traces read anew, soon, as if something of them had just come in."""
        with self._changed:
            self._touch([[tenant, trace_id, 0, [], ""] for trace_id in trace_ids], urgent=True)
            self._changed.notify_all()

    @property
    def lag_traces(self) -> int:
        """How many traces wait or are being read; 1 at least while the warehouse has not told what waits."""
        with self._changed:
            return self._pending() + (not self._begun)

    @property
    def lag_seconds(self) -> float:
        """How long the longest waiting trace has waited."""
        with self._changed:
            oldest = self._queue.oldest()
        return max(0.0, time.monotonic() - oldest) if oldest is not None else 0.0

    def stop(self) -> None:
        """Finish the batch at hand and end the thread. What still waits is found again by the next start."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        if self._share is not None:
            self._share.stop()

    def _pending(self) -> int:
        share = self._share
        asking = share is not None and (share.settling or share.gains != self._gains_read)
        return len(self._queue) + self._queue.left_out + self._busy + len(self._noticed) + asking

    def _touch(self, rows: Iterable[list[object]], urgent: bool = False) -> dict[Trace, list[object]]:
        """Queue the traces of these rows that are this interpreter's; return their rows."""
        now = time.monotonic()
        touched: dict[Trace, list[object]] = {}
        for row in rows:
            tenant, trace_id, records, newest, home = row
            if self._owns(cast(str, tenant), cast(str, home) or cast(str, trace_id)):
                trace = (cast(str, tenant), cast(str, trace_id))
                sequences = tuple(cast("list[int]", newest))
                # Passed on by another interpreter: it has waited long enough.
                self._queue.touch(trace, cast(int, records), sequences, now, urgent or bool(home))
                touched[trace] = row
        return touched

    def _owns(self, tenant: str, run_id: str) -> bool:
        return self._share is None or self._share.owns(tenant, run_id)

    def _run(self) -> None:
        # The worker is started by this thread and has its priority.
        set_thread_nice(INTERPRETING)
        store: Store | None = None
        pause = FIRST_PAUSE_SECONDS
        while not self._stopping:
            try:
                if store is None:
                    store = self._warehouse.connect()
                    self._begin(store)
                worked = self._work(store)
                self.failure, pause = "", FIRST_PAUSE_SECONDS
                if not worked and not self._long.wait(TICK_SECONDS):
                    with self._changed:
                        self._changed.wait(TICK_SECONDS)
            except Exception as error:  # noqa: BLE001 (the thread must go on, whatever the warehouse does)
                self.counters.failures += 1
                self.failure = str(error)[:500] or type(error).__name__
                is_permanent = not isinstance(error, RetryableError)
                if is_permanent:
                    pause = max(pause, FIRST_PERMANENT_SECONDS)
                _LOG.error(
                    "interpretation pauses for %.0f s: %s",
                    pause,
                    error,
                    exc_info=None if isinstance(error, RetrospanError) else error,
                )
                self._let_go()
                if store is not None:
                    store.close()
                    store = None
                with self._changed:
                    # Not woken by what comes in: it would be the next failure.
                    self._changed.wait_for(lambda: self._stopping, pause)
                pause = min(2 * pause, LAST_PERMANENT_SECONDS if is_permanent else LAST_PAUSE_SECONDS)
        try:
            if store is not None:
                with self.turn:
                    self._lanes.advance(store, None)
                store.close()
        except RetrospanError as error:
            _LOG.warning("the next start reads the runs at hand again: %s", error)
        self._lanes.drop()

    def _let_go(self) -> None:
        """Forget what is under way: it is found again with the next connection."""
        self._lanes.drop()
        with self._changed:
            self._begun = False
            self._busy = 0

    def _begin(self, store: Store) -> None:
        """Find what is unread; what comes after that is noticed or looked for."""
        self._runner.begin(store)
        if self._share is not None:
            self._arrivals.begin(store)
        rows = self._unread(store)
        with self._changed:
            self._queue.looked(len(rows))
            self._touch(rows, urgent=True)
            # A rebuild asked for traces that were read before: they are not unread.
            self._awaited = self._touch(self._awaited.values(), urgent=True)
            self._begun = True

    def _unread(self, store: Store) -> list[list[object]]:
        """Rows of traces that nothing has read, the oldest, as many as may wait."""
        return store.rows(
            load("traces_unread"), {"version": version_with(self._runner.rules), "most": self._most}
        )

    def _work(self, store: Store) -> bool:
        """Do one round; False when there was nothing to do."""
        with self._changed:
            noticed, self._noticed = self._noticed, []
            self._busy += len(noticed)
        unread: list[list[object]] | None = None
        touched, batches = list[list[object]](), list[TraceBatch]()
        try:
            touched += self._touched(store, noticed)
            if self._queue.left_out and not len(self._queue):
                unread = self._unread(store)
        finally:
            # In one go: between the two nothing would seem to wait.
            with self._changed:
                self._busy -= len(noticed)
                if unread is not None:
                    self._queue.looked(len(unread))
                self._touch([*touched, *(unread or ())])
                batches += self._take()
                if noticed and not batches:
                    self._changed.notify_all()
        # One that waits for its turn has it after those that are due.
        batches += self._lanes.again()
        worked = bool(batches) or self._lanes.is_busy
        for batch in batches or (None,):
            with self.turn:
                self._lanes.advance(store, batch)
        with self.turn:
            worked |= self._long.advance(store, self._long_may_begin())
        self._superseded.collect(store, self._warehouse.form)
        return worked

    def _long_may_begin(self) -> bool:
        """Whether the next long run may be read; while much is to be loaded, only one now and then."""
        now = time.monotonic()
        if self.is_flooded() and now - self._long_began < FLOOD_PATIENCE_SECONDS and not self._awaited:
            return False
        self._long_began = now if len(self._long) else self._long_began
        return True

    def _touched(self, store: Store, noticed: list[tuple[int, int]]) -> list[list[object]]:
        """Rows of traces with new records."""
        if self._share is not None:
            self._share.renew_or_claim()
            gains = self._share.gains
            if gains != self._gains_read:
                self._begin(store)
                self._gains_read = gains
            return self._arrivals.fresh(store, at_once=bool(noticed))
        rows: list[list[object]] = []
        for first, last in noticed:
            rows += store.rows(load("traces_touched"), {"first": first, "last": last})
        return rows

    def _take(self) -> list[TraceBatch]:
        """Take traces that are due; while much is still to be loaded only when one has waited long."""
        now = time.monotonic()
        oldest = self._queue.oldest()
        # Who asked for a rebuild waits for it.
        if (
            self.is_flooded()
            and oldest is not None
            and now - max(oldest, self._took) < FLOOD_PATIENCE_SECONDS
            and not self._awaited
        ):
            return []
        batches: dict[str, TraceBatch] = {}
        for trace, newest in self._queue.take(now, self._runner.room):
            tenant, trace_id = trace
            batch = batches.setdefault(tenant, TraceBatch(tenant, {}, []))
            batch.newest[trace_id] = newest
            if trace in self._awaited:
                batch.rebuilt.append(trace)
            self._busy += 1
        if batches:
            self._took = now
        return [*batches.values()]

    def _done(self, batch: TraceBatch, again: bool = False) -> None:
        """Count the traces of a batch as done; `again` has them read once more."""
        with self._changed:
            self._busy -= len(batch.newest)
            for trace in batch.rebuilt:
                self._awaited.pop(trace, None)
            if again:
                self._touch([[batch.tenant, trace_id, 0, [], ""] for trace_id in batch.newest], urgent=True)
            self._changed.notify_all()

    def _finished(self, tenant: str, effort: Mapping[str, float]) -> None:
        """Note what reading each trace took: the queue lets those that take long wait for more."""
        with self._changed:
            for trace_id, seconds in effort.items():
                self._queue.done((tenant, trace_id), seconds)

    def _remark(self, store: Store, tenant: str, runs: list[RunSummary], before: dict[str, str]) -> None:
        """Mark the later runs whose second input changed: their history leans on the run before them."""
        for run_id, trace_ids in dependent_runs(store, tenant, runs, before):
            if not self._owns(tenant, run_id):
                self._arrivals.pass_on(store, tenant, dict.fromkeys(trace_ids, run_id))
                continue
            with self._changed:
                touched = self._touch(
                    [[tenant, trace_id, 0, [], run_id] for trace_id in trace_ids], urgent=True
                )
                if self._awaited:
                    self._awaited |= touched
