"""Which records a verification looks at: all, those of one run, or a sample of the batches, drawn by a seed."""

from __future__ import annotations

import secrets
from bisect import bisect_right
from collections.abc import Callable, Sequence

from retrospan.ingest.interpret.service.run_queue import TraceKey
from retrospan.ingest.verify.request import VerifyRequest
from retrospan.ingest.verify.sql import load
from retrospan.schemas.sequences import LOG_SHIFT, base_of
from retrospan.schemas.store import Parameters, Store
from retrospan.schemas.typed_rows import typed_column, typed_rows

#: The share of the loaded batches that is drawn, and how many at least and at most.
SAMPLE_SHARE = 0.05
FEWEST_BATCHES, MOST_BATCHES = 10, 40
MOST_SAMPLED_TRACES = 200

#: First and last record of each.
Ranges = list[tuple[int, int]]


def choose_ranges(
    store: Store, log_number: int, epoch: int, asked: VerifyRequest, traces: Sequence[TraceKey]
) -> tuple[Ranges | None, str]:
    """Return the records to look at, None for all, and how they were chosen."""
    if asked.full:
        return None, ""
    if asked.run:
        records: set[int] = set()
        for tenant in sorted({tenant for tenant, _ in traces}):
            ids = [trace_id for owner, trace_id in traces if owner == tenant]
            named = {"tenant": tenant, "trace_ids": ids}
            records.update(typed_column(store, int, load("records_of_traces"), named))
        own = sorted(s - base_of(log_number) for s in records if s >> LOG_SHIFT == log_number)
        return _runs_of(own), f"only what records of run {asked.run} hold"
    of_log = {"log": log_number, "epoch": epoch}
    ((batches, items),) = typed_rows(store, tuple[int, int], load("count_batches"), of_log)
    limit = min(MOST_BATCHES, max(FEWEST_BATCHES, int(batches * SAMPLE_SHARE)))
    seed = asked.seed or secrets.randbits(31)
    rows = typed_rows(
        store, tuple[int, int, int], load("sampled_batches"), {**of_log, "seed": seed, "limit": limit}
    )
    base = base_of(log_number)
    ranges = sorted({(first - base, last - base) for first, last, _ in rows})
    if len(ranges) >= batches:
        return ranges, ""
    share = sum(drawn for *_, drawn in rows) / max(1, items)
    return ranges, (
        f"a sample: {len(ranges)} of {batches} batches, {share:.1%} of what was loaded (--seed {seed}); the rest needs "
        "--full"
    )


def sampled_traces(store: Store, log_number: int, ranges: Ranges | None) -> list[TraceKey]:
    """Traces of the records that were drawn."""
    base = base_of(log_number)
    asked: Parameters = {
        "firsts": [base + first for first, _ in ranges or []],
        "lasts": [base + last for _, last in ranges or []],
        "limit": MOST_SAMPLED_TRACES,
    }
    return typed_rows(store, tuple[str, str], load("traces_of_records"), asked) if ranges else []


def overlaps(ranges: Ranges | None) -> Callable[[int, int], bool]:
    """Return whether records of a batch are among those that are looked at."""
    if ranges is None:
        return lambda first, last: True
    firsts = [first for first, _ in ranges]

    def overlaps(first: int, last: int) -> bool:
        # Ranges are apart and ascending: the last that begins by `last` reaches farthest.
        at = bisect_right(firsts, last) - 1
        return at >= 0 and ranges[at][1] >= first

    return overlaps


def _runs_of(records: Sequence[int]) -> Ranges:
    """Return records that follow each other as ranges."""
    ranges: Ranges = []
    for record in records:
        if ranges and record == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], record)
        else:
            ranges.append((record, record))
    return ranges
