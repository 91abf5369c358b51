"""Finds the attribute that holds the kinds of spans if none has a known name for it: all spans together show which it is.

An attribute whose every value, over all spans of one instrumentation, is a word for a kind of span is what tells it,
whatever its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from retrospan.ingest.interpret.normalize.operations import KINDS, kind_in_tree
from retrospan.ingest.interpret.spans.exchange import Reader, request_by_shape, response_by_shape
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.json_text import read_value

#: What else such an attribute may say.
_NEUTRAL = frozenset(
    (
        *("span", "event", "unknown", "other", "default", "internal", "client", "server", "parser"),
        *("session", "turn", "run", "request", "root", "job", "action", "operation", "call"),
    )
)
_WORDS = KINDS.keys() | _NEUTRAL
_LONGEST = 30
#: An object that says what a span is, beside its name, and how long it can be.
_TYPES = ("type", "kind", "span_type")
_LONGEST_OBJECT = 300


@dataclass(frozen=True, slots=True)
class KindKey:
    """The attribute that tells the kinds of an instrumentation's spans; `is_sure` where they differ."""

    name: str
    is_sure: bool


def kind_keys(spans: Iterable[Span]) -> dict[str, KindKey]:
    """Return, by scope, the attribute that tells the kinds of its spans."""
    told: dict[tuple[str, str], set[str]] = {}
    for span in spans:
        for key, value in span.attributes.items():
            place = (span.scope, key)
            if isinstance(value, str) and (len(value) <= _LONGEST or _may_be_object(value)):
                told.setdefault(place, set()).add(_word(value))
            elif value is not None:
                told.setdefault(place, set()).add("")
    found: dict[str, KindKey] = {}
    for (scope, key), values in told.items():
        if values <= _WORDS:
            kinds = {KINDS[value] for value in values - _NEUTRAL}
            known = found.get(scope)
            # Without a model call it takes two kinds, as an agent and its tools, to tell them from another list of words.
            tells = "inference" in kinds or (len(kinds) > 1 and bool(kinds & {"tool", "agent", "step"}))
            if tells and (known is None or not known.is_sure):
                found[scope] = KindKey(key, len(kinds) > 1)
    return found


def kind_of(span: Span, keys: Mapping[str, KindKey], read: Reader = read_value) -> str | None:
    """Return the operation that the span's attribute for its kind names.

    Where all spans are of one kind the word alone may be about something else: then a request or a response must show.
    """
    key = keys.get(span.scope)
    value = span.attributes.get(key.name) if key is not None else None
    operation = KINDS.get(_word(value)) if isinstance(value, str) else None
    if key is None or operation is None:
        return None
    attributes = span.attributes
    if (
        not key.is_sure
        and request_by_shape(attributes, read) is None
        and response_by_shape(attributes, read) is None
    ):
        return None
    return kind_in_tree(operation, bool(span.parent_span_id))


def _word(value: str) -> str:
    """Return a word as kinds are listed, also where it travels as JSON, alone or as the type that an object tells."""
    if _may_be_object(value):
        said = read_value(value)
        named = (said.get(key) for key in _TYPES) if isinstance(said, dict) else ()
        value = next((name for name in named if isinstance(name, str)), "")
    return value.strip('"').lower()


def _may_be_object(value: str) -> bool:
    return value[:1] == "{" and len(value) <= _LONGEST_OBJECT
