"""Log records that no ended span took in: those of a span that is still open, and evaluations that name no span.

An evaluator that no longer knows the span of an answer names the answer by its id.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterable, Sequence

from retrospan.ingest.interpret.spans.decode import log_record
from retrospan.ingest.interpret.spans.facts import EVALUATION_RESULT
from retrospan.ingest.interpret.spans.sent_as_logs import is_own
from retrospan.ingest.interpret.spans.span import LogRecord, Span
from retrospan.schemas.raw import RawLog
from retrospan.schemas.semconv import RESPONSE_ID


def place_loose(spans: Sequence[Span], raw_logs: Iterable[RawLog], response_ids: Collection[str]) -> None:
    """Give the spans of one trace the log records that belong to them and that they have not, in place.

    `response_ids` are the names of attributes that hold the id of an answer. What no span holds stays with the first span
    of the trace, as what was said of no span.
    """
    known = {span.span_id: span for span in spans}
    waiting: list[LogRecord] = []
    for raw in raw_logs:
        span = known.get(raw.span_id)
        if span is not None and not span.is_unfinished:
            continue
        record = log_record(raw)
        if span is not None and not is_own(record.event):
            insort(span.logs, record, key=_order)
        elif span is None and record.event == EVALUATION_RESULT:
            waiting.append(record)
    if not waiting or not spans:
        return
    ordered = sorted(spans, key=lambda span: span.order)
    answers = {
        said: span
        for span in reversed(ordered)
        for name in response_ids
        if isinstance(said := span.attributes.get(name), str)
    }
    for record in waiting:
        response_id = record.attributes.get(RESPONSE_ID)
        answer = answers.get(response_id) if isinstance(response_id, str) and response_id else None
        insort(ordered[0].loose if answer is None else answer.logs, record, key=_order)


def _order(record: LogRecord) -> tuple[int, int, str]:
    return record.order
