"""The rows of what interpretation knows of single spans and log records, and when the spans of a trace arrived. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from retrospan.ingest.interpret.grouping.grouping import Trace
from retrospan.ingest.interpret.spans.deep_values import DeepLog
from retrospan.ingest.interpret.spans.span import Span
from retrospan.schemas.traces import LogTextRow, SpanRow

#: Arrival in Unix nanoseconds, dialect, spans, of these in no run.
Arrival = tuple[int, str, int, int]


def span_rows(
    tenant: str,
    generation: int,
    spans: Sequence[Span],
    rendered: Mapping[str, dict[str, str]],
    trace: Trace,
    homes: Mapping[str, str],
) -> list[SpanRow]:
    """Return what is known of each span: nothing of spans outside runs but their deep attributes, which are `rendered`.

    `homes` has the run of each span, by its id.
    """
    normalized = {span.sent.span_id: span for span in trace.spans}
    rows: list[SpanRow] = []
    for span in spans:
        found, run_id = normalized.get(span.span_id), homes.get(span.span_id, "")
        if run_id or span.span_id in rendered:
            rows.append(
                SpanRow(
                    tenant=tenant,
                    trace_id=span.trace_id,
                    span_id=span.span_id,
                    generation=generation,
                    run_id=run_id,
                    operation=found.operation if found else "other",
                    dialect=found.dialect if found else "",
                    rendered=rendered.get(span.span_id, {}),
                )
            )
    return rows


def arrivals_of(spans: Sequence[Span], rows: Sequence[SpanRow]) -> list[Arrival]:
    """Return how many spans arrived when, by the dialect that their row has: '' without one. What records alone tell is none."""
    known = {row.span_id: row for row in rows}
    counts: dict[tuple[int, str], int] = {}
    outside: dict[tuple[int, str], int] = {}
    for span in spans:
        if span.is_told:
            continue
        row = known.get(span.span_id)
        of = span.arrived_at, row.dialect if row is not None else ""
        counts[of] = counts.get(of, 0) + 1
        if row is None or not row.run_id:
            outside[of] = outside.get(of, 0) + 1
    return [(*of, number, outside.get(of, 0)) for of, number in sorted(counts.items())]


def log_text_rows(
    tenant: str,
    generation: int,
    trace_id: str,
    deep_logs: Sequence[DeepLog],
    homes: Mapping[str, str],
) -> Iterator[LogTextRow]:
    """Yield the texts of the log records of runs: of a span that is not known where all spans are of one run."""
    runs = {run_id for run_id in homes.values() if run_id}
    only = next(iter(runs)) if len(runs) == 1 else ""
    for log in deep_logs:
        run_id = homes.get(log.span_id) or only
        if run_id:
            yield LogTextRow(
                tenant=tenant,
                run_id=run_id,
                generation=generation,
                trace_id=trace_id,
                span_id=log.span_id,
                record=log.record,
                body=log.body,
                attributes=log.attributes,
            )
