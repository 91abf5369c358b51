"""What the interpreting process does with each job. Pure, except for what it reads from the warehouse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, count

from retrospan.ingest.interpret.conversations import Conversations
from retrospan.ingest.interpret.dialects.vocabulary import EVERY_FAMILY
from retrospan.ingest.interpret.rows.lists import TABLES, Rows
from retrospan.ingest.interpret.service.batch import InterpretedTraces, interpret_traces
from retrospan.ingest.interpret.service.histories import ToldHistories, traces_of_histories
from retrospan.ingest.interpret.service.job import BatchResult, Job, RunSummary
from retrospan.ingest.interpret.service.kept_traces import KeptTraces
from retrospan.ingest.interpret.service.related_traces import read_members
from retrospan.ingest.interpret.service.strays import awaits_strays, give_strays
from retrospan.ingest.interpret.spans.decoded_traces import decode_traces
from retrospan.ingest.load.raw_row_reader import parse_logs, parse_spans
from retrospan.ingest.prices.history import unpacked
from retrospan.ingest.warehouse.rows import Encoded, Types, encode_in_pieces
from retrospan.schemas.raw import RawSpan
from retrospan.schemas.sequences import Newest
from retrospan.schemas.store import Store

#: How much is sent back in one piece, in characters.
PIECE_BYTES = 8_000_000

#: Traces that belong together by what they say are read again with those that they lead to, at most so many times.
MOST_READINGS = 4


def interpret_job(job: Job, kept: KeptTraces | None = None) -> BatchResult | None:
    """Return what came of a job, but for traces of which that cannot be told without the warehouse; None when it is none.
    Pure but for its pages: what is `kept` makes no difference."""
    raw_logs = parse_logs(job.logs)
    raw_spans: list[RawSpan] = []
    pages = 0
    for page in job.pages:
        raw_spans += parse_spans(page)
        pages += 1
    given = decode_traces(job.newest, raw_spans, raw_logs, EVERY_FAMILY.response_ids)
    del raw_logs, raw_spans  # of a long run they take as much as all the rest
    awaiting = {trace_id for trace_id, spans in given.spans.items() if awaits_strays(spans)}
    for trace_id in awaiting:
        del given.spans[trace_id]
    if not given.spans:
        return None
    generations = count(job.generation + 1)
    batch = interpret_traces(
        job.tenant,
        job.newest,
        given,
        lambda: next(generations),
        None,
        rules=job.rules,
        prices=unpacked(job.prices),
        at_once=pages <= 1,
        kept=kept,
    )
    if not batch.rows.traces:
        return None
    batch.left |= awaiting
    return pack(batch, job.types, next(generations) - 1, _settled(kept))


def interpret_whole(
    job: Job, store: Store, owns: Callable[[str], bool], kept: KeptTraces | None = None
) -> BatchResult:
    """Return what came of a job whose traces are read from the warehouse, with all that belong to them.

    Raises TooLong when those have more rows than the job may read, and whatever the warehouse does.
    """
    generations = count(job.generation + 1)
    wanted: Mapping[str, Newest] = job.newest
    for reading in range(1, MOST_READINGS + 1):
        found = _interpret_members(
            job, wanted, store, owns, generations, kept, at_last=reading == MOST_READINGS
        )
        if isinstance(found, InterpretedTraces):
            return pack(found, job.types, next(generations) - 1, _settled(kept))
        wanted = found
    raise AssertionError("the last reading is interpreted, whatever it leads to")


def _settled(kept: KeptTraces | None) -> int:
    """Keep what is to be kept now that a job is done; return how many spans were known in it."""
    if kept is None:
        return 0
    kept.settle()
    known, kept.known = kept.known, 0
    return known


def _interpret_members(
    job: Job,
    wanted: Mapping[str, Newest],
    store: Store,
    owns: Callable[[str], bool],
    generations: Iterator[int],
    kept: KeptTraces | None,
    *,
    at_last: bool,
) -> InterpretedTraces | dict[str, Newest]:
    """Return what came of the traces that are wanted, with those that they lead to; or all of these, to be read together,
    where their histories lead to more. `at_last` these are left out.
    """
    newest, raw_spans, raw_logs, at_once = read_members(
        store, job.tenant, wanted, job.most_rows, job.page_spans
    )
    arrived = {raw.trace_id for raw in raw_spans} | {log.trace_id for log in raw_logs}
    given = decode_traces(newest, raw_spans, raw_logs, EVERY_FAMILY.response_ids)
    del raw_spans, raw_logs
    give_strays(store, job.tenant, chain.from_iterable(given.spans.values()))
    others: dict[str, Newest] = {}

    def is_all(told: ToldHistories) -> bool:
        others.update({} if at_last else traces_of_histories(store, job.tenant, told, newest))
        return not others

    batch = interpret_traces(
        job.tenant,
        newest,
        given,
        lambda: next(generations),
        Conversations(store, job.tenant),
        owns,
        job.rules,
        unpacked(job.prices),
        at_once=at_once,
        kept=kept,
        is_all=is_all,
    )
    if others:
        return {**others, **newest}
    # A trace that nothing has arrived of is only named by a link: it is known once it comes.
    batch.rows.traces = [row for row in batch.rows.traces if row.trace_id in arrived]
    return batch


def pack(
    batch: InterpretedTraces, types: Mapping[str, Types], last_generation: int, known: int = 0
) -> BatchResult:
    """Return a batch ready to be written; it is used up with the rows. `known` is how many of its spans were."""
    runs = [
        RunSummary(row.run_id, row.generation, row.conversation_id, row.started_at, row.final_history_hash)
        for row in batch.rows.runs
    ]
    homes = {row.trace_id: row.run_ids for row in batch.rows.traces}
    return BatchResult(
        runs,
        homes,
        batch.effort,
        batch.spans,
        batch.broken,
        last_generation,
        batch.foreign,
        _encoded(batch.rows, types),
        known=known,
        histories=batch.histories,
        claims=batch.claims,
        left=frozenset(batch.left),
    )


def _encoded(rows: Rows, types: Mapping[str, Types]) -> Iterator[Encoded]:
    for name, table in TABLES.items():
        if of_table := getattr(rows, name):
            setattr(rows, name, [])
            yield from encode_in_pieces(table, of_table, types[table], PIECE_BYTES)
