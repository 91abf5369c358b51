"""A step of the task: 6 of 9, "send the mail"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry.context import Context

from retrospan.exporter.recording.guests import lenient
from retrospan.exporter.recording.scopes import with_step
from retrospan.exporter.recording.spanning import Spanning
from retrospan.exporter.recording.states import NOTHING, Around, Returns, StateOf, put
from retrospan.schemas.attributes import ATTEMPT, BACKOFF_MS, STEP_INDEX, STEP_NAME, STEP_TOTAL


class Step(Spanning):
    """A step that is being recorded; what `step(...)` returns."""

    def __init__(self, name: str, numbers: Mapping[str, int | None], around: Around) -> None:
        super().__init__()
        self._name = name
        self._numbers = numbers
        self._around = around

    def state(
        self,
        before: object = NOTHING,
        after: object = NOTHING,
        *,
        patch: object = NOTHING,
        schema: str | None = None,
    ) -> None:
        """Record the state around this step, even if another span is current."""
        put(self.span, before, after, patch=patch, schema=schema)

    def named(self) -> str:
        return self._name or "step"

    def attributes(self) -> dict[str, Any]:
        said: dict[str, Any] = {STEP_NAME: self._name}
        for key, number in self._numbers.items():
            if number is not None:
                said[key] = number
        return said

    def inside(self, at: Context) -> Context:
        index = self._numbers[STEP_INDEX]
        return with_step(at, self._name if index is None else str(index))

    def begun(self) -> None:
        self._around.begin(self.span)

    def ended(self, error: BaseException | None) -> None:
        self._around.end(self.span)

    def called(
        self, function: Callable[..., object], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        if not self._name:
            self._name = function.__name__
        self._around.called(function, args, kwargs)

    def returned(self, value: object) -> None:
        self._around.returned(value)

    def again(self) -> Step:
        around = self._around
        return Step(self._name, self._numbers, Around(around.what, around.returns, around.schema))


@lenient
def step(
    name: str = "",
    index: int | None = None,
    total: int | None = None,
    *,
    state: StateOf = None,
    returns: Returns = "",
    schema: str | None = None,
    attempt: int | None = None,
    backoff_ms: int | None = None,
) -> Step:
    """Record a step of the task, as a context manager or a decorator.

    Args:
        name: What the step is called; a decorated function's name by default.
        index: Its number, from 1. total: how many steps the task has.
        state: What the state is: a dict, dataclass, pydantic model or other object with fields; a function that
            gives one; or, on a decorated function, the name of the argument that is the state. It is recorded as it
            is before the step and as it is after it.
        returns: What a decorated function returns: `state` the whole state after it, `delta` the keys that it
            replaces; by default the state is the same object, changed in place.
        schema: Name and version of the state's schema.
        attempt: Which try of the step this is, from 1. backoff_ms: the wait before it, in milliseconds.
    """
    numbers = {STEP_INDEX: index, STEP_TOTAL: total, ATTEMPT: attempt, BACKOFF_MS: backoff_ms}
    return Step(name, numbers, Around(state, returns, schema))
