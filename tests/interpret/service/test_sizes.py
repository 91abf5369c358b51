"""How much there is to read of a trace: of what is large in it, wherever that stands."""

from __future__ import annotations

import pytest
from interpreting import load
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from retrospan.ingest.interpret.service.dispatch import BatchRunner, TraceBatch
from retrospan.ingest.rules.ruleset import NO_RULES
from retrospan.ingest.warehouse.embedded import EmbeddedStore

LARGE = 5_000_000
TRACE, OTHER = bytes(range(16)), bytes(range(1, 17))


def sizes(store: EmbeddedStore, *trace_ids: bytes) -> dict[str, tuple[int, int]]:
    runner = BatchRunner(0, lambda tenant, run_id: True, NO_RULES)
    return runner.sizes(store, TraceBatch("default", {each.hex(): (1,) for each in trace_ids}, []))


@pytest.mark.parametrize("place", ["attribute", "event", "log attribute", "body"])
def test_what_is_large_counts_wherever_it_stands(store: EmbeddedStore, place: str) -> None:
    traces, logs = ExportTraceServiceRequest(), ExportLogsServiceRequest()
    spans = traces.resource_spans.add().scope_spans.add().spans
    for trace_id in (TRACE, OTHER):
        spans.add(trace_id=trace_id, span_id=trace_id[:8], name="a", start_time_unix_nano=1).attributes.add(
            key="said"
        ).value.string_value = "word"
    record = logs.resource_logs.add().scope_logs.add().log_records.add(trace_id=TRACE, time_unix_nano=1)
    record.body.string_value = "word"
    if place == "attribute":
        spans[0].attributes[0].value.string_value = "x" * LARGE
    elif place == "event":
        spans[0].events.add(name="e").attributes.add(key="said").value.string_value = "x" * LARGE
    elif place == "body":
        record.body.string_value = "x" * LARGE
    else:
        record.attributes.add(key="said").value.string_value = "x" * LARGE
    load(store, [traces.SerializeToString()], [logs.SerializeToString()])
    found = sizes(store, TRACE, OTHER)
    assert (found[TRACE.hex()][0], found[OTHER.hex()][0]) == (2, 1)
    assert LARGE <= found[TRACE.hex()][1] < LARGE + 1_000
    assert found[OTHER.hex()][1] < 1_000


def test_very_many_small_attributes_are_not_nothing(store: EmbeddedStore) -> None:
    traces = ExportTraceServiceRequest()
    span = (
        traces.resource_spans.add().scope_spans.add().spans.add(trace_id=TRACE, span_id=TRACE[:8], name="a")
    )
    for number in range(10_000):
        span.attributes.add(key=f"k{number % 10}").value.string_value = ""
    load(store, [traces.SerializeToString()])
    assert sizes(store, TRACE)[TRACE.hex()][1] >= 100_000
