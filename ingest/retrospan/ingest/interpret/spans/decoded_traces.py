"""The raw rows of some traces, decoded: their spans, and what of them SQL does not decode. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from retrospan.ingest.interpret.spans.decode import decode_spans
from retrospan.ingest.interpret.spans.deep_values import DeepLog, DeepTexts
from retrospan.ingest.interpret.spans.loose_logs import place_loose
from retrospan.ingest.interpret.spans.span import Span
from retrospan.schemas.raw import RawLog, RawSpan


@dataclass(frozen=True, slots=True)
class DecodedTraces:
    """What the raw rows of some traces say, by trace id; the rows themselves are needed no more.

    `deep` are the JSON texts of attributes that SQL does not decode, by span id and key, `deep_logs` those of log records;
    `rows` is how many span rows there were, variants included.
    """

    spans: dict[str, list[Span]]
    deep: dict[str, dict[str, dict[str, str]]]
    deep_logs: dict[str, list[DeepLog]]
    sequences: dict[str, list[int]]
    rows: dict[str, int]


def decode_traces(
    trace_ids: Iterable[str],
    raw_spans: Iterable[RawSpan],
    raw_logs: Iterable[RawLog],
    response_ids: Collection[str],
) -> DecodedTraces:
    """Take in the raw rows of these traces. `response_ids` are the names of attributes that hold the id of an answer."""
    raws: dict[str, list[RawSpan]] = {trace_id: [] for trace_id in trace_ids}
    logs: dict[str, list[RawLog]] = {trace_id: [] for trace_id in raws}
    for raw in raw_spans:
        raws[raw.trace_id].append(raw)
    for log in raw_logs:
        logs[log.trace_id].append(log)
    spans: dict[str, list[Span]] = {}
    deep = DeepTexts()
    for trace_id, own in raws.items():
        spans[trace_id], left = decode_spans(own, logs[trace_id], deep)
        if left:
            place_loose(spans[trace_id], left, response_ids)
    return DecodedTraces(
        spans,
        {trace_id: deep.of_spans(own) for trace_id, own in raws.items()},
        {trace_id: list(deep.of_logs(own)) for trace_id, own in logs.items()},
        {
            trace_id: [raw.sequence for raw in own] + [log.sequence for log in logs[trace_id]]
            for trace_id, own in raws.items()
        },
        {trace_id: len(own) for trace_id, own in raws.items()},
    )
