"""Requests: what is put together piece by piece is what OpenTelemetry's own classes read; the thread gives way."""

from __future__ import annotations

import threading
import time
from itertools import product

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from retrospan.exporter.delivery.backlog import Backlog
from retrospan.exporter.delivery.encoder import _Pace
from retrospan.exporter.delivery.requests import Origin, Packer, joined, taken_apart

RESOURCES = [Resource(dropped_attributes_count=1), Resource(dropped_attributes_count=300)]
SCOPES = [InstrumentationScope(name="one"), InstrumentationScope(), InstrumentationScope(name="n" * 200)]
ORIGINS = [
    Origin(resource.SerializeToString(), schema, scope.SerializeToString(), other)
    for resource, schema, scope, other in product(
        RESOURCES, (b"", b"https://r/1"), SCOPES, (b"", b"https://s/1")
    )
]


def parts() -> list[tuple[Origin, bytes]]:
    """Spans of every origin in turn, below and above the sizes whose length takes another byte."""
    sizes = (0, 1, 100, 127, 128, 20_000)
    return [
        (origin, Span(name=f"{n} " + "x" * size).SerializeToString())
        for n, (size, origin) in enumerate(product(sizes, ORIGINS))
    ]


def test_a_request_holds_each_part_under_its_own_resource_and_scope() -> None:
    wanted = parts()
    read = ExportTraceServiceRequest.FromString(joined(wanted))
    found = [
        (
            Origin(
                group.resource.SerializeToString(),
                group.schema_url.encode(),
                inner.scope.SerializeToString(),
                inner.schema_url.encode(),
            ),
            span.SerializeToString(),
        )
        for group in read.resource_spans
        for inner in group.scope_spans
        for span in inner.spans
    ]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    for origin in ORIGINS:
        assert [part for o, part in found if o == origin] == [part for o, part in wanted if o == origin]


def test_what_is_packed_piece_by_piece_is_what_is_joined_at_once_and_below_the_size() -> None:
    packer, requests = Packer(50_000), []
    for origin, part in parts():
        if (full := packer.add(origin, part)) is not None:
            requests.append(full)
    rest = packer.close()
    assert rest is not None and packer.close() is None
    requests.append(rest)
    assert len(requests) > 3 and all(len(request.body) <= 50_000 for request in requests)
    again = [list(taken_apart(request.body)) for request in requests]
    assert [len(each) for each in again] == [request.parts for request in requests]
    assert [joined(each) for each in again] == [request.body for request in requests]
    assert sorted((pair for each in again for pair in each), key=repr) == sorted(parts(), key=repr)


@pytest.mark.parametrize("reason", ["none", "memory runs out", "the end"])
def test_the_thread_gives_way_after_each_slice_of_work_while_it_may(
    monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    rests: list[float] = []
    here, sleep = threading.get_ident(), time.sleep

    def rest(seconds: float) -> None:
        # Threads of other pipelines may be at their end meanwhile.
        if threading.get_ident() == here:
            rests.append(seconds)
        else:
            sleep(seconds)

    monkeypatch.setattr(time, "sleep", rest)
    backlog, closing = Backlog(1_000_000), threading.Event()
    if reason == "memory runs out":
        backlog.account(600_000)
    elif reason == "the end":
        closing.set()
    pace = _Pace(backlog, closing)
    for _ in range(10):
        until = time.perf_counter() + 0.0005
        while time.perf_counter() < until:
            pass
        pace.give_way()
    assert len(rests) == (10 if reason == "none" else 0)
    assert all(rest > 0 for rest in rests)
