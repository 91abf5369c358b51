"""The interpreter: a thread that reads the runs whose rows changed and writes what they mean.

Rows carry their run's generation; the row of `canon_runs` is written last and flips readers from all of the old rows to
all of the new.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import cast

from retrospan.ingest.config import InterpreterSettings
from retrospan.ingest.interpret.arrivals import Arrivals
from retrospan.ingest.interpret.batch import broken_trace, interpret_traces
from retrospan.ingest.interpret.broken import deleted_run
from retrospan.ingest.interpret.conversations import Conversations
from retrospan.ingest.interpret.leaning import final_histories, leaning_on
from retrospan.ingest.interpret.members import orphaned_runs, read_members
from retrospan.ingest.interpret.queue import Queue, Trace
from retrospan.ingest.interpret.rows import Rows
from retrospan.ingest.interpret.run import VERSION
from retrospan.ingest.interpret.selection import EVERYTHING, Selection
from retrospan.ingest.interpret.share import Share
from retrospan.ingest.interpret.statements import load
from retrospan.ingest.interpret.superseded import Superseded
from retrospan.ingest.interpret.worker import TABLES, Done, Job, RunSeen, Worker, WorkerGone, pack
from retrospan.ingest.load.reading import log_rows, read_logs, span_rows
from retrospan.ingest.precedence import INTERPRETING, give_way
from retrospan.ingest.warehouse.rows import insert_encoded, insert_rows, time_columns
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import RetrospanError, RetryableError, WarehouseUnavailable
from retrospan.schemas.sequences import Newest
from retrospan.schemas.store import Store

_LOG = logging.getLogger("retrospan.interpret")

#: Traces read in one query.
BATCH_TRACES = 200
#: How often the thread looks whether a trace has become due, in seconds.
TICK_SECONDS = 0.1
#: While the loader is far behind, runs wait this long: it needs the processor, and their spans are still coming.
FLOOD_PATIENCE_SECONDS = 3.0


@dataclass(slots=True)
class Counters:
    """What the interpreter has done since it started."""

    runs: int = 0
    spans: int = 0
    broken: int = 0
    failures: int = 0
    seconds: float = 0.0


class Interpreter:
    """Interprets traces as they fall quiet. All methods may be called from any thread."""

    def __init__(
        self,
        warehouse: Warehouse,
        settings: InterpreterSettings,
        own_process: bool = True,
        share: Share | None = None,
    ) -> None:
        """`own_process` gives the reading of runs a process of its own; what needs the warehouse stays here.

        With a `share` this interpreter reads the runs that are its own; without, it reads them all.
        """
        self.counters = Counters()
        self.is_flooded: Callable[[], bool] = lambda: False
        """Tells whether the loader is far behind; the collector sets it."""
        self.failure = ""
        """Why nothing is interpreted just now; '' while it works."""
        self._warehouse = warehouse
        self._queue = Queue(settings.quiet_seconds)
        self._noticed: list[tuple[int, int]] = []
        self._awaited: dict[Trace, list[object]] = {}  # what a rebuild still waits for
        self._busy: int = 0
        self._changed = threading.Condition()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._generation = 0
        self._superseded = Superseded()
        self._worker = Worker() if own_process else None
        self._timed: dict[str, frozenset[str]] = {}
        self._share = share
        self._arrivals = Arrivals(share.name if share else "")
        self._gains_read = 0
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

        `progress` gets (done, total) as it goes on.
        """
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

    def read_again(self, tenant: str, trace_ids: Iterable[str]) -> None:
        """Have traces read anew, soon, as if something of them had just come in."""
        with self._changed:
            self._touch([[tenant, trace_id, 0, [], ""] for trace_id in trace_ids], urgent=True)
            self._changed.notify_all()

    @property
    def lag_traces(self) -> int:
        """How many traces wait or are being read."""
        with self._changed:
            return self._pending()

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
        return len(self._queue) + self._busy + len(self._noticed) + asking

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
        give_way(INTERPRETING)
        store: Store | None = None
        while not self._stopping:
            try:
                if store is None:
                    store = self._warehouse.connect()
                    self._begin(store)
                    self.failure = ""
                if not self._work(store):
                    with self._changed:
                        self._changed.wait(TICK_SECONDS)
            except Exception as error:  # noqa: BLE001 (the thread must go on, whatever the warehouse does)
                # What was taken is found again with the next connection.
                self.counters.failures += 1
                self.failure = str(error)[:500]
                _LOG.error(
                    "interpretation pauses for a second: %s",
                    error,
                    exc_info=None if isinstance(error, RetrospanError) else error,
                )
                if store is not None:
                    store.close()
                    store = None
                with self._changed:
                    self._changed.wait(1.0)
        if store is not None:
            store.close()
        if self._worker is not None:
            self._worker.stop()

    def _begin(self, store: Store) -> None:
        """Find what is unread; what comes after that is noticed or looked for."""
        if not self._generation:
            rows = store.rows(load("newest_generation"))
            self._generation = cast(int, rows[0][0]) if rows else 0
        if self._share is not None:
            self._arrivals.begin(store)
        rows = store.rows(load("traces_unread"), {"version": VERSION})
        with self._changed:
            self._touch(rows, urgent=True)
            # A rebuild asked for traces that were read before: they are not unread.
            self._awaited = self._touch(self._awaited.values(), urgent=True)

    def _work(self, store: Store) -> bool:
        """Do one round; False when there was nothing to do."""
        with self._changed:
            noticed, self._noticed = self._noticed, []
            self._busy += len(noticed)
        touched: list[list[object]] = []
        taken: list[tuple[Trace, Newest]] = []
        try:
            touched += self._touched(store, noticed)
        finally:
            # In one go: between the two nothing would seem to wait.
            with self._changed:
                self._busy -= len(noticed)
                self._touch(touched)
                taken = self._take()
                rebuilt = [trace for trace, _ in taken if trace in self._awaited]
                self._busy += len(taken)
                if noticed and not taken:
                    self._changed.notify_all()
        try:
            by_tenant: dict[str, dict[str, Newest]] = {}
            for (tenant, trace_id), newest in taken:
                by_tenant.setdefault(tenant, {})[trace_id] = newest
            for tenant, newest_by_trace in by_tenant.items():
                with self.turn:
                    self._interpret_or_split(store, tenant, newest_by_trace)
            with self._changed:
                for trace in rebuilt:
                    self._awaited.pop(trace, None)
        finally:
            with self._changed:
                self._busy -= len(taken)
                if taken:
                    self._changed.notify_all()
        self._superseded.sweep(store, self._warehouse.form)
        return bool(taken)

    def _touched(self, store: Store, noticed: list[tuple[int, int]]) -> list[list[object]]:
        """Rows of traces with new records."""
        if self._share is not None:
            self._share.turn()
            gains = self._share.gains
            if gains != self._gains_read:
                self._begin(store)
                self._gains_read = gains
            return self._arrivals.fresh(store, at_once=bool(noticed))
        rows: list[list[object]] = []
        for first, last in noticed:
            rows += store.rows(load("traces_touched"), {"first": first, "last": last})
        return rows

    def _take(self) -> list[tuple[Trace, Newest]]:
        """Take traces that are due; while much is still to be loaded only when one has waited long."""
        now = time.monotonic()
        oldest = self._queue.oldest()
        if self.is_flooded() and oldest is not None and now - oldest < FLOOD_PATIENCE_SECONDS:
            return []
        return self._queue.take(now, BATCH_TRACES)

    def _interpret_or_split(self, store: Store, tenant: str, newest: dict[str, Newest]) -> None:
        """Interpret traces; where their rows cannot be read or written, halve until the one trace is found."""
        try:
            self._interpret(store, tenant, newest)
        except RetryableError:
            raise
        except Exception:  # noqa: BLE001 (whatever one trace does, the others go on)
            if len(newest) > 1:
                pairs = list(newest.items())
                middle = len(pairs) // 2
                self._interpret_or_split(store, tenant, dict(pairs[:middle]))
                self._interpret_or_split(store, tenant, dict(pairs[middle:]))
                return
            _LOG.exception("trace %s cannot be interpreted", next(iter(newest)))
            rows = broken_trace(tenant, newest, self._next_generation(), traceback.format_exc())
            self._write(store, rows)
            self.counters.broken += 1

    def _write(self, store: Store, rows: Rows) -> None:
        for name, table in TABLES.items():
            if of_table := getattr(rows, name):
                insert_rows(store, table, of_table)

    def _interpret(self, store: Store, tenant: str, newest: dict[str, Newest]) -> None:
        began = time.perf_counter()
        done = self._in_worker(store, tenant, newest) or self._here(store, tenant, newest)
        self._arrivals.pass_on(store, tenant, {t: run for t, run in done.foreign.items() if t in newest})
        run_ids = [run.run_id for run in done.runs]
        before = final_histories(store, tenant, run_ids)
        if self._share is not None:
            self._share.require()
        for run_id in orphaned_runs(store, tenant, done.homes):
            self._write(store, deleted_run(tenant, run_id, self._next_generation()))
        for rows in done.rows:
            insert_encoded(store, rows)
        self._remark(store, tenant, done.runs, before)
        took = time.perf_counter() - began
        with self._changed:
            for trace_id, effort in done.effort.items():
                self._queue.done((tenant, trace_id), effort)
        for run in done.runs:
            if run.run_id in before:
                self._superseded.note(tenant, run.run_id, run.generation)
        self.counters.runs += len(done.runs)
        self.counters.spans += done.spans
        self.counters.broken += done.broken
        self.counters.seconds += took

    def _in_worker(self, store: Store, tenant: str, newest: dict[str, Newest]) -> Done | None:
        """Return what the other process makes of the traces; None when that takes the warehouse, or it is gone."""
        if self._worker is None:
            return None
        trace_ids = list(newest)
        if store.rows(load("traces_joined"), {"tenant": tenant, "trace_ids": trace_ids, "run_ids": []}):
            return None
        # From before the rows are read: of two readings the one that saw more wins.
        generation = self._next_generation()
        job = Job(
            tenant,
            newest,
            span_rows(store, tenant, trace_ids),
            log_rows(store, tenant, trace_ids),
            generation,
            self._time_columns(store),
        )
        try:
            done = self._worker.interpret(job)
        except WorkerGone as error:
            _LOG.warning("%s; its work is done here", error)
            return None
        if done is not None:
            self._generation = max(self._generation, done.last_generation)
        return done

    def _here(self, store: Store, tenant: str, newest: dict[str, Newest]) -> Done:
        """Interpret the traces, with all that belong to them, in this process."""
        generations = count(self._next_generation() + 1)
        newest, raw_spans = read_members(store, tenant, newest)
        raw_logs = read_logs(store, tenant, list(newest))
        conversations = Conversations(store, tenant)
        batch = interpret_traces(
            tenant,
            newest,
            raw_spans,
            raw_logs,
            lambda: next(generations),
            conversations,
            lambda run_id: self._owns(tenant, run_id),
        )
        self._generation = max(self._generation, next(generations))
        # A trace that nothing has arrived of is only named by a link: it is known once it comes.
        arrived = {raw.trace_id for raw in raw_spans} | {log.trace_id for log in raw_logs}
        batch.rows.traces = [row for row in batch.rows.traces if row.trace_id in arrived]
        return pack(batch, self._time_columns(store), self._generation)

    def _time_columns(self, store: Store) -> dict[str, frozenset[str]]:
        if not self._timed:
            self._timed = {table: time_columns(store, table) for table in TABLES.values()}
        return self._timed

    def _next_generation(self) -> int:
        self._generation = max(self._generation + 1, time.time_ns())
        return self._generation

    def _remark(self, store: Store, tenant: str, runs: list[RunSeen], before: dict[str, str]) -> None:
        """Mark the later runs whose second input changed: their history leans on the run before them."""
        for run_id, trace_ids in leaning_on(store, tenant, runs, before):
            if not self._owns(tenant, run_id):
                self._arrivals.pass_on(store, tenant, dict.fromkeys(trace_ids, run_id))
                continue
            with self._changed:
                touched = self._touch(
                    [[tenant, trace_id, 0, [], run_id] for trace_id in trace_ids], urgent=True
                )
                if self._awaited:
                    self._awaited |= touched
