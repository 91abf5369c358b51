"""Spans become the OTLP that OpenTelemetry's own encoder makes of them; what that one loses is kept here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from exporter.conftest import MakePipeline
from exporter.receiver import Receiver, attributes
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.resource.v1.resource_pb2 import Resource as ResourceMessage
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from retrospan.exporter.delivery.encoding import encode_resource, encode_scope, encode_span


def ended(record: Callable[[Any], object], **started: Any) -> ReadableSpan:
    """A span as processors see it."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "shop", "n": 3}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("scope", "1.2", attributes={"a": True}).start_as_current_span(
        "s", **started
    ) as span:
        record(span)
    return exporter.get_finished_spans()[0]


def fill(span: Any) -> None:
    span.set_attributes(
        {"text": "ä😀", "int": -5, "big": 2**63 - 1, "float": 1.0, "nan": float("nan"), "no": False}
    )
    span.set_attributes(
        {"bytes": b"\x00\xff", "list": ["a", "b"], "numbers": [1, 2], "empty": [], "none": ""}
    )
    span.add_event("event", {"k": 1.5}, timestamp=7)
    span.set_status(Status(StatusCode.ERROR, "why"))


def test_bytes_say_what_opentelemetrys_encoder_says() -> None:
    other = SpanContext(7, 9, is_remote=True, trace_flags=TraceFlags(1), trace_state=TraceState([("v", "1")]))
    span = ended(fill, kind=SpanKind.CLIENT, links=[Link(other, {"retrospan.link.type": "forks"})])
    wanted = encode_spans([span]).resource_spans[0]
    got = SpanMessage.FromString(encode_span(span))
    # A link's trace state is left out there.
    assert got.links[0].trace_state == "v=1"
    got.links[0].trace_state = ""
    assert got.SerializeToString(deterministic=True) == wanted.scope_spans[0].spans[0].SerializeToString(
        deterministic=True
    )
    assert ResourceMessage.FromString(encode_resource(span.resource)) == wanted.resource
    scope = type(wanted.scope_spans[0].scope).FromString(encode_scope(span.instrumentation_scope))
    assert scope == wanted.scope_spans[0].scope


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Span:
    """A foreign readable span: what the SDK's cleaning of attributes would never let through."""

    def __init__(self, inner: ReadableSpan, values: dict[str, object], name: str) -> None:
        self._inner, self.attributes, self.name = inner, values, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


CYCLE: list[object] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        pytest.param("a\ud800b", "a\\ud800b", id="half a surrogate pair"),
        pytest.param(2**70, str(2**70), id="an integer beyond 64 bits"),
        pytest.param(10**5000, hex(10**5000), id="an integer that Python refuses to write"),
        pytest.param(Hostile(), "<Hostile: its repr raises RuntimeError>", id="repr raises"),
        pytest.param({1, 2}, "<set: {1, 2}>", id="a set"),
    ],
)
def test_what_otlp_cannot_say_is_described(value: object, seen: str) -> None:
    span: Any = Span(ended(lambda span: None), {"k": value, "next": "kept"}, "na\ud800me")
    got = SpanMessage.FromString(encode_span(span))
    assert attributes(got.attributes) == {"k": seen, "next": "kept"}
    assert got.name == "na\\ud800me"


WHEN = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
NANOSECONDS = 1_767_323_045_678_901_000


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (5.0, 5),
        (WHEN, NANOSECONDS),
        (True, 1),
        (-5, 0),
        (2**80, 0),
        ("now", 0),
        (float("nan"), 0),
        (Hostile(), 0),
    ],
)
def test_no_time_costs_a_span(pipeline: MakePipeline, receiver: Receiver, given: Any, sent: int) -> None:
    built, provider = pipeline()
    span = provider.get_tracer("test").start_span("one", start_time=given)
    span.set_attribute("important", "yes")
    span.add_event("e", {"k": 1}, timestamp=given)
    span.end(end_time=given)
    assert built.flush(60) and built.counts().lost == {}
    (got,) = receiver.spans()
    assert attributes(got.attributes) == {"important": "yes"}
    assert got.end_time_unix_nano == sent and got.events[0].time_unix_nano == sent
    assert len(receiver.records("retrospan.begun")) == 1


def test_numbers_of_numpy_are_times() -> None:
    numpy = pytest.importorskip("numpy")
    span: Any = Span(ended(lambda span: None), {}, "n")
    span.start_time, span.end_time = numpy.int64(NANOSECONDS), numpy.float64(5)
    got = SpanMessage.FromString(encode_span(span))
    assert (got.start_time_unix_nano, got.end_time_unix_nano) == (NANOSECONDS, 5)


@pytest.mark.parametrize(
    ("kind", "number"), [(SpanKind.CLIENT, 3), (2, 3), ("client", 3), ("odd", 0), (9, 0), (None, 0)]
)
def test_no_kind_costs_a_span(pipeline: MakePipeline, receiver: Receiver, kind: Any, number: int) -> None:
    built, provider = pipeline()
    provider.get_tracer("test").start_span("one", kind=kind).end()
    assert built.flush(60) and built.counts().lost == {}
    (got,) = receiver.spans()
    assert got.kind == number and len(receiver.records("retrospan.begun")) == 1


def test_a_cycle_ends() -> None:
    span: Any = Span(ended(lambda span: None), {"cycle": CYCLE, "next": "kept"}, "n")
    got = SpanMessage.FromString(encode_span(span))
    assert attributes(got.attributes)["next"] == "kept"
    assert b"<list: [[...]]>" in got.SerializeToString()
