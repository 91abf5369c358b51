"""Log records of no trace that tell what a model answered: read for the calls that wait for one."""

from __future__ import annotations

from collections.abc import Iterable

from retrospan.ingest.interpret.spans.decode import log_record
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.stray_logs import awaiting, place_strays
from retrospan.ingest.interpret.spans.vocabulary import OPENTELEMETRY
from retrospan.ingest.load.raw_row_reader import read_strays
from retrospan.schemas.store import Store


def awaits_strays(spans: Iterable[Span]) -> bool:
    """Tell whether a span may be answered in a record of no trace."""
    return bool(awaiting(spans, OPENTELEMETRY))


def give_strays(store: Store, tenant: str, spans: Iterable[Span]) -> None:
    """Give the model calls among the spans the records of no trace that may tell their answers, in place."""
    calls = awaiting(spans, OPENTELEMETRY)
    if not calls:
        return
    raw = read_strays(
        store,
        tenant,
        sorted({minute for call in calls for minute in call.minutes}),
        sorted({call.conversation for call in calls}),
        OPENTELEMETRY.response_models,
    )
    place_strays(calls, map(log_record, raw), OPENTELEMETRY)
