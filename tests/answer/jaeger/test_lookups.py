"""Long traces: read in chunks, capped with a warning; a span that came twice is shown once, as it came last."""

from __future__ import annotations

import json
import time

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from retrospan.ingest.answer.jaeger import classic, lookups, otlp
from retrospan.ingest.answer.jaeger.lookups import Lookups
from retrospan.ingest.answer.jaeger.searches import Search
from retrospan.ingest.load.landing import insert_records
from retrospan.ingest.log.record import encode
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.queries import catalogue

TRACE, OTHER = "1d" * 16, "2d" * 16
BEGAN = 1_790_000_000_000_000_000


def insert(store: EmbeddedStore, sequence: int, name: str, *, spans: int, trace: str = TRACE) -> None:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "long"
    scope = resource.scope_spans.add()
    for number in range(spans):
        span = scope.spans.add(
            trace_id=bytes.fromhex(trace), span_id=(number + 1).to_bytes(8, "big"), name=name
        )
        span.start_time_unix_nano = BEGAN + number * 1000
        span.attributes.add(key="raw").value.bytes_value = b"\x00\xff"
        span.attributes.add(key="never").value.double_value = float("nan")
    parts, _ = encode(
        arrived_at=time.time_ns(),
        sequence=sequence,
        tenant="default",
        traces=request.SerializeToString(),
        logs=None,
    )
    insert_records(store, b"".join(parts), f"jaeger {sequence}")


@pytest.fixture
def found(store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> Lookups:
    catalogue.install(store)
    insert(store, 1, "first", spans=7)
    insert(store, 2, "again", spans=2)
    insert(store, 3, "beside", spans=3, trace=OTHER)
    monkeypatch.setattr(lookups, "CHUNK", 2)
    monkeypatch.setattr(lookups, "MOST_SPANS", 5)
    store.keep(
        {"output_format_json_named_tuples_as_objects": 0, "output_format_json_quote_64bit_integers": 0}
    )
    return Lookups(store)


def test_a_long_trace_is_read_in_pieces_and_says_what_is_left_out(found: Lookups) -> None:
    keys = found.keys([OTHER, TRACE])
    assert [(trace.trace_id, trace.size, len(trace.spans)) for trace in keys] == [
        (OTHER, 3, 3),
        (TRACE, 7, 5),
    ]
    assert all(len(spans) <= 2 for _, spans in found.spans(keys))
    beside, told = json.loads(b"".join(classic.traces(found.spans(keys))))["data"]
    assert [span["operationName"] for span in told["spans"]] == ["again", "again", "first", "first", "first"]
    assert (beside["warnings"], len(told["warnings"])) == (None, 1)
    assert told["warnings"][0].startswith("the first 5 of 7 spans are shown")
    assert told["spans"][0]["warnings"] == ["no end was sent: the duration is not known"]
    values = {tag["key"]: tag for tag in told["spans"][0]["tags"]}
    assert values["raw"] == {"key": "raw", "type": "binary", "value": "AP8="}
    assert values["never"] == {"key": "never", "type": "string", "value": "NaN"}


def test_so_it_is_in_the_newer_api(found: Lookups) -> None:
    answer = json.loads(b"".join(otlp.traces(found.spans(found.keys([TRACE])))))
    spans = [
        span
        for resource in answer["result"]["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    assert len(spans) == 5
    warned = [span for span in spans if any(each["key"] == otlp.WARNINGS for each in span["attributes"])]
    assert warned == spans[:1]
    assert {"key": "never", "value": {"doubleValue": "NaN"}} in spans[0]["attributes"]


def test_a_span_that_came_twice_is_counted_once(found: Lookups) -> None:
    assert found.find(Search(service="long", operation="beside")) == [OTHER]
    (summary,) = found.summaries([TRACE])
    assert (summary.spans, summary.spans_of) == (7, {"long": 7})
