"""What came of a batch goes into the warehouse: rows first, the row of `canon_runs` last.

Rows of one reading may be written a piece at a time, with other work in between; what readers see changes at the end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.rows.lists import POINTERS
from retrospan.ingest.interpret.rows.placeholders import broken_trace, deleted_run
from retrospan.ingest.interpret.service.arrivals import ArrivalFeed
from retrospan.ingest.interpret.service.backlog import Backlog
from retrospan.ingest.interpret.service.dependents import dependent_runs, final_histories
from retrospan.ingest.interpret.service.dispatch import BatchRunner, TraceBatch, write_rows
from retrospan.ingest.interpret.service.job import BatchResult
from retrospan.ingest.interpret.service.partition_lease import PartitionLease
from retrospan.ingest.interpret.service.replaced import orphaned_runs, runs_before
from retrospan.ingest.interpret.service.side_by_side import SideBySide
from retrospan.ingest.interpret.service.stale_generations import StaleGenerations
from retrospan.ingest.interpret.sql import load
from retrospan.ingest.warehouse.rows import Encoded, insert_encoded
from retrospan.schemas.errors import PermanentError
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows

_LOG = logging.getLogger("retrospan.interpret")


@dataclass(slots=True)
class InterpretationCounters:
    """What the interpreter has done since it started."""

    runs: int = 0
    spans: int = 0
    known_spans: int = 0
    broken: int = 0
    failures: int = 0
    seconds: float = 0.0
    long_runs: int = 0
    set_aside: int = 0

    @property
    def not_interpreted(self) -> int:
        """How often a run could not be interpreted."""
        return self.broken + self.set_aside

    @property
    def all_failures(self) -> int:
        """The same, and how often interpretation as a whole had to be tried again."""
        return self.failures + self.not_interpreted


class ResultWriter:
    """Belongs to the interpreter's thread."""

    def __init__(
        self,
        runner: BatchRunner,
        backlog: Backlog,
        arrivals: ArrivalFeed,
        share: PartitionLease | None,
        counters: InterpretationCounters,
        superseded: StaleGenerations,
        side_by_side: SideBySide,
    ) -> None:
        self.counters = counters
        self._runner = runner
        self._backlog = backlog
        self._arrivals = arrivals
        self._share = share
        self._superseded = superseded
        self._side_by_side = side_by_side

    def write(self, store: Store, batch: TraceBatch, done: BatchResult) -> None:
        """Write what these traces gave, whole."""
        began = time.perf_counter()
        writing = self.begin(store, batch, done)
        if done.is_large:
            for rows in done.rows:
                self.piece(store, writing, rows)
        else:
            self._all(store, writing)
        self.end(store, writing)
        took = time.perf_counter() - began + batch.seconds
        # What it took in all: reading raw rows and writing others is as much of it as what lies between.
        of_runs = sum(done.effort.values())
        shares = {trace_id: took * effort / of_runs for trace_id, effort in done.effort.items() if effort}
        self._backlog.note_effort(batch.tenant, shares)
        self.counters.seconds += took
        batch.seconds = 0.0

    def begin(self, store: Store, batch: TraceBatch, done: BatchResult) -> Writing:
        """Begin to write what these traces gave: before any of its rows."""
        tenant = batch.tenant
        self._arrivals.pass_on(
            store, tenant, {t: run for t, run in done.foreign.items() if t in batch.newest}
        )
        histories = final_histories(store, tenant, [run.run_id for run in done.runs])
        self._require()
        before = runs_before(store, tenant, [*done.homes])
        for run_id in orphaned_runs(before, done.homes):
            write_rows(store, deleted_run(tenant, run_id, self._runner.next_generation()))
        return Writing(tenant, done, histories, frozenset(before))

    def piece(self, store: Store, writing: Writing, rows: Encoded) -> None:
        """Write rows, in the order in which they come."""
        self._require()
        insert_encoded(store, rows)

    def _all(self, store: Store, writing: Writing) -> None:
        """Write all rows, which are in memory: two tables at a time, the pointers after all others, in their order."""
        rows = [*writing.done.rows]
        self._side_by_side.insert(store, (each for each in rows if each.table not in POINTERS), self._require)
        for each in rows:
            if each.table in POINTERS:
                self.piece(store, writing, each)

    def end(self, store: Store, writing: Writing) -> None:
        """Note what was written: after the last of its rows."""
        done = writing.done
        self._mark_dependents(store, writing)
        self._backlog.note_effort(writing.tenant, done.effort)
        for run in done.runs:
            if run.run_id in writing.histories:
                self._superseded.note(writing.tenant, run.run_id, run.generation)
        generations = {run.run_id: run.generation for run in done.runs}
        for trace_id in writing.read_before:
            # A trace has the generation of its runs.
            if of_runs := [generations[run_id] for run_id in done.homes[trace_id] if run_id in generations]:
                self._superseded.note_trace(writing.tenant, trace_id, min(of_runs))
        self.counters.runs += len(done.runs)
        self.counters.spans += done.spans
        self.counters.known_spans += done.known
        self.counters.broken += done.broken

    def overtaken(self, store: Store, writing: Writing) -> bool:
        """Whether something of what was written is not the last word: it was read while others were written."""
        asked: dict[str, str | int | Sequence[str]] = {
            "tenant": writing.tenant,
            "trace_ids": list(writing.done.homes),
            "run_ids": sorted({run_id for runs in writing.done.homes.values() for run_id in runs}),
            "generation": writing.done.last_generation,
        }
        return bool(store.rows(load("traces_overtaken"), asked))

    def give_up(self, store: Store, batch: TraceBatch, reason: str) -> None:
        """List the one trace of a batch as one that cannot be interpreted.

        Where not even that can be written, it is left aside: what comes of the trace later, and the next start, are
        reasons to try again.
        """
        rows = broken_trace(
            batch.tenant, batch.newest, self._runner.next_generation(), reason, self._runner.rules
        )
        _LOG.error("trace %s cannot be interpreted: %.2000s", next(iter(batch.newest)), reason.strip())
        try:
            asked = {"tenant": batch.tenant, "trace_id": next(iter(batch.newest))}
            ((began, ended, arrived),) = typed_rows(
                store, tuple[int, int, int], load("starts_of_trace"), asked
            )
        except PermanentError as error:
            _LOG.warning("when it began is not known either: %.300s", error)
        else:
            (run,) = rows.runs
            run.started_at, run.newest_ended_at, run.arrived_at = began, ended, arrived
        try:
            write_rows(store, rows)
        except PermanentError as error:
            self.counters.set_aside += 1
            _LOG.error("trace %s is left aside: %.500s", next(iter(batch.newest)), error)
        else:
            self.counters.broken += 1

    def _mark_dependents(self, store: Store, writing: Writing) -> None:
        """Have the later runs read again whose second input changed: their history leans on the run before them."""
        tenant = writing.tenant
        for run_id, trace_ids in dependent_runs(store, tenant, writing.done.runs, writing.histories):
            if self._backlog.owns(tenant, run_id):
                self._backlog.read_again(tenant, trace_ids, home=run_id)
            else:
                self._arrivals.pass_on(store, tenant, dict.fromkeys(trace_ids, run_id))

    def _require(self) -> None:
        if self._share is not None:
            self._share.require()


@dataclass(frozen=True, slots=True)
class Writing:
    """What is being written; the final `histories` that its runs had, and those of its traces that were `read_before`."""

    tenant: str
    done: BatchResult
    histories: dict[str, str]
    read_before: frozenset[str]
