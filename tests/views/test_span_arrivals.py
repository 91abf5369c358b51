"""What was counted when traces were read says what counting the spans says, whatever came in which order since."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from fix_recordings import Recording
from interpreting import load, settled
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse

_COUNTED = """
SELECT tenant, trace_id, ingested_at, dialect, sum(spans) AS spans, sum(outside) AS outside
FROM span_arrivals
GROUP BY ALL
ORDER BY ALL
"""
_EACH = """
SELECT tenant, trace_id, ingested_at, dialect, count() AS spans, countIf(run_id = '') AS outside
FROM spans
GROUP BY ALL
ORDER BY ALL
"""
_READ = "SELECT trace_id FROM canon_traces FINAL WHERE notEmpty(arrivals) ORDER BY trace_id"


@pytest.fixture
def interpreter(warehouse: EmbeddedWarehouse, views: EmbeddedStore) -> Iterator[Interpreter]:
    running = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
    running.start()
    yield running
    running.stop()


def _agree(store: EmbeddedStore) -> list[list[object]]:
    """Hold the view against the spans; its rows."""
    counted = store.rows(_COUNTED)
    assert counted == store.rows(_EACH)
    return counted


def _one_by_one(bodies: Sequence[bytes]) -> list[bytes]:
    """Return a request for each span."""
    found = []
    for body in bodies:
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    alone = ExportTraceServiceRequest()
                    alone.resource_spans.add(resource=resource.resource).scope_spans.add(
                        scope=scope.scope
                    ).spans.append(span)
                    found.append(alone.SerializeToString())
    return found


def _renamed(body: bytes) -> bytes:
    request = ExportTraceServiceRequest.FromString(body)
    request.resource_spans[0].scope_spans[0].spans[0].name += " again"
    return request.SerializeToString()


def test_an_empty_warehouse_has_none(views: EmbeddedStore) -> None:
    assert _agree(views) == []


def test_spans_count_before_they_are_read_and_after(
    recordings: dict[str, Recording], views: EmbeddedStore, interpreter: Interpreter
) -> None:
    recording = recordings["langgraph-openinference/normal"]
    bounds = load(views, recording.traces)
    unread = _agree(views)
    assert {row[3] for row in unread} == {""}
    assert all(row[4] == row[5] for row in unread), "none is of a run yet"
    interpreter.notice(*bounds)
    settled(interpreter)
    read = _agree(views)
    assert {row[3] for row in read} == {"openinference.langchain"}
    assert sum(int(str(row[5])) for row in read) == 0
    assert views.rows(_READ), "it was counted when it was read"


def test_spans_count_that_came_after_their_trace_was_read(
    recordings: dict[str, Recording], views: EmbeddedStore, interpreter: Interpreter
) -> None:
    spans = _one_by_one(recordings["langgraph-openinference/normal"].traces)
    interpreter.notice(*load(views, spans[:-2]))
    settled(interpreter)
    before = _agree(views)
    bounds = load(views, spans[-2:])
    late = _agree(views)
    assert sum(int(str(row[4])) for row in late) == sum(int(str(row[4])) for row in before) + 2
    interpreter.notice(*bounds)
    settled(interpreter)
    _agree(views)


@pytest.mark.long
def test_a_span_that_came_again_counts_once_when_it_came_last(
    recordings: dict[str, Recording], views: EmbeddedStore, interpreter: Interpreter
) -> None:
    spans = _one_by_one(recordings["genai-openai.span_only/normal"].traces)
    interpreter.notice(*load(views, spans))
    settled(interpreter)
    _agree(views)
    bounds = load(views, [spans[0], _renamed(spans[1])])
    _agree(views)
    interpreter.notice(*bounds)
    settled(interpreter)
    assert sum(int(str(row[4])) for row in _agree(views)) == len(spans)
    views.command("OPTIMIZE TABLE raw_spans FINAL")
    _agree(views)


def test_traces_that_were_read_before_they_were_counted_are_counted_anew(
    recordings: dict[str, Recording], views: EmbeddedStore, interpreter: Interpreter
) -> None:
    interpreter.notice(*load(views, recordings["genai-openai.span_only/normal"].traces))
    settled(interpreter)
    before = _agree(views)
    views.command("ALTER TABLE canon_traces UPDATE arrivals = [] WHERE 1", settings={"mutations_sync": 1})
    assert views.rows(_READ) == []
    assert _agree(views) == before


@pytest.mark.long
def test_in_any_order_and_at_any_time(
    recordings: dict[str, Recording], views: EmbeddedStore, interpreter: Interpreter
) -> None:
    names = ("langgraph-openinference/parallel", "pydantic-ai/normal", "strands/tool_error")
    spans = [span for name in names for span in _one_by_one(recordings[name].traces)]
    chance = random.Random(11)
    bodies = [*spans, *chance.sample(spans, len(spans) // 4)]
    chance.shuffle(bodies)
    waiting: list[tuple[int, int]] = []
    while bodies:
        waiting.append(load(views, [bodies.pop() for _ in range(min(len(bodies), chance.randint(1, 12)))]))
        _agree(views)
        if chance.random() < 0.5 or not bodies:
            for bounds in waiting:
                interpreter.notice(*bounds)
            waiting.clear()
            settled(interpreter)
            _agree(views)
    assert sum(int(str(row[4])) for row in _agree(views)) == len(spans)
