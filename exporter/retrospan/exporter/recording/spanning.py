"""A span around a block or a function: context manager and decorator, for plain, async and generator functions.

`with`, `async with` and `@` open the same span. While a generator waits for its reader its span is not the current
one: the reader's own spans do not become its children.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from types import TracebackType
from typing import Any, ClassVar, ParamSpec, Self, TypeVar, cast

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, Status, StatusCode, Tracer

from retrospan.exporter.recording.guests import say_once
from retrospan.exporter.recording.scopes import claims_in
from retrospan.exporter.recording.telling import tell_begun
from retrospan.schemas.attributes import SCOPE_NAME

P = ParamSpec("P")
R = TypeVar("R")


class _Cached:
    """The tracer of the provider seen last: asking the provider for one takes longer than a span."""

    provider: object = None
    tracer: Tracer | None = None


def tracer() -> Tracer:
    """Return the tracer of the provider that is set now."""
    provider = trace.get_tracer_provider()
    if _Cached.tracer is None or provider is not _Cached.provider:
        _Cached.tracer, _Cached.provider = provider.get_tracer(SCOPE_NAME), provider
    return _Cached.tracer


def fail(span: Span, error: BaseException) -> None:
    """Mark a span as failed by an exception, with its message and traceback; without a message, its name is used."""
    try:
        span.record_exception(error)
        span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
    except Exception:  # noqa: BLE001 - a guest  # its __str__ fails
        span.add_event("exception", {"exception.type": type(error).__name__})
        span.set_status(Status(StatusCode.ERROR, type(error).__name__))


class Spanning(ABC):
    """Opens a span, makes it the current one, and ends it. Each use is a new object; as a decorator, each call is.

    Subclasses provide the span's name, its attributes at the start, and further ones at the end. Nothing they do raises
    into the block.
    """

    kind: ClassVar[SpanKind] = SpanKind.INTERNAL
    is_told_at_once: ClassVar[bool] = True
    """Whether all that is known at the beginning is on the span once `begun` returns, so that it can be sent."""

    def __init__(self) -> None:
        self.span: Span = INVALID_SPAN
        """The OpenTelemetry span, once the block has begun."""
        self._token: Any = None

    @abstractmethod
    def named(self) -> str:
        """Return what the span is called."""

    def attributes(self) -> dict[str, Any]:
        """Return the span's attributes at its start. Called only if the span is recorded."""
        return {}

    def inside(self, at: Context) -> Context:
        """Return the context of the block; `at` has the span as the current one."""
        return at

    def begun(self) -> None:  # noqa: B027 (most have nothing to do here)
        """Note that the span has started. Called before the block."""

    def ended(self, error: BaseException | None) -> None:  # noqa: B027 (most have nothing to do here)
        """Note that the block has ended. Called before the span ends."""

    @abstractmethod
    def again(self) -> Self:
        """Return an object like this one, for the next call of a decorated function."""

    def called(  # noqa: B027 (most have nothing to do here)
        self, function: Callable[..., object], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        """Note the call of a decorated function, before the span begins."""

    def returned(self, value: object) -> None:  # noqa: B027 (most have nothing to do here)
        """Note what a decorated function returned, before the span ends."""

    def __enter__(self) -> Self:
        try:
            self.span = tracer().start_span(self.named(), kind=self.kind)
            attributes = self.attributes() if self.span.is_recording() else {}
            at = self.inside(trace.set_span_in_context(self.span))
            if self.span.is_recording():
                self.span.set_attributes({**claims_in(at), **attributes})
            self._token = context.attach(at)
            self.begun()
            if self.is_told_at_once:
                tell_begun(self.span)
        except Exception as error:  # noqa: BLE001 - a guest
            say_once(type(self).__name__, error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.ended(error)
        except Exception as problem:  # noqa: BLE001 - a guest
            say_once(type(self).__name__, problem)
        try:
            if error is not None and not isinstance(error, GeneratorExit):
                fail(self.span, error)
            self.span.end()
        except Exception as problem:  # noqa: BLE001 - a guest
            say_once(type(self).__name__, problem)
        if self._token is not None:
            context.detach(self._token)
            self._token = None

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return the function with this span around every call."""
        return cast("Callable[P, R]", _around(self, function))

    def _calling(
        self, function: Callable[..., object], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Self:
        one = self.again()
        try:
            one.called(function, args, kwargs)
        except Exception as error:  # noqa: BLE001 - a guest
            say_once(type(self).__name__, error)
        return one

    def _returning(self, value: R) -> R:
        try:
            self.returned(value)
        except Exception as error:  # noqa: BLE001 - a guest
            say_once(type(self).__name__, error)
        return value

    def _pause(self) -> Any:
        """Make the context of before the current one; return the block's, for the next `_go_on`."""
        held = context.get_current()
        if self._token is not None:
            context.detach(self._token)
            self._token = None
        return held

    def _go_on(self, held: Any) -> None:
        self._token = context.attach(held)


def _around(given: Spanning, function: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def stream(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            one = given._calling(function, args, kwargs)
            with one:
                inner: AsyncGenerator[Any, Any] = function(*args, **kwargs)
                following = inner.__anext__()
                while True:
                    try:
                        item = await following
                    except StopAsyncIteration:
                        return
                    held = one._pause()
                    try:
                        sent = yield item
                    except GeneratorExit:
                        one._go_on(held)
                        await inner.aclose()
                        raise
                    except BaseException as error:  # noqa: BLE001 - a guest
                        one._go_on(held)
                        following = inner.athrow(error)
                    else:
                        one._go_on(held)
                        following = inner.asend(sent)

        return stream
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wait(*args: Any, **kwargs: Any) -> Any:
            one = given._calling(function, args, kwargs)
            with one:
                return one._returning(await function(*args, **kwargs))

        return wait
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            one = given._calling(function, args, kwargs)
            with one:
                return one._returning((yield from _paused(one, function(*args, **kwargs))))

        return generate

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        one = given._calling(function, args, kwargs)
        with one:
            return one._returning(function(*args, **kwargs))

    return call


def _paused(one: Spanning, inner: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Hand on what a generator gives and is sent, with its span current only while it runs."""
    following: Callable[[], Any] = functools.partial(next, inner)
    while True:
        try:
            item = following()
        except StopIteration as stop:
            return stop.value
        held = one._pause()
        try:
            sent = yield item
        except GeneratorExit:
            one._go_on(held)
            inner.close()
            raise
        except BaseException as error:  # noqa: BLE001 - a guest
            one._go_on(held)
            following = functools.partial(inner.throw, error)
        else:
            one._go_on(held)
            following = functools.partial(inner.send, sent)
