"""Turning raw rows into canonical ones, in other processes where that can be: while they have batches, the next is read.

What lies elsewhere in the warehouse (other traces of a run, the run before it) such a process asks for. Only where there
is none is everything done here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.rows.lists import TABLES, Rows
from retrospan.ingest.interpret.service.histories import leading
from retrospan.ingest.interpret.service.job import BatchResult, Job
from retrospan.ingest.interpret.service.processes import Processes
from retrospan.ingest.interpret.service.remote_store import answer_from
from retrospan.ingest.interpret.service.run_queue import TraceKey
from retrospan.ingest.interpret.sql import load
from retrospan.ingest.load.raw_row_reader import PAGE_SPANS, log_rows, span_pages, store_fetch
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.ingest.warehouse.rows import Types, column_types, insert_rows
from retrospan.schemas.sequences import Newest
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_column, typed_rows

_LOG = logging.getLogger("retrospan.interpret")

#: The most traces of one batch, and about how many bytes of raw rows: a batch is held twice or three times.
BATCH_TRACES = 200
BATCH_BYTES = 24 << 20
#: What a trace is taken to hold as long as none was read, in bytes.
FIRST_GUESS_BYTES = BATCH_BYTES // 50
#: A trace with more rows, or more bytes, is long: it is read by itself, while others go on.
LONG_ROWS = 4_096
LONG_BYTES = 32 << 20
#: Of a long trace so many bytes are read at a time, about.
LONG_PAGE_BYTES = 16 << 20
#: A process that says nothing of a batch for so long has traces that are read one by one, by themselves, in seconds.
PATIENCE_SECONDS = 60.0
#: Of so many traces it is remembered that they could not be read by themselves.
REMEMBERED = 10_000
#: How fast a guess falls: by half with each batch. It rises at once.
_FALL = 0.5
#: Generations set aside for a batch, of which each run takes one: the next batch begins above them.
_GENERATIONS = 1 << 20


@dataclass(slots=True)
class TraceBatch:
    """Traces of one tenant on their way, with their newest records; `seconds` is the work on them so far.

    `stale`: rows of theirs were deleted since they were read. `whole`: all that belongs to them is to be read with them.
    `page_spans`: how many of their spans are read at a time.
    """

    tenant: str
    newest: dict[str, Newest]
    rebuilt: list[TraceKey]
    seconds: float = 0.0
    stale: bool = False
    whole: bool = False
    page_spans: int = PAGE_SPANS

    def part(self, trace_ids: Iterable[str], whole: bool | None = None) -> TraceBatch:
        """Return a batch of some of the traces; the work on them so far stays with this one."""
        kept = {trace_id: self.newest[trace_id] for trace_id in trace_ids}
        rebuilt = [trace for trace in self.rebuilt if trace[1] in kept]
        return TraceBatch(self.tenant, kept, rebuilt, whole=self.whole if whole is None else whole)

    def take_out(self, trace_ids: Iterable[str]) -> TraceBatch:
        """Take some of the traces out and return them in a batch of their own, each read with all that belongs to it."""
        taken = self.part(trace_ids, whole=True)
        self.newest = {trace: newest for trace, newest in self.newest.items() if trace not in taken.newest}
        self.rebuilt = [trace for trace in self.rebuilt if trace[1] in self.newest]
        return taken

    def halves(self) -> list[TraceBatch]:
        """Return the traces in two batches, each read with all that belongs to it."""
        trace_ids = list(self.newest)
        middle = len(trace_ids) // 2
        return [self.part(some, whole=True) for some in (trace_ids[:middle], trace_ids[middle:])]


class BatchRunner:
    """Belongs to the interpreter's thread."""

    def __init__(
        self,
        processes: int,
        owns: Callable[[str, str], bool],
        rules: Ruleset,
        memory_bytes: int = 0,
        prices: bytes = b"",
    ) -> None:
        """Have at most so many other processes, or none, for the work; each may take `memory_bytes`.

        `owns(tenant, run_id)` tells whether a run is this interpreter's. `prices` is the packed history of what models cost.
        """
        self._prices = prices
        self.rules = rules
        """By which tool calls are read; may be changed at any time, for the batches that come."""
        self.processes = Processes(processes, memory_bytes, PATIENCE_SECONDS)
        self._leading: dict[TraceKey, None] = {}  # traces that lead to others, or may
        self._owns = owns
        self._generation = 0
        self._types: dict[str, Types] = {}
        self._trace_bytes = float(FIRST_GUESS_BYTES)

    @property
    def room(self) -> int:
        """How many traces a batch may hold, going by the size of those that were read last."""
        return max(1, min(BATCH_TRACES, int(BATCH_BYTES / self._trace_bytes)))

    def begin(self, store: Store) -> None:
        """Go on with the generations that are in the warehouse."""
        if not self._generation:
            (self._generation,) = typed_column(store, int, load("newest_generation"))

    def next_generation(self) -> int:
        """Return a generation above all before it."""
        self._generation = max(self._generation + 1, time.time_ns())
        return self._generation

    @property
    def has_process(self) -> bool:
        """Whether there is another process for the work."""
        return len(self.processes) > 0

    def sizes(self, store: Store, batch: TraceBatch) -> dict[str, tuple[int, int]]:
        """Rows and bytes of each trace of a batch."""
        asked = {"tenant": batch.tenant, "trace_ids": list(batch.newest)}
        rows = typed_rows(store, tuple[str, int, int], load("sizes_of_traces"), asked)
        return {trace_id: (count, size) for trace_id, count, size in rows}

    def job(self, store: Store, batch: TraceBatch) -> Job | None:
        """Read a batch for another process; None when more belongs to it, or it has to be done here."""
        trace_ids = list(batch.newest)
        if not self.has_process or batch.whole:
            return None
        generation = self._free_generations()
        fetch = store_fetch(store)
        pages = span_pages(fetch, batch.tenant, trace_ids)
        # The first is read now, while the other process has another batch; of most batches it is the only one.
        first = next(pages)
        logs = log_rows(fetch, batch.tenant, trace_ids)
        self._trace_bytes = max((len(first) + len(logs)) / len(trace_ids), self._trace_bytes * _FALL, 1.0)
        types = self._column_types(store)
        return Job(
            batch.tenant,
            batch.newest,
            logs,
            generation,
            types,
            self.rules,
            self._prices,
            self._counted(first, pages, trace_ids),
        )

    def asking_job(self, store: Store, batch: TraceBatch, most_rows: int = 0) -> Job:
        """Return a job for which another process reads by itself, asking for it."""
        return Job(
            batch.tenant,
            batch.newest,
            b"",
            self._free_generations(),
            self._column_types(store),
            self.rules,
            self._prices,
            asks=True,
            most_rows=most_rows,
            page_spans=batch.page_spans,
        )

    def _free_generations(self) -> int:
        # From before the rows are read: of two readings the one that saw more wins.
        generation = self.next_generation()
        self._generation += _GENERATIONS
        return generation

    def _counted(self, first: bytes, rest: Iterator[bytes], trace_ids: Sequence[str]) -> Iterator[bytes]:
        """Pass the pages on, and learn from them how large traces are."""
        size = len(first)
        yield first
        del first
        for page in rest:
            size += len(page)
            self._trace_bytes = max(self._trace_bytes, size / len(trace_ids))
            yield page

    def known_leading(self, store: Store, batch: TraceBatch) -> set[str]:
        """Return the traces of a batch that led elsewhere when they were last read, or to which others are known to belong."""
        noted = {trace_id for trace_id in batch.newest if (batch.tenant, trace_id) in self._leading}
        return noted | self._belonging(store, batch, {})

    def leading(self, store: Store, batch: TraceBatch, done: BatchResult) -> set[str]:
        """Return the traces of a batch that lead to traces of other batches, by the histories that they were found to tell
        and by the runs that they name; also those that name the run of another interpreter."""
        found = leading(store, batch.tenant, done.histories, batch.newest)
        found |= self._belonging(store, batch, done.claims)
        for trace_id, claims in done.claims.items():
            if not self._owns(batch.tenant, min(claims)):
                found.add(trace_id)
        return found

    def _belonging(self, store: Store, batch: TraceBatch, claims: Mapping[str, Sequence[str]]) -> set[str]:
        """Return the traces of a batch to which others belong; `claims` are the runs that they name, where that is known."""
        # A span may name a run by the trace that it is.
        names = {trace_id: {trace_id, *claims.get(trace_id, ())} for trace_id in batch.newest}
        asked = {
            "tenant": batch.tenant,
            "trace_ids": list(names),
            "claims": sorted({run_id for some in claims.values() for run_id in some}),
        }
        found = set[str]()
        for other, joins, named in typed_rows(
            store, tuple[str, str, list[str]], load("traces_belonging"), asked
        ):
            theirs = {other, joins, *named}
            found.update(trace_id for trace_id, own in names.items() if not own.isdisjoint(theirs))
        return found

    def note_leading(self, tenant: str, trace_ids: Iterable[str]) -> None:
        """Remember that traces led elsewhere: when they go on they are read at once with all that belongs to them."""
        for trace_id in trace_ids:
            self._leading[tenant, trace_id] = None
        while len(self._leading) > REMEMBERED:
            del self._leading[next(iter(self._leading))]

    def whole(self, store: Store, batch: TraceBatch) -> BatchResult:
        """Interpret traces with all that belong to them, in another process where there is one.

        Raises:
            TooLong: what belongs to them is long.
            WorkerGone: the other process came to an end over them.
        """
        job = self.asking_job(store, batch, LONG_ROWS if self.has_process else 0)

        def owns(run_id: str) -> bool:
            return self._owns(batch.tenant, run_id)

        if not self.has_process:
            # Imported here: where there is another process, this one need not load what reads a run.
            from retrospan.ingest.interpret.service.jobs import interpret_whole

            return interpret_whole(job, store, owns)
        return self.processes.whole(job, answer_from(store, owns))

    def _column_types(self, store: Store) -> dict[str, Types]:
        if not self._types:
            self._types = {table: column_types(store, table) for table in TABLES.values()}
        return self._types


def write_rows(store: Store, rows: Rows) -> None:
    """Write canonical rows, the pointers to them last."""
    for name, table in TABLES.items():
        if of_table := getattr(rows, name):
            insert_rows(store, table, of_table)
