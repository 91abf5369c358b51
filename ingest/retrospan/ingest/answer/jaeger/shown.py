"""What both APIs show of a span beside what was sent. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

from retrospan.ingest.answer.jaeger.lookups import MOST_SPANS, Span, TraceKeys
from retrospan.ingest.answer.jaeger.tags import OPERATION, OUTCOME, STEP
from retrospan.schemas.attributes import RUN_ID
from retrospan.schemas.raw import Triple

_OURS = frozenset({RUN_ID, STEP, OPERATION, OUTCOME})


def attributes_of(span: Span) -> Iterator[Triple]:
    """Yield the attributes of a span: its own, then which run, step and act it is, where interpretation says so.

    A run's id that the span states itself gives way to that of the run it belongs to.
    """
    mark = span.mark
    ours: list[Triple] = []
    if mark.run_id:
        ours.append((RUN_ID, "string", mark.run_id))
    if mark.step:
        ours.append((STEP, "int", str(mark.step)))
    if mark.operation:
        ours.append((OPERATION, "string", mark.operation))
    if mark.outcome:
        ours.append((OUTCOME, "string", mark.outcome))
    named = {key for key, _, _ in ours} & _OURS
    yield from (triple for triple in span.attributes if triple[0] not in named)
    yield from ours


def warnings_of(trace: TraceKeys) -> list[str]:
    """Return what is said of a trace that is not shown as a whole."""
    if len(trace.spans) >= trace.size:
        return []
    limit = f"; {MOST_SPANS:,} is the most of one trace" if len(trace.spans) >= MOST_SPANS else ""
    return [f"the first {len(trace.spans):,} of {trace.size:,} spans are shown{limit}"]


def warnings_of_span(span: Span) -> list[str]:
    """Return what is missing or wrong in the times of a span."""
    if not span.started_ns:
        return ["no start was sent"]
    if not span.ended_ns:
        return ["no end was sent: the duration is not known"]
    if span.ended_ns < span.started_ns:
        return ["the end that was sent is before the start: the duration is not known"]
    return []


def worded(value: float) -> str:
    """Return what stands for a number that JSON does not have."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
