"""The memory for waiting spans bounds them wherever their bytes lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from exporter.conftest import MakePipeline
from exporter.receiver import Receiver, Reply
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags

from retrospan.exporter.delivery import notices
from retrospan.exporter.delivery.records import LogRecord
from retrospan.exporter.delivery.weighing import weight

LARGE = 100_000
OTHER = SpanContext(7, 9, is_remote=True, trace_flags=TraceFlags(1))

#: Where an agent may put 100 KB.
PLACES: dict[str, Callable[[Any, Any], object]] = {
    "value": lambda span, text: span.set_attribute("a", text),
    "list": lambda span, text: span.set_attribute("a", [text]),
    "key": lambda span, text: span.set_attribute(text, 1),
    "status": lambda span, text: span.set_status(Status(StatusCode.ERROR, text)),
    "event": lambda span, text: span.add_event(text),
    "value of an event": lambda span, text: span.add_event("e", {"a": text}),
    "value of a link": lambda span, text: span.add_link(OTHER, {"a": text}),
    "name": lambda span, text: span.update_name(text),
}


@pytest.mark.parametrize("place", PLACES)
def test_spans_that_wait_stay_within_the_memory_wherever_their_bytes_lie(
    pipeline: MakePipeline, receiver: Receiver, place: str
) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    built, provider = pipeline(memory_bytes=10 * LARGE)
    tracer = provider.get_tracer("test")
    for number in range(30):
        span = tracer.start_span("one")
        PLACES[place](span, f"{number:05d}" + "x" * LARGE)
        span.end()
    counts = built.counts()
    assert 0 < counts.accepted <= 10
    assert counts.accepted + counts.lost[notices.MEMORY_FULL] == 30


class Foreign:
    """A span with attributes as newer releases of the SDK let them through: nested."""

    def __init__(self, inner: ReadableSpan, values: dict[str, object]) -> None:
        self._inner, self.attributes = inner, values

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.mark.parametrize(
    "value",
    [
        {"b": "x" * LARGE},
        {"x" * LARGE: 1},
        [["x" * LARGE]],
        ({"c": [1, ("x" * LARGE,)]}, 2),
        [list(range(300)) for _ in range(LARGE // 8 // 300)],
    ],
)
def test_nested_values_weigh_what_they_hold_at_any_depth(value: object) -> None:
    span = TracerProvider(shutdown_on_exit=False).get_tracer("test").start_span("one")
    assert isinstance(span, ReadableSpan)
    nested: Any = Foreign(span, {"a": value})
    assert LARGE < weight(nested, 1 << 30) < 10 * LARGE
    assert LARGE < weight(LogRecord("e", {"a": value}, 0, span.resource, None), 1 << 30) < 10 * LARGE


def test_what_has_no_end_is_weighed_no_further_than_there_is_room() -> None:
    span = TracerProvider(shutdown_on_exit=False).get_tracer("test").start_span("one")
    assert isinstance(span, ReadableSpan)
    endless: list[object] = []
    endless += [endless, endless]
    nested: Any = Foreign(span, {"a": endless})
    assert LARGE < weight(nested, LARGE) < 2 * LARGE


def test_a_link_that_is_none_is_weighed_as_nothing() -> None:
    span: Any = TracerProvider(shutdown_on_exit=False).get_tracer("test").start_span("one")
    odd: Any = Foreign(span, {})
    odd.links = [None, Link(OTHER)]
    assert weight(odd, LARGE) < LARGE
