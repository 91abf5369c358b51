"""Compares derived rows with their spans: runs are interpreted again, and every row must come out the same.

Only rows of this version of the interpretation can be compared, and only for traces whose spans have all been
interpreted. Before a difference is reported, it is checked that no further spans of the trace arrived meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import cast

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.interpret.service.dispatch import BatchRunner, TraceBatch
from retrospan.ingest.interpret.service.job import BatchResult
from retrospan.ingest.interpret.service.remote_store import answer_from
from retrospan.ingest.interpret.service.run_queue import TraceKey
from retrospan.ingest.interpret.service.selection import EVERYTHING
from retrospan.ingest.interpret.service.worker import Worker
from retrospan.ingest.interpret.version import version_with
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.ingest.verify.differences import Row, differing_columns, paired
from retrospan.ingest.verify.report import MOST_NAMED, VerifiedPart
from retrospan.ingest.verify.scratch import SCRATCH, Scratch
from retrospan.ingest.verify.sql import load
from retrospan.ingest.warehouse.rows import insert_encoded
from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.sequences import LOG_SHIFT, Newest, newest_of
from retrospan.schemas.store import Parameters, Store
from retrospan.schemas.typed_rows import typed_column, typed_rows

_IN_A_PLACE = (
    "number",
    "ordinal",
    "step",
    "key",
    "field",
    "entity_id",
    "reference",
    "subject",
    "span_id",
    "at",
)
#: How long the reading of one run may take.
READING_SECONDS = 1800.0
_OF_READING = ("generation", "through", "through_sequence")


@dataclass(frozen=True, slots=True)
class _Interpretation:
    """How a trace was read last, and what has arrived of it."""

    generation: int
    interpreted_by: str
    run_ids: tuple[str, ...]
    through: Newest
    arrived: Newest

    @property
    def is_whole(self) -> bool:
        """Whether everything that arrived has been read."""
        read = {sequence >> LOG_SHIFT: sequence for sequence in self.through}
        return all(read.get(sequence >> LOG_SHIFT, 0) >= sequence for sequence in self.arrived)


class DerivedRows:
    """One verification of derived rows. Reads only, but for its scratch database."""

    def __init__(
        self,
        store: Store,
        scratch: Scratch,
        part: VerifiedPart,
        rules: Ruleset,
        owns: Callable[[str, str], bool],
        prices: bytes = b"",
    ) -> None:
        self._store = store
        self._scratch = scratch
        self._part = part
        self._rules = rules
        self._owns = owns
        self._runner = BatchRunner(1, owns, rules, prices=prices)
        self._reader = Worker(patience_seconds=READING_SECONDS)
        self._done: set[tuple[str, str]] = set()
        self._compared: set[tuple[str, str]] = set()
        for table in TABLES.values():
            scratch.copy_table(table)
        scratch.store.command(load("create_seen_runs"))

    def check(
        self,
        traces: Sequence[TraceKey],
        go_on: Callable[[], None],
        progress: Callable[[int, int], None],
        *,
        all_of_them: bool,
    ) -> None:
        """Compare the runs of these traces, which are as a rebuild chooses them. `all_of_them`: no run is without."""
        done = 0
        try:
            self._runner.begin(self._store)
            for tenant, page in self._pages(traces):
                go_on()
                self._check_page(tenant, page)
                done += len(page)
                progress(done, len(traces))
        finally:
            self._runner.processes.stop()
            self._reader.stop()
        if all_of_them:
            self._check_nothing_else()

    def _check_nothing_else(self) -> None:
        """Report the runs that no trace made, but not those of traces that came or were read meanwhile."""
        asked: Parameters = {"database": DATABASE}
        rows = typed_rows(self._scratch.store, tuple[str, str, list[str]], load("runs_not_made"), asked)
        left = {row.trace for row in EVERYTHING.traces(self._store)} - self._compared if rows else set()
        for tenant, run_id, trace_ids in rows:
            if any((tenant, trace_id) in left for trace_id in trace_ids):
                self._part.leave_out("runs that arrived, or were interpreted first, while it was at work")
            else:
                self._part.report_wrong(
                    f"canon_runs, run {run_id}",
                    "is stored, but no stored span produces it",
                    tenant=tenant,
                    run_id=run_id,
                )

    def _pages(self, traces: Sequence[TraceKey]) -> Iterator[tuple[str, list[str]]]:
        for tenant, own in groupby(traces, key=itemgetter(0)):
            waiting = [trace_id for _, trace_id in own]
            while waiting:
                room = self._runner.room
                page, waiting = waiting[:room], waiting[room:]
                yield tenant, page

    def _check_page(self, tenant: str, page: list[str]) -> None:
        page = [trace_id for trace_id in page if (tenant, trace_id) not in self._done]
        before = self._read(tenant, page)
        comparable = {
            trace_id: reading.arrived for trace_id, reading in before.items() if self._fits(reading)
        }
        self._see(tenant, [run for reading in before.values() for run in reading.run_ids])
        self._note_compared(tenant, comparable)
        if not comparable:
            return
        self._make(tenant, comparable)
        made = set(typed_column(self._scratch.store, str, load("made_traces")))
        others = self._read(tenant, sorted(made - set(before)))
        if all(self._fits(reading) for reading in others.values()):
            self._done.update((tenant, trace_id) for trace_id in others)
            self._note_compared(tenant, others)
            self._compare(tenant, {**before, **others})
        self._scratch.clear(*TABLES.values())

    def _note_compared(self, tenant: str, trace_ids: Iterable[str]) -> None:
        fresh = {(tenant, trace_id) for trace_id in trace_ids} - self._compared
        self._compared |= fresh
        self._part.count(traces=len(fresh))

    def _fits(self, reading: _Interpretation) -> bool:
        if reading.interpreted_by != version_with(self._rules):
            self._part.leave_out(
                f"runs that version {reading.interpreted_by} interpreted: this version would read them differently"
            )
            return False
        if not reading.is_whole:
            self._part.leave_out("runs with arrivals that are not interpreted yet")
            return False
        return True

    def _make(self, tenant: str, newest: Mapping[str, Newest]) -> None:
        """Interpret these traces once more, into the scratch tables: those that lead to others with all that belongs to them,
        as they were interpreted first.
        """
        batch = TraceBatch(tenant, dict(newest), [])
        done = None
        job = self._runner.job(self._store, batch)
        if job is not None and self._runner.processes.send(0, job):
            done = self._runner.processes.receive(0)
        apart = set(newest)
        if done is not None:
            leading = self._runner.leading(self._store, batch, done)
            apart = leading | done.left
            self._take(tenant, done.without(tenant, leading))
        if not apart:
            return
        # More belongs to them, or they are long: a process reads them by itself.
        self._reader.send(self._runner.asking_job(self._store, batch.part(apart, whole=True)))
        whole = self._reader.receive(answer_from(self._store, lambda run_id: self._owns(tenant, run_id)))
        assert whole is not None
        self._take(tenant, whole)
        self._reader.stop()  # it would keep the memory that a long run took

    def _take(self, tenant: str, done: BatchResult) -> None:
        for rows in done.rows:
            insert_encoded(self._scratch.store, rows)
        self._part.count(runs=len(done.runs), spans=done.spans)
        self._see(tenant, [run.run_id for run in done.runs])

    def _compare(self, tenant: str, before: Mapping[str, _Interpretation]) -> None:
        for name, table in TABLES.items():
            of_trace = name in ("spans", "traces")
            statement = f"derived_{name}_differing" if of_trace else "derived_differing"
            asked: Parameters = {
                "database": DATABASE,
                **({} if of_trace else {"table": table}),
                **self._scratch.key,
            }
            rows = typed_rows(self._scratch.store, tuple[str, str, bool], load(statement), asked)
            if rows and self._has_moved(tenant, before):
                self._part.leave_out("runs that received something while they were compared")
                return
            self._name(table, "trace_id" if of_trace else "run_id", rows)

    def _has_moved(self, tenant: str, before: Mapping[str, _Interpretation]) -> bool:
        return self._read(tenant, list(before)) != before

    def _name(self, table: str, key: str, rows: Sequence[tuple[str, str, bool]]) -> None:
        missing = [(name, digest) for name, digest, is_stored in rows if not is_stored]
        extra = [(name, digest) for name, digest, is_stored in rows if is_stored]
        wanted = self._rows_of(SCRATCH, table, key, missing[:MOST_NAMED])
        found = self._rows_of(DATABASE, table, key, extra[:MOST_NAMED])
        for made, stored in paired(wanted, found, (), key):
            row = made if made is not None else cast(Row, stored)
            columns: list[str] = []
            if made is None:
                what = "is stored, but its spans do not produce it"
            elif stored is None:
                what = "is produced by its spans, but is not stored"
            else:
                columns = differing_columns(made, stored)
                what = (
                    f"{', '.join(columns)} {'is' if len(columns) == 1 else 'are'} not what its spans produce"
                )
            places = [f"{name} {row[name]}" for name in _IN_A_PLACE if row.get(name) not in (None, "")]
            subject = f"{'run' if key == 'run_id' else 'trace'} {row[key]}"
            self._part.report_wrong(
                ", ".join([table, subject, *places[:3]]),
                what,
                table=table,
                columns=columns,
                **{key: row[key]},
            )
        unnamed = max(len(missing) - len(wanted), len(extra) - len(found), 0)
        if unnamed:
            self._part.wrong += unnamed - 1
            self._part.report_wrong(table, f"{unnamed:,} more rows are not what their spans produce")

    def _rows_of(self, database: str, table: str, key: str, wanted: Sequence[tuple[str, str]]) -> list[Row]:
        if not wanted:
            return []
        rows = self._scratch.objects(
            load("derived_trace_rows" if table == TABLES["traces"] else "derived_rows"),
            {
                "database": database,
                "table": table,
                "key": key,
                "names": sorted({name for name, _ in wanted}),
                **self._scratch.key,
                "hashes": [digest for _, digest in wanted],
            },
        )
        kept = [{name: value for name, value in row.items() if name not in _OF_READING} for row in rows]
        return list({json.dumps(row, sort_keys=True): row for row in kept}.values())

    def _read(self, tenant: str, trace_ids: Sequence[str]) -> dict[str, _Interpretation]:
        if not trace_ids:
            return {}
        rows = typed_rows(
            self._store,
            tuple[str, int, str, list[str], list[int], list[int]],
            load("readings_of"),
            {"tenant": tenant, "trace_ids": trace_ids},
        )
        return {
            trace_id: _Interpretation(
                generation, version, tuple(run_ids), newest_of(through), newest_of(arrived)
            )
            for trace_id, generation, version, run_ids, through, arrived in rows
        }

    def _see(self, tenant: str, run_ids: Sequence[str]) -> None:
        if run_ids:
            self._scratch.store.command(
                load("note_seen_runs"), {"tenant": tenant, "run_ids": sorted(set(run_ids))}
            )
