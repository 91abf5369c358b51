"""Turning raw rows into canonical ones, in another process where that can be: while it has one batch, the next is read.

What another process cannot tell (runs whose traces or histories lie elsewhere in the warehouse) is done here, and so
is everything when there is no other process.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import cast

from retrospan.ingest.interpret.batch import given_of, interpret_traces
from retrospan.ingest.interpret.conversations import Conversations
from retrospan.ingest.interpret.members import read_members
from retrospan.ingest.interpret.queue import Trace
from retrospan.ingest.interpret.rows import Rows
from retrospan.ingest.interpret.statements import load
from retrospan.ingest.interpret.worker import TABLES, Done, Job, Worker, WorkerGone, pack
from retrospan.ingest.load.reading import log_rows, read_logs, span_pages, store_fetch
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.ingest.warehouse.rows import insert_rows, time_columns
from retrospan.schemas.errors import OutOfMemory
from retrospan.schemas.sequences import Newest
from retrospan.schemas.store import Store

_LOG = logging.getLogger("retrospan.interpret")

#: The most traces of one batch, and about how many bytes of raw rows: a batch is held twice or three times.
BATCH_TRACES = 200
BATCH_BYTES = 24 << 20
#: What a trace is taken to hold as long as none was read, in bytes.
FIRST_GUESS_BYTES = BATCH_BYTES // 50
#: How fast a guess falls: by half with each batch. It rises at once.
_FALL = 0.5
#: Generations set aside for a batch, of which each run takes one: the next batch begins above them.
_GENERATIONS = 1 << 20


@dataclass(slots=True)
class Batch:
    """Traces of one tenant on their way, with their newest records; `seconds` is the work on them so far.

    `stale`: rows of theirs were deleted since they were read.
    """

    tenant: str
    newest: dict[str, Newest]
    rebuilt: list[Trace]
    seconds: float = 0.0
    stale: bool = False


class Readings:
    """Belongs to the interpreter's thread."""

    def __init__(self, own_process: bool, owns: Callable[[str, str], bool], rules: Ruleset) -> None:
        """`owns(tenant, run_id)` tells whether a run is this interpreter's."""
        self.rules = rules
        """By which tool calls are read; may be changed at any time, for the batches that come."""
        self._worker = Worker() if own_process else None
        self._owns = owns
        self._generation = 0
        self._timed: dict[str, frozenset[str]] = {}
        self._trace_bytes = float(FIRST_GUESS_BYTES)

    @property
    def room(self) -> int:
        """How many traces a batch may hold, going by the size of those that were read last."""
        return max(1, min(BATCH_TRACES, int(BATCH_BYTES / self._trace_bytes)))

    def begin(self, store: Store) -> None:
        """Go on with the generations that are in the warehouse."""
        if not self._generation:
            rows = store.rows(load("newest_generation"))
            self._generation = cast(int, rows[0][0]) if rows else 0

    def next_generation(self) -> int:
        """A generation above all before it."""
        self._generation = max(self._generation + 1, time.time_ns())
        return self._generation

    def job(self, store: Store, batch: Batch) -> Job | None:
        """Read a batch for the other process; None when it has to be done here."""
        if self._worker is None or self.joined(store, batch):
            return None
        trace_ids = list(batch.newest)
        # From before the rows are read: of two readings the one that saw more wins.
        generation = self.next_generation()
        self._generation += _GENERATIONS
        fetch = store_fetch(store)
        pages = span_pages(fetch, batch.tenant, trace_ids)
        # The first is read now, while the other process has another batch; of most batches it is the only one.
        first = next(pages)
        logs = log_rows(fetch, batch.tenant, trace_ids)
        self._trace_bytes = max((len(first) + len(logs)) / len(trace_ids), self._trace_bytes * _FALL, 1.0)
        timed = self._time_columns(store)
        return Job(
            batch.tenant,
            batch.newest,
            logs,
            generation,
            timed,
            self.rules,
            self._counted(first, pages, trace_ids),
        )

    def _counted(self, first: bytes, rest: Iterator[bytes], trace_ids: Sequence[str]) -> Iterator[bytes]:
        """Pass the pages on, and learn from them how large traces are."""
        size = len(first)
        yield first
        del first
        for page in rest:
            size += len(page)
            self._trace_bytes = max(self._trace_bytes, size / len(trace_ids))
            yield page

    def joined(self, store: Store, batch: Batch) -> bool:
        """Whether traces of other batches are known to belong to these."""
        asked = {"tenant": batch.tenant, "trace_ids": list(batch.newest), "run_ids": []}
        return bool(store.rows(load("traces_joined"), asked))

    def send(self, job: Job) -> bool:
        """Give a job to the other process, which has none; False when it is gone, or a page of spans does not fit."""
        assert self._worker is not None
        try:
            self._worker.send(job)
        except (WorkerGone, OutOfMemory) as error:
            _LOG.warning("%s; its work is done here", error)
            return False
        return True

    def receive(self) -> Done | None:
        """Wait for what came of the job that was sent; None when it has to be done here."""
        assert self._worker is not None
        try:
            return self._worker.receive()
        except WorkerGone as error:
            _LOG.warning("%s; its work is done here", error)
        except Exception:  # noqa: BLE001 (done here, one by one, it shows which trace it was)
            _LOG.exception("the interpreting process could not do a batch; its work is done here")
        return None

    def here(self, store: Store, tenant: str, newest: dict[str, Newest]) -> Done:
        """Interpret traces, with all that belong to them, in this process."""
        generations = count(self.next_generation() + 1)
        newest, raw_spans, at_once = read_members(store, tenant, newest)
        raw_logs = read_logs(store, tenant, list(newest))
        batch = interpret_traces(
            tenant,
            newest,
            given_of(newest, raw_spans, raw_logs),
            lambda: next(generations),
            Conversations(store, tenant),
            lambda run_id: self._owns(tenant, run_id),
            self.rules,
            at_once=at_once,
        )
        self._generation = max(self._generation, next(generations))
        # A trace that nothing has arrived of is only named by a link: it is known once it comes.
        arrived = {raw.trace_id for raw in raw_spans} | {log.trace_id for log in raw_logs}
        batch.rows.traces = [row for row in batch.rows.traces if row.trace_id in arrived]
        return pack(batch, self._time_columns(store), self._generation)

    def stop(self) -> None:
        """End the other process, whatever it does. Safe to call twice; the next job starts another."""
        if self._worker is not None:
            self._worker.stop()

    def _time_columns(self, store: Store) -> dict[str, frozenset[str]]:
        if not self._timed:
            self._timed = {table: time_columns(store, table) for table in TABLES.values()}
        return self._timed


def write_rows(store: Store, rows: Rows) -> None:
    """Write canonical rows, the pointers to them last."""
    for name, table in TABLES.items():
        if of_table := getattr(rows, name):
            insert_rows(store, table, of_table)
