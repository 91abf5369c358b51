"""The interpreter: a thread that reads the runs whose rows changed and writes what they mean.

Rows carry their run's generation; the row of `canon_runs` is written last and flips readers from all of the old rows to
all of the new.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager

from retrospan.ingest.interpret.service.arrivals import ArrivalFeed
from retrospan.ingest.interpret.service.backlog import Backlog
from retrospan.ingest.interpret.service.dispatch import BatchRunner, TraceBatch
from retrospan.ingest.interpret.service.lanes import Lanes
from retrospan.ingest.interpret.service.long_runs import LongRuns
from retrospan.ingest.interpret.service.noticed_strays import touched_by_strays, touched_lately
from retrospan.ingest.interpret.service.partition_lease import PartitionLease
from retrospan.ingest.interpret.service.result_writer import InterpretationCounters, ResultWriter
from retrospan.ingest.interpret.service.run_queue import MOST_WAITING, Touched
from retrospan.ingest.interpret.service.selection import EVERYTHING, Selection
from retrospan.ingest.interpret.service.side_by_side import SideBySide
from retrospan.ingest.interpret.service.stale_generations import StaleGenerations
from retrospan.ingest.interpret.sql import load
from retrospan.ingest.interpret.version import version_with
from retrospan.ingest.machine.memory import memory_limit, processes_within, run_bytes
from retrospan.ingest.machine.priority import INTERPRETING
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.ingest.service import Service
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import RetrospanError, WarehouseUnavailable
from retrospan.schemas.store import Parameters, Store
from retrospan.schemas.typed_rows import typed_rows

_LOG = logging.getLogger("retrospan.interpret")

#: How often the thread looks whether a trace has become due, in seconds.
TICK_SECONDS = 0.1
#: The same while none waits: what comes wakes the thread.
IDLE_SECONDS = 1.0
#: While the loader is far behind, one batch of runs is read in so many seconds: what is loaded can be asked for, what is
#: not cannot, and interpreting would take most of the processor that loading needs. The runs wait in the warehouse.
FLOOD_PATIENCE_SECONDS = 20.0
#: What was cut short so long before the last reading is looked for by whoever begins: each did so before.
CUT_SHORT_NS = 24 * 3_600 * 1_000_000_000
#: The other process ends when there was nothing to read for so long: it keeps the memory that its largest batch took, and
#: another is started in a third of a second.
RESTING_SECONDS = 60.0


class Interpreter(Service):
    """Interprets traces as they fall quiet. All methods may be called from any thread.

    A stop finishes the batch at hand. What still waits is found again by the next start.
    """

    thread_name = "retrospan-interpret"
    work = "interpretation"
    niceness = INTERPRETING  # the worker is started by this thread and has its priority
    # A warehouse that was away is back soon; what trying again cannot help is tried less and less.
    pauses = (1.0, 5.0)
    permanent_pauses = (8.0, 60.0)

    def __init__(
        self,
        warehouse: Warehouse,
        settings: InterpreterSettings,
        own_process: bool = True,
        share: PartitionLease | None = None,
        most_waiting: int = MOST_WAITING,
        is_flooded: Callable[[], bool] = lambda: False,
        prices: bytes = b"",
        noticed_to: int = 0,
    ) -> None:
        """`own_process` gives the reading of runs processes of its own; what needs the warehouse stays here.

        With a `share` this interpreter reads the runs that are its own. Without, it reads them all, and holds
        `most_waiting` traces in memory; the warehouse is asked for the others once those are read. `is_flooded` tells
        whether the loader is far behind. `prices` is the packed history of what models cost. Log records up to
        `noticed_to` were in the raw tables before: noticed again, they let others go first.

        Raises:
            ConfigError: the file of mutation rules cannot be used.
        """
        super().__init__()
        self.counters = InterpretationCounters()
        self._is_flooded = is_flooded
        self._warehouse = warehouse
        self._most = most_waiting if share is None else 2**63
        self._backlog = Backlog(settings.quiet_seconds, self._most, share)
        self._store: Store | None = None
        self._has_begun = False  # since the connection before this one was lost, or since the start
        self._superseded = StaleGenerations()
        self._rules_file = settings.rules
        limit = memory_limit()
        run_memory = run_bytes(settings.run_bytes, limit)
        self._runner = BatchRunner(
            processes_within(settings.processes, limit) if own_process else 0,
            self._backlog.owns,
            Ruleset.configured(settings.rules),
            run_memory,
            prices,
        )
        self._share = share
        self._arrivals = ArrivalFeed(share.name if share else "")
        self._side_by_side = SideBySide(warehouse.connect)
        self._writer = ResultWriter(
            self._runner,
            self._backlog,
            self._arrivals,
            share,
            self.counters,
            self._superseded,
            self._side_by_side,
        )
        self._long = LongRuns(
            self._runner,
            self._writer,
            self._backlog,
            memory_bytes=run_memory,
            most_seconds=settings.run_seconds,
        )
        self._lanes = Lanes(self._runner, self._writer, self._long, self._backlog)
        self._long_began = 0.0
        self._noticed_to = noticed_to
        self._worked_at = time.monotonic()
        self._lock = threading.Lock()  # held while runs are read and their rows written

    def start(self) -> None:
        """Begin, with every trace that the last process left unread; the warehouse need not answer yet."""
        try:
            with closing(self._warehouse.connect()) as store:
                self._begin(store)
        except WarehouseUnavailable as cause:
            self._backlog.lose()
            _LOG.warning("interpretation begins once the warehouse answers: %.300s", cause)
        if self._share is not None:
            self._share.start()
        super().start()

    def notice(self, first_sequence: int, last_sequence: int) -> None:
        """Say that these log records are in the raw tables now."""
        self._backlog.notice(first_sequence, last_sequence)

    def wait_idle(self, timeout: float) -> bool:
        """Wait until it is known that nothing is left to interpret; False when the time ran out first."""
        return self._backlog.wait_idle(timeout)

    def rebuild(self, progress: Callable[[int, int], None], selection: Selection = EVERYTHING) -> int:
        """Interpret traces again and return how many, whatever arrives meanwhile; each run changes as a whole.

        `progress` gets (done, total) as it goes on. The file of mutation rules is read anew before.

        Raises:
            ConfigError: that file cannot be used; nothing was changed.
        """
        self._runner.rules = Ruleset.configured(self._rules_file)
        with self._lock:
            self._runner.processes.forget()
        with closing(self._warehouse.connect()) as store:
            rows = self._arrivals.keep_own(store, selection.traces(store), self._backlog.owns)
        self._backlog.wait_read(rows, progress, lambda: self.is_stopping)
        progress(len(rows), len(rows))
        return len(rows)

    @contextmanager
    def deleting(self, tenant: str, trace_ids: Iterable[str]) -> Iterator[None]:
        """Write no rows of runs meanwhile; of these traces rows go, and what is being read of them is read anew."""
        with self._lock:
            try:
                yield
            finally:
                self._runner.processes.forget()
            self._lanes.forget(tenant, trace_ids)

    def read_again(self, tenant: str, trace_ids: Iterable[str]) -> None:
        """Have traces read anew, soon, as if something of them had just come in."""
        self._backlog.read_again(tenant, trace_ids)

    @property
    def lag_traces(self) -> int:
        """How many traces wait or are being read; 1 at least while the warehouse has not told what waits."""
        return self._backlog.lag_traces

    @property
    def lag_seconds(self) -> float:
        """How long the longest waiting trace has waited."""
        return self._backlog.lag_seconds

    def ask_to_stop(self) -> None:
        """Have it end, and a rebuild as well, without waiting for that."""
        super().ask_to_stop()
        self._backlog.wake()

    def stop(self, timeout: float = 0.0) -> bool:
        """Finish the batch at hand, then give up this interpreter's part of the runs."""
        is_done = super().stop(timeout)
        if self._share is not None:
            self._share.stop()
        return is_done

    def run_once(self) -> None:
        """Do one round; when there is nothing to do, wait a moment for something."""
        if self._store is None:
            self._store = self._warehouse.connect()
            if not self._has_begun:
                self._begin(self._store)
        worked = self._work(self._store)
        self._runner.processes.rest()
        self.failure = ""
        if worked:
            self._worked_at = time.monotonic()
            return
        if time.monotonic() - self._worked_at > RESTING_SECONDS:
            with self._lock:
                self._runner.processes.stop()
        if not self._long.wait(TICK_SECONDS):
            self._backlog.wait(TICK_SECONDS, IDLE_SECONDS)

    def failed(self, error: Exception) -> None:
        """Forget what is under way: it is found again with the next connection."""
        self.counters.failures += 1
        self._lanes.drop()
        self._backlog.lose()
        self._disconnect()

    def end(self) -> None:
        """Write what the other processes have under way."""
        try:
            if self._store is not None:
                while self._lanes.is_busy:
                    with self._lock:
                        self._lanes.advance(self._store, None)
        except RetrospanError as error:
            _LOG.warning("the next start reads the runs at hand again: %s", error)
        self._lanes.drop()
        self._disconnect()

    def _disconnect(self) -> None:
        self._side_by_side.close()
        self._has_begun = False
        if self._store is not None:
            self._store.close()
            self._store = None

    def _begin(self, store: Store) -> None:
        """Find what is unread, or was not written whole; what comes after that is noticed or looked for."""
        self._runner.begin(store)
        self._superseded.begin(store)
        if self._share is not None:
            self._arrivals.begin(store)
        cut_short = typed_rows(store, Touched, load("traces_unsettled"), {"within": CUT_SHORT_NS})
        self._backlog.begin([*self._unread(store), *cut_short, *touched_lately(store)])
        self._has_begun = True

    def _unread(self, store: Store) -> list[Touched]:
        """Rows of traces that nothing has read, the oldest, as many as may wait."""
        asked: Parameters = {"version": version_with(self._runner.rules), "most": self._most}
        return typed_rows(store, Touched, load("traces_unread"), asked)

    def _work(self, store: Store) -> bool:
        """Do one round; False when there was nothing to do."""
        noticed = self._backlog.take_noticed()
        touched, unread, batches = list[Touched](), None, list[TraceBatch]()
        try:
            touched += self._touched(store, noticed)
            if self._backlog.wants_unread:
                unread = self._unread(store)
        finally:
            patience = FLOOD_PATIENCE_SECONDS if self._is_flooded() else 0.0
            batches += self._backlog.take(len(noticed), touched, unread, self._runner.room, patience)
        # One that waits for its turn has it after those that are due.
        batches += self._lanes.again()
        worked = bool(batches) or self._lanes.is_busy
        for batch in batches or (None,):
            with self._lock:
                self._lanes.advance(store, batch)
        with self._lock:
            worked |= self._long.advance(store, self._long_may_begin())
        self._superseded.collect(store, self._warehouse.form)
        return worked

    def _long_may_begin(self) -> bool:
        """Whether the next long run may be read; while much is to be loaded, only one now and then."""
        now = time.monotonic()
        if (
            self._is_flooded()
            and now - self._long_began < FLOOD_PATIENCE_SECONDS
            and not self._backlog.is_awaited
        ):
            return False
        self._long_began = now if len(self._long) else self._long_began
        return True

    def _touched(self, store: Store, noticed: list[tuple[int, int]]) -> list[Touched]:
        """Rows of traces with new records."""
        if self._share is not None:
            self._share.renew_or_claim()
            gains = self._share.gains
            if gains != self._backlog.gains_read:
                self._begin(store)
                self._backlog.gains_read = gains
            return self._with_ends(store, self._arrivals.fresh(store, at_once=bool(noticed)))
        rows: list[Touched] = []
        for first, last in noticed:
            touched = typed_rows(store, Touched, load("traces_touched"), {"first": first, "last": last})
            # A rebuild loads again what was there before: it is not to keep what comes meanwhile waiting.
            is_again = last <= self._noticed_to
            self._noticed_to = max(last, self._noticed_to)
            rows += (row._replace(late=True) for row in touched) if is_again else touched
            rows += touched_by_strays(store, first, last)
        return self._with_ends(store, rows)

    def _with_ends(self, store: Store, rows: list[Touched]) -> list[Touched]:
        """Say which traces have ended, of those for which it makes a difference."""
        traces = self._backlog.sooner_if_ended(rows)
        if not traces:
            return rows
        asked = {
            "tenants": [tenant for tenant, _ in traces],
            "trace_ids": [trace_id for _, trace_id in traces],
        }
        ended = {*typed_rows(store, tuple[str, str], load("traces_ended"), asked)}
        return [row._replace(ended=row.trace in ended) for row in rows]
