"""What came of a batch goes into the warehouse: rows first, the row of `canon_runs` last.

One trace that breaks a batch is found by halving, and listed with its traceback; the others go on.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from retrospan.ingest.interpret.arrivals import Arrivals
from retrospan.ingest.interpret.batch import broken_trace
from retrospan.ingest.interpret.broken import deleted_run
from retrospan.ingest.interpret.leaning import final_histories
from retrospan.ingest.interpret.members import orphaned_runs
from retrospan.ingest.interpret.readings import Batch, Readings, write_rows
from retrospan.ingest.interpret.share import Share
from retrospan.ingest.interpret.superseded import Superseded
from retrospan.ingest.interpret.worker import Done, RunSeen
from retrospan.ingest.warehouse.rows import insert_encoded
from retrospan.schemas.errors import OutOfMemory, RetryableError
from retrospan.schemas.sequences import Newest
from retrospan.schemas.store import Store

_LOG = logging.getLogger("retrospan.interpret")


@dataclass(slots=True)
class Counters:
    """What the interpreter has done since it started."""

    runs: int = 0
    spans: int = 0
    broken: int = 0
    failures: int = 0
    seconds: float = 0.0


class Settling:
    """Belongs to the interpreter's thread."""

    def __init__(
        self,
        readings: Readings,
        arrivals: Arrivals,
        share: Share | None,
        counters: Counters,
        superseded: Superseded,
        *,
        finished: Callable[[str, Mapping[str, float]], None],
        remark: Callable[[Store, str, list[RunSeen], dict[str, str]], None],
    ) -> None:
        """`finished` gets what each trace of a tenant cost, in seconds; `remark` runs and their histories before."""
        self.counters = counters
        self._readings = readings
        self._arrivals = arrivals
        self._share = share
        self._superseded = superseded
        self._finished = finished
        self._remark = remark

    def settle(self, store: Store, batch: Batch, newest: dict[str, Newest], done: Done | None = None) -> None:
        """Write what these traces gave, or interpret them here without `done`.

        Where their rows cannot be read or written, they are halved until the one trace is found; it is listed as
        broken.

        Raises:
            RetryableError: the warehouse is away, or one trace alone does not fit into the engine's memory.
        """
        try:
            self._write(store, batch, newest, done)
        except RetryableError as error:
            if not isinstance(error, OutOfMemory) or len(newest) == 1:
                raise
            self._settle_halves(store, batch, newest)
        except Exception:  # noqa: BLE001 (whatever one trace does, the others go on)
            if len(newest) > 1:
                self._settle_halves(store, batch, newest)
                return
            _LOG.exception("trace %s cannot be interpreted", next(iter(newest)))
            rows = broken_trace(
                batch.tenant,
                newest,
                self._readings.next_generation(),
                traceback.format_exc(),
                self._readings.rules,
            )
            write_rows(store, rows)
            self.counters.broken += 1

    def _settle_halves(self, store: Store, batch: Batch, newest: dict[str, Newest]) -> None:
        pairs = list(newest.items())
        middle = len(pairs) // 2
        self.settle(store, batch, dict(pairs[:middle]))
        self.settle(store, batch, dict(pairs[middle:]))

    def _write(self, store: Store, batch: Batch, newest: dict[str, Newest], done: Done | None) -> None:
        began, tenant = time.perf_counter(), batch.tenant
        done = done or self._readings.here(store, tenant, newest)
        self._arrivals.pass_on(store, tenant, {t: run for t, run in done.foreign.items() if t in newest})
        run_ids = [run.run_id for run in done.runs]
        before = final_histories(store, tenant, run_ids)
        if self._share is not None:
            self._share.require()
        for run_id in orphaned_runs(store, tenant, done.homes):
            write_rows(store, deleted_run(tenant, run_id, self._readings.next_generation()))
        for rows in done.rows:
            insert_encoded(store, rows)
        self._remark(store, tenant, done.runs, before)
        self._finished(tenant, done.effort)
        for run in done.runs:
            if run.run_id in before:
                self._superseded.note(tenant, run.run_id, run.generation)
        self.counters.runs += len(done.runs)
        self.counters.spans += done.spans
        self.counters.broken += done.broken
        self.counters.seconds += time.perf_counter() - began + batch.seconds
        batch.seconds = 0.0
