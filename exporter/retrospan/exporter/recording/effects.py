"""What a tool does to the world, with the key that distinguishes a repeat from the first time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Literal, Self

from opentelemetry import trace
from opentelemetry.context import Context, get_current
from opentelemetry.trace import Span, format_trace_id

from retrospan.exporter.recording.encoding import json_text, json_value
from retrospan.exporter.recording.guests import guest, lenient
from retrospan.exporter.recording.scopes import scope_in
from retrospan.exporter.recording.spanning import Spanning
from retrospan.exporter.recording.states import NOTHING
from retrospan.exporter.recording.telling import fill
from retrospan.schemas.attributes import (
    ATTEMPT,
    COMPENSATES,
    EFFECT,
    EFFECT_EVENT,
    EFFECT_STATUS,
    IDEMPOTENCY_KEY,
    SCOPE_NAME,
)
from retrospan.schemas.hashing import hash_of

Kind = Literal["none", "read", "write", "destructive"]

#: After these it is not known whether the effect happened: the answer is missing, not the deed.
_UNCERTAIN = (TimeoutError, ConnectionError)

#: How other instrumentations say that a span is the execution of a tool, and of which.
_KINDS = (
    ("gen_ai.operation.name", "execute_tool"),
    ("openinference.span.kind", "tool"),
    ("traceloop.span.kind", "tool"),
)
_NAMES = ("gen_ai.tool.name", "tool.name", "traceloop.entity.name")


@guest("")
def idempotency_key(tool: str, arguments: object = None) -> str:
    """Return the key of a tool's effect here: `{origin run}:{task step}:{tool}:{hash of the arguments}`.

    It is the same when the step is retried, and when the run is resumed or retried, because the origin stays.
    Outside a run the trace takes its place, so it does not survive a restart.
    """
    scope = scope_in()
    origin = scope.origin if scope else ""
    if not origin:
        trace_id = trace.get_current_span().get_span_context().trace_id
        origin = format_trace_id(trace_id) if trace_id else ""
    return f"{origin}:{scope.step if scope else ''}:{tool}:{hash_of(json_value(arguments))}"


class Effect(Spanning):
    """An effect that is being recorded; what `effect(...)` returns."""

    key: str = ""
    """The idempotency key, once the block has begun."""

    def __init__(self, tool: str, arguments: object, said: Mapping[str, Any]) -> None:
        super().__init__()
        self._tool = tool
        self._arguments = arguments
        self._said = said
        self._status: str | None = None
        self._result: object = NOTHING
        self._said_result: object = NOTHING
        self._annotates = False

    def __enter__(self) -> Self:
        current = trace.get_current_span()
        if not _is_of(current, self._tool):
            return super().__enter__()
        self.span, self._annotates = current, True
        guest(None)(self._annotate)()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._annotates:
            guest(None)(self.ended)(error)
        else:
            super().__exit__(kind, error, traceback)

    def _annotate(self) -> None:
        self.inside(get_current())
        self.begun()

    def result(self, value: object) -> None:
        """Record what the tool returned."""
        self._result = value
        self._say()

    def skip(self, result: object = NOTHING) -> None:
        """Record that the effect was skipped because it happened before; with the earlier result, if known."""
        self._status, self._result = "skipped", result
        self._say()

    def status(self, status: Literal["planned", "executed", "skipped", "failed", "unknown"]) -> None:
        """Record the status of the effect, if the end of the block does not show it."""
        self._status = status
        self._say()

    @guest(None)
    def _say(self) -> None:
        """Put on the span what the block has said so far, and send it: the end may never come."""
        if self.span.is_recording() and (said := self._known()):
            fill(self.span, EFFECT_EVENT, said)

    def _known(self) -> dict[str, Any]:
        """Return status and result, where they were said; a result once."""
        said: dict[str, Any] = {}
        if self._status is not None and self._said.get(EFFECT):
            said[EFFECT_STATUS] = self._status
        if self._result is not self._said_result:
            said["gen_ai.tool.call.result"] = json_text(self._result)
            self._said_result = self._result
        return said

    @property
    def _changes_something(self) -> bool:
        """Tell whether repeating it matters, as far as stated: only then does the span carry the key."""
        return self._said.get(EFFECT) in ("write", "destructive") or bool(self._said.get(IDEMPOTENCY_KEY))

    def named(self) -> str:
        return f"execute_tool {self._tool}"

    def attributes(self) -> dict[str, Any]:
        said: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": self._tool,
        }
        if self._arguments is not NOTHING:
            said["gen_ai.tool.call.arguments"] = json_text(self._arguments)
        return said

    def inside(self, at: Context) -> Context:
        arguments = None if self._arguments is NOTHING else self._arguments
        self.key = self._said.get(IDEMPOTENCY_KEY) or idempotency_key(self._tool, arguments)
        return at

    def begun(self) -> None:
        if not self.span.is_recording():
            return
        said = {key: value for key, value in self._said.items() if value is not None}
        if self._changes_something:
            said[IDEMPOTENCY_KEY] = self.key
        if self._said.get(EFFECT):
            said[EFFECT_STATUS] = "planned"
        if self._annotates:
            fill(self.span, EFFECT_EVENT, said)
        else:
            self.span.set_attributes(said)

    def ended(self, error: BaseException | None) -> None:
        if not self.span.is_recording():
            return
        if self._status is None:
            self._status = "executed" if error is None else "unknown" if _is_uncertain(error) else "failed"
        said = self._known()
        if self._annotates:  # its span may go on for long
            fill(self.span, EFFECT_EVENT, said)
        else:
            self.span.set_attributes(said)

    def called(
        self, function: Callable[..., object], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        self._tool = self._tool or function.__name__
        if self._arguments is NOTHING:
            bound = inspect.signature(function).bind(*args, **kwargs)
            self._arguments = dict(bound.arguments)

    def returned(self, value: object) -> None:
        if self._result is NOTHING:
            self._result = value

    def again(self) -> Effect:
        return Effect(self._tool, self._arguments, self._said)


def _is_of(span: Span, tool: str) -> bool:
    """Tell whether a span is the execution of this tool, opened by another instrumentation."""
    scope = getattr(span, "instrumentation_scope", None)
    if not span.is_recording() or getattr(scope, "name", SCOPE_NAME) == SCOPE_NAME:
        return False
    said: Mapping[str, object] = getattr(span, "attributes", None) or {}
    return any(said.get(name) == tool for name in _NAMES) and any(
        str(said.get(key, "")).lower() == value for key, value in _KINDS
    )


def _is_uncertain(error: BaseException) -> bool:
    return isinstance(error, _UNCERTAIN) or not isinstance(error, Exception)


@lenient
def effect(
    tool: str = "",
    arguments: object = NOTHING,
    *,
    effect: Kind = "write",
    key: str | None = None,
    call_id: str | None = None,
    compensates: str | None = None,
    attempt: int | None = None,
) -> Effect:
    """Record a tool's execution and what it does to the world, as a context manager or a decorator.

    The span's status becomes `executed`, `failed` by the exception that leaves the block, `unknown` by a timeout, a
    lost connection or a cancellation, `skipped` by `skip`. Where the current span is already the one of this tool,
    from another instrumentation, that span is annotated instead of a second one being opened.

    Args:
        tool: The tool's name; a decorated function's name by default. arguments: What it is called with; a decorated
        function's own arguments by default. effect: `none`, `read`, `write` or `destructive`. The key is sent with the
        last two only: reading twice does not matter. key: The idempotency key, where the program has one of its own;
        else see `idempotency_key`. call_id: The id under which the model asked for the call. compensates: The id of the
        span whose effect this undoes. attempt: Which try this is, from 1.
    """
    said = {
        EFFECT: effect,
        IDEMPOTENCY_KEY: key,
        COMPENSATES: compensates,
        ATTEMPT: attempt,
        "gen_ai.tool.call.id": call_id,
    }
    return Effect(tool, arguments, said)
