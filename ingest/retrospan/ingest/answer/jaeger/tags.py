"""Tags of a search as conditions: on attributes, on what Jaeger shows of a span as tags, on what interpretation found.

Jaeger compares texts, and so does this: `5` finds the number and the string. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from retrospan.ingest.answer.jaeger.values import integer, truth
from retrospan.schemas.attributes import RUN_ID
from retrospan.schemas.errors import BadRequest

#: Tags that spans carry here beside their own: of their runs.
STEP, OPERATION, OUTCOME = "retrospan.step", "retrospan.operation", "retrospan.outcome"
KINDS = {"unspecified": 0, "internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_CODES = {"UNSET": 0, "OK": 1, "ERROR": 2}
_UINT32 = 1 << 32
#: A name that no scope has: OTLP's texts hold no NUL that would come alone.
_NONE = "\x00"


@dataclass(slots=True)
class Conditions:
    """Of `find_traces.sql`, in its words. An empty list is any."""

    keys: list[str] = field(default_factory=list[str])
    values: list[str] = field(default_factory=list[str])
    kinds: list[int] = field(default_factory=list[int])
    codes: list[int] = field(default_factory=list[int])
    scopes: list[str] = field(default_factory=list[str])
    messages: list[str] = field(default_factory=list[str])
    run_id: str = ""
    operation: str = ""
    outcome: str = ""
    step: int = 0

    @property
    def interpreted(self) -> bool:
        """Whether anything is asked that interpretation found."""
        return bool(self.run_id or self.operation or self.outcome or self.step)


def conditions(tags: Mapping[str, str]) -> Conditions:
    """Return what the tags ask for. Raises BadRequest for a value that no span can have."""
    found = Conditions()
    for key, value in tags.items():
        reader = _READERS.get(key)
        if reader is None:
            found.keys.append(key)
            found.values.append(value)
            continue
        try:
            reader(found, value)
        except BadRequest as error:
            raise BadRequest(f"tag '{key}': {error}") from error
    return found


def kinds_of(text: str) -> list[int]:
    """Return the kind of a span by its name, in a list; '' is any. Raises BadRequest."""
    if not text:
        return []
    if text.lower() not in KINDS:
        raise BadRequest(f"unsupported span kind: '{text[:60]}'")
    return [KINDS[text.lower()]]


def _kind(found: Conditions, text: str) -> None:
    found.kinds = kinds_of(text)


def _error(found: Conditions, text: str) -> None:
    found.codes = _both(found.codes, [2] if truth(text) else [0, 1])


def _code(found: Conditions, text: str) -> None:
    if text.upper() not in _CODES:
        raise BadRequest(f"{text[:60]!r} is not one of {', '.join(_CODES)}")
    found.codes = _both(found.codes, [_CODES[text.upper()]])


def _message(found: Conditions, text: str) -> None:
    found.messages = [text]


def _scope(found: Conditions, text: str) -> None:
    found.scopes = [text] if found.scopes in ([], [text]) else [_NONE]


def _run(found: Conditions, text: str) -> None:
    found.run_id = _given(text)


def _operation(found: Conditions, text: str) -> None:
    found.operation = _given(text)


def _outcome(found: Conditions, text: str) -> None:
    found.outcome = _given(text)


def _step(found: Conditions, text: str) -> None:
    found.step = integer(text)
    if not 0 < found.step < _UINT32:
        raise BadRequest("steps are numbered from 1")


def _both(one: list[int], other: list[int]) -> list[int]:
    """Return what both lists allow; what no span has if that is nothing."""
    return [code for code in other if not one or code in one] or [-1]


def _given(text: str) -> str:
    if not text:
        raise BadRequest("it has no value")
    return text


_READERS: Mapping[str, Callable[[Conditions, str], None]] = {
    "span.kind": _kind,
    "error": _error,
    "otel.status_code": _code,
    "otel.status_description": _message,
    "otel.scope.name": _scope,
    "otel.library.name": _scope,
    RUN_ID: _run,
    OPERATION: _operation,
    OUTCOME: _outcome,
    STEP: _step,
}
