"""Salvage: one bad member never takes its siblings along, and what stays keeps its bytes."""

from __future__ import annotations

import otlp_requests as make
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from retrospan.ingest.otlp import lenient
from retrospan.ingest.otlp.salvage import LOGS, TRACES, count, salvage

BROKEN = b"\x0a\x7fshort"


def test_a_good_request_is_counted_and_sound() -> None:
    body = make.traces(make.span(), make.span()).SerializeToString()
    assert count(body, TRACES) == 2


@pytest.mark.parametrize(
    ("trace_id", "span_id", "reason"),
    [
        (b"", b"s" * 8, "trace id has 0 bytes, not 16"),
        (b"t" * 8, b"s" * 8, "trace id has 8 bytes, not 16"),
        (b"t" * 17, b"s" * 8, "trace id has 17 bytes, not 16"),
        (bytes(16), b"s" * 8, "trace id is all zero"),
        (b"t" * 16, b"", "span id has 0 bytes, not 8"),
        (b"t" * 16, b"s" * 16, "span id has 16 bytes, not 8"),
        (b"t" * 16, bytes(8), "span id is all zero"),
    ],
)
def test_a_span_with_impossible_ids_is_left_out_alone(trace_id: bytes, span_id: bytes, reason: str) -> None:
    bad = make.span("bad", trace_id=trace_id, span_id=span_id)
    body = make.traces(make.span("a"), bad, make.span("b")).SerializeToString()
    assert count(body, TRACES) is None
    salvaged = salvage(body, TRACES)
    assert salvaged is not None
    assert (salvaged.kept, make.names(salvaged.body)) == (2, ["a", "b"])
    assert salvaged.faults.counts == {reason: 1}
    assert salvaged.faults.samples == {reason: bad.SerializeToString()}


def test_a_span_that_cannot_be_read_is_left_out_alone() -> None:
    body = make.with_raw_span(make.traces(make.span("a"), make.span("b")), BROKEN)
    with pytest.raises(DecodeError):
        lenient.parse_traces(body)
    salvaged = salvage(body, TRACES)
    assert salvaged is not None
    assert make.names(salvaged.body) == ["a", "b"]
    assert salvaged.faults.counts == {"span cannot be read": 1}


def test_a_resource_that_cannot_be_read_takes_only_its_own_spans() -> None:
    request = make.traces(make.span("a"))
    broken_resource = b"\x0a\x0c" + b"\x0a\x02\x0a\x7f" + b"\x12\x06" + b"\x12\x04" + b"\x2a\x02hi"
    salvaged = salvage(request.SerializeToString() + broken_resource, TRACES)
    assert salvaged is not None
    assert make.names(salvaged.body) == ["a"]
    assert salvaged.faults.counts == {"resource of the span cannot be read": 1}


@pytest.mark.parametrize("body", [b"\xff\xff\xff", b"{}", b"\x0a\x05ab", b"\x1f\x8b\x08\x00" + bytes(20)])
def test_what_is_not_a_request_at_all_is_not_salvaged(body: bytes) -> None:
    with pytest.raises(DecodeError):
        lenient.parse_traces(body)
    assert salvage(body, TRACES) is None


def test_text_that_is_not_utf8_and_deep_values_are_read() -> None:
    deep = make.raw_span(b"deep", [make.raw_attribute(b"k", make.nested(2000))])
    wild = make.raw_span(b"\xff\xfe name", [make.raw_attribute(b"\xc3", b"\x0a\x02\xff\xff")])
    body = make.with_raw_span(make.traces(make.span()), deep)
    body += make.with_raw_span(make.traces(), wild)
    with pytest.raises(DecodeError):
        ExportTraceServiceRequest.FromString(body)
    assert count(body, TRACES) == 3


def test_log_records_may_lie_outside_any_trace() -> None:
    body = make.logs(LogRecord(), LogRecord(trace_id=bytes(16), span_id=bytes(8))).SerializeToString()
    assert count(body, LOGS) == 2


def test_a_log_record_with_ids_of_the_wrong_length_is_left_out_alone() -> None:
    good, bad = LogRecord(severity_text="good"), LogRecord(trace_id=b"short")
    body = make.logs(good, bad).SerializeToString()
    assert count(body, LOGS) is None
    salvaged = salvage(body, LOGS)
    assert salvaged is not None
    assert ExportLogsServiceRequest.FromString(salvaged.body) == make.logs(good)
    assert salvaged.faults.counts == {"trace id has 5 bytes, not 16 or none": 1}


def test_the_reasons_of_one_request_are_bounded() -> None:
    spans = [make.span(trace_id=b"t" * length) for length in range(40) if length != 16]
    salvaged = salvage(make.traces(*spans).SerializeToString(), TRACES)
    assert salvaged is not None
    assert salvaged.faults.total == 39
    assert len(salvaged.faults.counts) == 17


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.just(None), st.binary(max_size=40)), max_size=12))
def test_every_good_span_is_kept_in_order_and_every_bad_one_counted(plan: list[bytes | None]) -> None:
    """None stands for a good span; bytes are put in as a span as they are."""
    body = b""
    good: list[str] = []
    bad = 0
    for position, raw in enumerate(plan):
        if raw is None:
            body += make.traces(make.span(str(position))).SerializeToString()
            good.append(str(position))
        elif not _is_span(raw):
            body += make.with_raw_span(make.traces(), raw)
            bad += 1
    salvaged = salvage(body, TRACES)
    assert salvaged is not None
    assert make.names(salvaged.body) == good
    assert (salvaged.kept, salvaged.faults.total) == (len(good), bad)


def _is_span(raw: bytes) -> bool:
    try:
        read = Span.FromString(raw)
    except DecodeError:
        return False
    return len(read.trace_id) == 16 and len(read.span_id) == 8
