"""The state around a step: stated by the program, or taken from an object before and after."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, cast

from opentelemetry import trace
from opentelemetry.trace import Span

from retrospan.exporter.recording.encoding import json_text
from retrospan.exporter.recording.guests import guest
from retrospan.exporter.recording.telling import fill
from retrospan.schemas.attributes import STATE_AFTER, STATE_BEFORE, STATE_EVENT, STATE_PATCH, STATE_SCHEMA

#: What the state is: an object with fields, a function that gives one, or the name of a decorated function's argument.
StateOf: TypeAlias = object
#: What a decorated function returns: nothing of the state, the state after it, or the keys of it that it replaces.
Returns: TypeAlias = Literal["", "state", "delta"]


class _Nothing:
    """No value was given; None is a value."""


NOTHING = _Nothing()


@guest(None)
def state(
    before: object = NOTHING, after: object = NOTHING, *, patch: object = NOTHING, schema: str | None = None
) -> None:
    """Record the state around the current span: an object with fields, before it and after it.

    Instead of `after`, `patch` is the list of changes (RFC 6902). `schema` is the name and version of the state's
    schema. Outside any span nothing is recorded: a state belongs to a span.
    """
    put(trace.get_current_span(), before, after, patch=patch, schema=schema)


def put(
    span: Span,
    before: object = NOTHING,
    after: object = NOTHING,
    *,
    patch: object = NOTHING,
    schema: str | None = None,
    at_edge: bool = False,
) -> None:
    """Put the state around a span on it. `at_edge`: the span has just begun or is about to end, and tells it itself."""
    if not span.is_recording():
        return
    said: dict[str, str] = {}
    if before is not NOTHING:
        said[STATE_BEFORE] = state_text(before)
    if after is not NOTHING:
        said[STATE_AFTER] = state_text(after)
    if patch is not NOTHING:
        said[STATE_PATCH] = json_text(patch)
    if schema is not None:
        said[STATE_SCHEMA] = schema
    if at_edge:
        span.set_attributes(said)
    elif said:
        fill(span, STATE_EVENT, said)


def state_text(value: object) -> str:
    """Return a state as a JSON object; anything else becomes one with the single key `value`."""
    text = json_text(value)
    return text if text.startswith("{") else f'{{"value":{text}}}'


class Around:
    """Takes a state before and after a block. Values set in between by `before` and `after` take precedence."""

    def __init__(self, what: StateOf, returns: Returns = "", schema: str | None = None) -> None:
        self.what = what
        self.returns: Returns = returns
        self.schema = schema
        self._holds = what
        self._before: object = NOTHING
        self._after: object = NOTHING

    def called(
        self, function: Callable[..., object], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        """Find the argument that is the state, by its name."""
        if isinstance(self.what, str):
            bound = inspect.signature(function).bind(*args, **kwargs)
            bound.apply_defaults()
            self._holds = bound.arguments.get(self.what)

    def returned(self, value: object) -> None:
        """Take the state after from what a decorated function returned."""
        if self.returns == "state" or (self.returns == "delta" and isinstance(value, Mapping)):
            self._after = value

    def begin(self, span: Span) -> None:
        if self._holds is None or isinstance(self._holds, str):
            return
        if span.is_recording():
            self._before = _look(self._holds)
            put(span, self._before, schema=self.schema, at_edge=True)

    def end(self, span: Span) -> None:
        if not span.is_recording():
            return
        if self.returns == "delta" and self._after is not NOTHING and self._before is not NOTHING:
            put(span, after=_replaced(self._before, self._after), at_edge=True)
        elif self._after is not NOTHING:
            put(span, after=self._after, at_edge=True)
        elif self._holds is not None and not isinstance(self._holds, str) and not self.returns:
            put(span, after=_look(self._holds), at_edge=True)


def _look(holds: object) -> object:
    return cast(object, holds()) if inspect.isfunction(holds) or inspect.ismethod(holds) else holds


def _replaced(before: object, changed: object) -> object:
    """Return the state with some keys replaced."""
    fields = before if isinstance(before, Mapping) else getattr(before, "__dict__", {})
    return {**dict(fields), **dict(cast("Mapping[str, object]", changed))}
