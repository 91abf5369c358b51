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


class DeepTexts:
    """The JSON of values that SQL does not decode, by how they are stored: written when they are read, and looked up after."""

    def __init__(self) -> None:
        self._written: dict[tuple[str, str], str] = {}

    def read(self, kind: str, text: str) -> object:
        """Return the value of an attribute or a body, and note its JSON where SQL does not decode it."""
        value = bounded(value_of(kind, text))
        if kind.endswith("*"):
            self._written[kind, text] = write_json(value)
        return value

    def of_spans(self, raw_spans: Iterable[RawSpan]) -> dict[str, dict[str, str]]:
        """Return the JSON of the spans' attributes that are nested deeper than SQL decodes, by span id and key."""
        return {raw.span_id: deep for raw in raw_spans if (deep := self._of_attributes(raw))}

    def of_logs(self, raw_logs: Iterable[RawLog]) -> Iterator[DeepLog]:
        """Yield the log records of which SQL does not decode all."""
        for raw in raw_logs:
            body = self._of(*raw.body) if raw.body[0].endswith("*") else ""
            attributes = self._of_attributes(raw)
            if body or attributes:
                yield DeepLog(raw.span_id, str(raw.content_hash), body, attributes)

    def _of_attributes(self, raw: RawSpan | RawLog) -> dict[str, str]:
        return {key: self._of(kind, text) for key, kind, text in raw.attributes if kind.endswith("*")}

    def _of(self, kind: str, text: str) -> str:
        written = self._written.get((kind, text))
        if written is None:  # of a variant that another one replaced
            self.read(kind, text)
            written = self._written[kind, text]
        return written
