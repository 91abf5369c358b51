"""Answers that are told, and told as empty: the place for the text is there, and nothing in it."""

from __future__ import annotations

import re

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.schemas import semconv

_OF_ANSWERS = frozenset((semconv.OUTPUT_MESSAGES, semconv.COMPLETION))
_ANSWER_EVENTS = frozenset((semconv.CHOICE, "gen_ai.content.completion"))
_INDEXED = re.compile(r"(?:completion|output|choice)[a-z_]*\.\d+\.(?:[a-z_]+\.)?content\Z")
_EMPTY = re.compile(r'"(?:content|text)"\s*:\s*""|"parts"\s*:\s*\[\s*\]')


def is_told_as_empty(span: NormalizedSpan) -> bool:
    """Tell whether the text of an answer is there, and empty: where there is none, that is a choice."""
    told = [value for name, value in span.sent.attributes.items() if name in _OF_ANSWERS]
    told += [
        value
        for event in span.sent.events
        if event.name in _ANSWER_EVENTS
        for value in event.attributes.values()
    ]
    if any(isinstance(value, str) and _EMPTY.search(value) for value in told):
        return True
    return any(value is None and _INDEXED.search(name) for name, value in span.sent.attributes.items())
