"""The raw rows of some traces, decoded: their spans, and what of them SQL does not decode. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from retrospan.ingest.interpret.spans.decode import render_deep, spans_of
from retrospan.ingest.interpret.spans.span import Span
from retrospan.schemas.raw import RawLog, RawSpan


@dataclass(frozen=True, slots=True)
class DecodedTraces:
    """What the raw rows of some traces say, by trace id; the rows themselves are needed no more.

    `deep` are the JSON texts of attributes that SQL does not decode, by span id and key; `rows` is how many span rows
    there were, variants included.
    """

    spans: dict[str, list[Span]]
    deep: dict[str, dict[str, dict[str, str]]]
    sequences: dict[str, list[int]]
    rows: dict[str, int]


def decode_traces(
    trace_ids: Iterable[str], raw_spans: Iterable[RawSpan], raw_logs: Iterable[RawLog]
) -> DecodedTraces:
    """Take in the raw rows of these traces; every trace named is among what is returned."""
    raws: dict[str, list[RawSpan]] = {trace_id: [] for trace_id in trace_ids}
    logs: dict[str, list[RawLog]] = {trace_id: [] for trace_id in raws}
    for raw in raw_spans:
        raws[raw.trace_id].append(raw)
    for log in raw_logs:
        logs[log.trace_id].append(log)
    return DecodedTraces(
        {trace_id: spans_of(own, logs[trace_id]) for trace_id, own in raws.items()},
        {
            trace_id: {raw.span_id: deep for raw in own if (deep := render_deep(raw))}
            for trace_id, own in raws.items()
        },
        {
            trace_id: [raw.sequence for raw in own] + [log.sequence for log in logs[trace_id]]
            for trace_id, own in raws.items()
        },
        {trace_id: len(own) for trace_id, own in raws.items()},
    )
