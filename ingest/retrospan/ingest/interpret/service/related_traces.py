"""The traces that must be read together with some traces: those they join, those that join them, those of the same runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from retrospan.ingest.interpret.dialects.vocabulary import EVERY_FAMILY
from retrospan.ingest.interpret.grouping.grouping import claimed_runs, joined_trace
from retrospan.ingest.interpret.service.job import TooLong
from retrospan.ingest.interpret.spans.decode import spans_of
from retrospan.ingest.interpret.sql import load
from retrospan.ingest.load.raw_row_reader import PAGE_SPANS, parse_spans, read_logs, span_pages, store_fetch
from retrospan.schemas.attributes import BEGUN_LINKS, RUN_ID
from retrospan.schemas.raw import RawLog, RawSpan
from retrospan.schemas.sequences import Newest
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows

#: A run that is named so may be that of a trace.
_TRACE_ID = re.compile(r"[0-9a-f]{32}")
#: A chain of joins longer than this is cut: each round is one more look at the warehouse.
MAX_ROUNDS = 50


def read_members(
    store: Store,
    tenant: str,
    newest: Mapping[str, Newest],
    most_rows: int = 0,
    page_spans: int = PAGE_SPANS,
) -> tuple[dict[str, Newest], list[RawSpan], list[RawLog], bool]:
    """Return the traces with all that belong to them (trace id → newest records), and the raw rows of them all.

    Last, whether the spans of each trace were read at one time. Raises TooLong when there are more than `most_rows` raw
    spans; 0 is without end.
    """
    found = dict(newest)
    raw_spans: list[RawSpan] = []
    raw_logs: list[RawLog] = []
    at_once = True
    fresh: Sequence[str] = list(newest)
    for _ in range(MAX_ROUNDS):
        if not fresh:
            break
        read: list[RawSpan] = []
        for number, page in enumerate(span_pages(store_fetch(store), tenant, fresh, page_spans), start=1):
            read += parse_spans(page)
            at_once &= number == 1
            if most_rows and len(raw_spans) + len(read) > most_rows:
                raise TooLong(f"what belongs together has more than {most_rows:,} spans")
        raw_spans += read
        said = read_logs(store, tenant, fresh)
        raw_logs += said
        logs: dict[str, list[RawLog]] = {}
        for log in said:
            logs.setdefault(log.trace_id, []).append(log)
        by_trace: dict[str, list[RawSpan]] = {trace_id: [] for trace_id in fresh}
        for raw in read:
            by_trace[raw.trace_id].append(raw)
        wanted: set[str] = set()
        claims: set[str] = set()
        for trace_id, raws in by_trace.items():
            own = logs.get(trace_id, [])
            if not any(raw.links for raw in raws) and not any(
                _leads_on(raw) for some in (raws, own) for raw in some
            ):
                continue
            spans = spans_of(raws, own)
            wanted.add(joined_trace(spans, EVERY_FAMILY))
            claims.update(claimed_runs(spans))
        wanted.update(run_id for run_id in claims if _TRACE_ID.fullmatch(run_id))
        asked = {"tenant": tenant, "trace_ids": list(fresh), "run_ids": sorted({*claims, *fresh})}
        rows = typed_rows(store, tuple[str, list[int]], load("traces_joined"), asked)
        joined: dict[str, Newest] = {trace_id: tuple(through) for trace_id, through in rows}
        joined.update({trace_id: () for trace_id in wanted if trace_id})
        fresh = [trace_id for trace_id in joined if trace_id not in found]
        found.update({trace_id: joined[trace_id] for trace_id in fresh})
    return found, raw_spans, raw_logs, at_once


def _leads_on(raw: RawSpan | RawLog) -> bool:
    """Tell whether a record names a run, or links of a span that has begun."""
    return any(key in (RUN_ID, BEGUN_LINKS) for key, _, _ in raw.attributes)
