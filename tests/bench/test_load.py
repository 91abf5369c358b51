"""The benchmark's spans are valid OTLP of the promised size, and look like agent runs with growing history."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from bench.load import SHAPES, Load, Request, Shape, make_load, read_load
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from spans import read_runs, spans_of_requests

from retrospan.ingest.otlp.salvage import TRACES, count

SPANS = 1_000
SMALL, MEDIUM, LONG = SHAPES


def spans_of(request: Request) -> list[Span]:
    message = ExportTraceServiceRequest.FromString(request.body)
    return [span for part in message.resource_spans for scope in part.scope_spans for span in scope.spans]


def attribute(span: Span, key: str) -> str:
    return next((item.value.string_value for item in span.attributes if item.key == key), "")


@pytest.fixture
def made(shape: Shape, tmp_path: Path) -> tuple[Load, list[Request]]:
    load = make_load(shape, SPANS, 3, tmp_path / "load.bin")
    return load, read_load(load.path)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_load_is_valid_otlp_of_the_promised_size(made: tuple[Load, list[Request]], shape: Shape) -> None:
    load, requests = made
    assert sum(request.spans for request in requests) == load.spans >= SPANS
    assert sum(len(request.body) for request in requests) == load.bytes
    assert load.bytes / load.spans == pytest.approx(shape.bytes_per_span, rel=0.15)
    for request in requests:
        assert count(request.body, TRACES) == request.spans
        assert len(spans_of(request)) == request.spans <= 100


@pytest.mark.parametrize("shape", [SMALL])
def test_every_span_has_ids_of_its_own_and_a_parent_in_its_trace(made: tuple[Load, list[Request]]) -> None:
    load, requests = made
    spans = [span for request in requests for span in spans_of(request)]
    ids = {(span.trace_id, span.span_id) for span in spans}
    assert len(ids) == load.spans
    assert all(len(trace_id) == 16 and len(span_id) == 8 for trace_id, span_id in ids)
    roots = Counter(span.trace_id for span in spans if not span.parent_span_id)
    assert len(roots) == load.runs and set(roots.values()) == {1}
    assert all((span.trace_id, span.parent_span_id) in ids for span in spans if span.parent_span_id)
    assert all(0 < span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)


@pytest.mark.parametrize("shape", [SMALL])
def test_runs_are_interleaved(made: tuple[Load, list[Request]]) -> None:
    _, requests = made
    full = [request for request in requests if request.spans == 100]
    assert full
    traces = [span.trace_id for span in spans_of(full[0])]
    changes = sum(one != other for one, other in pairwise(traces))
    assert changes > len(set(traces)), "each trace's spans stand together"


@pytest.mark.parametrize("shape", [LONG])
def test_a_long_run_has_fifty_chats_each_with_the_whole_history(made: tuple[Load, list[Request]]) -> None:
    _, requests = made
    chats: dict[bytes, list[Span]] = {}
    for request in requests:
        for span in spans_of(request):
            if span.name.startswith("chat "):
                chats.setdefault(span.trace_id, []).append(span)
    for calls in chats.values():
        assert len(calls) == 50
        calls.sort(key=lambda span: span.start_time_unix_nano)
        inputs = [json.loads(attribute(span, "gen_ai.input.messages")) for span in calls]
        for before, after in pairwise(inputs):
            assert after[: len(before)] == before and len(after) > len(before)
        answer = json.loads(attribute(calls[0], "gen_ai.output.messages"))[0]
        assert answer.pop("finish_reason") == "tool_calls"
        assert inputs[1][1] == answer


@pytest.mark.parametrize("shape", [MEDIUM])
def test_the_collector_makes_sense_of_the_runs(made: tuple[Load, list[Request]]) -> None:
    load, requests = made
    runs = read_runs(spans_of_requests([request.body for request in requests]))
    assert len(runs) == load.runs
    assert all(run.calls.models and run.output and not run.problems for run in runs)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    first, again, other = (
        make_load(SMALL, 200, seed, tmp_path / name).path.read_bytes()
        for seed, name in ((1, "first"), (1, "again"), (2, "other"))
    )
    assert first == again
    assert first != other
