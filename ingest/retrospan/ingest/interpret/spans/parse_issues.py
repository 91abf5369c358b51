"""Values that could not be read: the raw value stays where it is, the canonical one is null, the reason is listed."""

from __future__ import annotations

from dataclasses import dataclass

#: A problem shows this much of the raw value; the whole value is in the span.
SHOWN = 500


@dataclass(frozen=True, slots=True)
class ParseIssue:
    span_id: str | None
    field: str
    raw: str
    reason: str


class ParseIssues:
    """The problems of one run, each once."""

    def __init__(self) -> None:
        self.found: dict[ParseIssue, None] = {}

    def add(self, span_id: str | None, field: str, raw: object, reason: str) -> None:
        text = raw if isinstance(raw, str) else repr(raw)
        self.found[ParseIssue(span_id, field, text[:SHOWN], reason)] = None
