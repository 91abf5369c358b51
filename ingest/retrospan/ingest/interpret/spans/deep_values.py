"""What of attributes and bodies SQL does not decode, as JSON: values that are nested deeper than it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from retrospan.ingest.json_text import bounded, write_json
from retrospan.ingest.load.attributes import value_of
from retrospan.schemas.raw import RawLog, RawSpan


@dataclass(frozen=True, slots=True)
class DeepLog:
    """What of a log record SQL does not decode, as JSON: its body, where it is that, and attributes by key."""

    span_id: str
    record: str
    body: str
    attributes: dict[str, str]


def deep_attributes(raw_spans: Iterable[RawSpan]) -> dict[str, dict[str, str]]:
    """Return the JSON of the spans' attributes that are nested deeper than SQL decodes, by span id and key."""
    return {raw.span_id: deep for raw in raw_spans if (deep := _render_attributes(raw))}


def deep_logs(raw_logs: Iterable[RawLog]) -> Iterator[DeepLog]:
    """Yield the log records of which SQL does not decode all."""
    for raw in raw_logs:
        kind, text = raw.body
        body = _render(kind, text) if kind.endswith("*") else ""
        attributes = _render_attributes(raw)
        if body or attributes:
            yield DeepLog(raw.span_id, str(raw.content_hash), body, attributes)


def _render_attributes(raw: RawSpan | RawLog) -> dict[str, str]:
    return {key: _render(kind, text) for key, kind, text in raw.attributes if kind.endswith("*")}


def _render(kind: str, text: str) -> str:
    return write_json(bounded(value_of(kind, text)))
