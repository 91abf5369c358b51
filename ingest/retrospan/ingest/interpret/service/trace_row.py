"""The row of a trace that was read: its runs, and what leads to other traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrospan.ingest.interpret.grouping.grouping import Trace
from retrospan.schemas.sequences import newest_of
from retrospan.schemas.traces import TraceRow


def trace_row(
    tenant: str,
    trace_id: str,
    trace: Trace,
    runs: Mapping[str, str],
    generation: int,
    seen: Sequence[int],
    version: str,
) -> TraceRow:
    """Return the row of a trace whose spans belong to `runs` (span id → run id), read up to the records `seen`."""
    return TraceRow(
        tenant=tenant,
        trace_id=trace_id,
        run_ids=sorted({run_id for run_id in runs.values() if run_id}),
        joins=trace.joins,
        claims=trace.claims,
        # Found by either of the two columns, and told apart when it is read.
        goes_on_from=trace.goes_on_from or trace.ends_in_full,
        ends_with=trace.ends_with,
        answers=list(trace.answers),
        retold=list(trace.retold),
        generation=generation,
        through_sequence=max(seen, default=0),
        interpreted_by=version,
        through=list(newest_of(seen)),
    )
