"""What a log record says of an act: its numbers, texts and fate, under whichever name the agent gives them."""

from __future__ import annotations

from collections.abc import Iterable

from retrospan.ingest.interpret.spans.facts import TAKEN_OUT
from retrospan.ingest.interpret.spans.span import MILLISECOND, Attributes
from retrospan.schemas import prompt_records as words
from retrospan.schemas import semconv

_REFUSED = ("reject", "rejected", "denied", "deny", "abort", "cancel")
#: The first status of HTTP that is one of failure.
_FAILED_STATUS = 400


def text_in(said: Attributes, names: Iterable[str]) -> str | None:
    """Return the first text under one of these names; None where none is, or what is there was withheld."""
    for name in names:
        value = said.get(name)
        if isinstance(value, str) and value and value not in TAKEN_OUT:
            return value
    return None


def number_in(said: Attributes, names: Iterable[str]) -> int | None:
    """Return the first whole number of no less than 0 under one of these names, be it written as text."""
    for name in names:
        value = said.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            return int(value[:18])
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e18:
            return int(value)
    return None


def duration_ns(said: Attributes) -> int:
    """Return how long the act took, 0 where that is not said."""
    return (number_in(said, words.DURATIONS_MS) or 0) * MILLISECOND


def tokens_in(said: Attributes) -> dict[str, int]:
    """Return how many tokens a request took, by the names of the conventions: all of the input under that of the input."""
    found = {
        name: number
        for name, others in words.TOKENS.items()
        if (number := number_in(said, others)) is not None
    }
    if semconv.USAGE_INPUT_TOKENS in found and all(name in said for name in words.BESIDE_INPUT):
        found[semconv.USAGE_INPUT_TOKENS] += sum(number_in(said, (name,)) or 0 for name in words.BESIDE_INPUT)
    return found


def has_failed(said: Attributes) -> bool:
    """Tell whether a record says that its act failed."""
    success = next((said[name] for name in words.SUCCESSES if name in said), None)
    if success is False or success == "false":
        return True
    if success is True or success == "true":
        return False
    status = number_in(said, (semconv.HTTP_RESPONSE_STATUS_CODE, "status_code"))
    return text_in(said, words.ERRORS) is not None or (status is not None and status >= _FAILED_STATUS)


def error_type_in(said: Attributes) -> str | None:
    """Return what kind of failure a record says that it was: a name, else the status."""
    named = text_in(said, words.ERROR_TYPES)
    status = number_in(said, words.ERROR_TYPES)
    return named or (str(status) if status is not None else None)


def is_refused(said: Attributes) -> bool:
    """Tell whether a record says that its act was not allowed."""
    decision = text_in(said, words.DECISIONS)
    return decision is not None and decision.lower() in _REFUSED
