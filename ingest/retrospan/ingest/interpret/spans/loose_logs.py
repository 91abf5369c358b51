"""Log records that no ended span took in: those of a span that is still open, and evaluations that name no span.

An evaluator that no longer knows the span of an answer names the answer by its id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from retrospan.ingest.interpret.spans.facts import EVALUATION_RESULT
from retrospan.ingest.interpret.spans.span import LogRecord, Span
from retrospan.schemas.semconv import RESPONSE_ID


def place_loose(
    spans: Sequence[Span], left: Iterable[tuple[str, LogRecord]], response_ids: Collection[str]
) -> None:
    """Give the spans of one trace the log records that no ended span took in, in place; each with the span id it names.

    `response_ids` are the names of attributes that hold the id of an answer. What no span holds stays with the first span
    of the trace, as what was said of no span.
    """
    known = {span.span_id: span for span in spans}
    waiting: list[LogRecord] = []
    changed: dict[int, list[LogRecord]] = {}
    for span_id, record in left:
        span = known.get(span_id)
        if span is None and record.event == EVALUATION_RESULT:
            waiting.append(record)
        elif span is not None:
            span.logs.append(record)
            changed[id(span.logs)] = span.logs
    if waiting and spans:
        ordered = sorted(spans, key=lambda span: span.order)
        answers = {
            said: span
            for span in reversed(ordered)
            for name in response_ids
            if isinstance(said := span.attributes.get(name), str) and said
        }
        for record in waiting:
            response_id = record.attributes.get(RESPONSE_ID)
            answer = answers.get(response_id) if isinstance(response_id, str) else None
            place = ordered[0].loose if answer is None else answer.logs
            place.append(record)
            changed[id(place)] = place
    for place in changed.values():
        place.sort(key=lambda record: record.order)
