"""One request, one record; what was sent is what was acknowledged, rejected or refused."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import otlp_requests as make
import pytest
from fix_recordings import load_recording, manifest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from retrospan.ingest.log.record import Record, decode
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.receive.intake import Acknowledgement, Intake
from retrospan.ingest.settings.config import Limits
from retrospan.schemas.errors import BadRequest, LogFull, PayloadTooLarge


@pytest.fixture
def log(tmp_path: Path) -> Iterator[WriteAheadLog]:
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0, limit_bytes=200_000)
    yield log
    log.close()


def last(log: WriteAheadLog) -> Record:
    chunk = log.read(log.durable_sequence - 1, max_bytes=1 << 20)
    assert chunk is not None
    [frame] = chunk.frames()
    return decode(chunk.data[frame.body : frame.end])


def test_a_good_request_is_stored_byte_for_byte(log: WriteAheadLog) -> None:
    intake = Intake(log)
    # An unknown field at the end: not ours to touch.
    body = make.traces(make.span(), make.span()).SerializeToString() + b"\xfa\x3e\x03new"
    assert intake.traces(body) == Acknowledgement(2, 0, "", 1)
    assert (last(log).traces, last(log).rejects, last(log).tenant) == (body, [], "default")
    logs = make.logs(LogRecord(), LogRecord(), LogRecord()).SerializeToString()
    assert intake.logs(logs, "other") == Acknowledgement(3, 0, "", 2)
    assert (last(log).logs, last(log).tenant) == (logs, "other")
    counters = intake.counters
    assert (counters.requests, counters.spans_acknowledged, counters.log_records_acknowledged) == (2, 2, 3)


@pytest.mark.parametrize("body", [b"", make.traces().SerializeToString()])
def test_an_empty_request_succeeds_and_leaves_nothing(log: WriteAheadLog, body: bytes) -> None:
    assert Intake(log).traces(body) == Acknowledgement(0, 0, "", 0)
    assert log.durable_sequence == 0


def test_the_good_spans_and_the_rejects_are_one_record(log: WriteAheadLog) -> None:
    intake = Intake(log)
    bad = make.span("bad", trace_id=b"short")
    body = make.traces(make.span("a"), bad, bad, make.span("b")).SerializeToString()
    receipt = intake.traces(body)
    assert (receipt.spans, receipt.rejected_spans, receipt.sequence) == (2, 2, 1)
    assert receipt.message == "2 of 4 spans rejected: trace id has 5 bytes, not 16 (2)"
    record = last(log)
    assert make.names(record.traces) == ["a", "b"]
    [reject] = record.rejects
    assert (reject.signal, reject.spans) == ("traces", 2)
    assert reject.request_hash == hashlib.sha256(body).digest()
    assert reject.sample == bad.SerializeToString()


def test_a_request_of_bad_spans_only_leaves_a_record_of_rejects_only(log: WriteAheadLog) -> None:
    receipt = Intake(log).traces(make.traces(make.span(span_id=b"")).SerializeToString())
    assert (receipt.spans, receipt.rejected_spans) == (0, 1)
    assert last(log).traces is None
    assert len(last(log).rejects) == 1


def test_json_is_stored_as_protobuf_and_its_faults_are_told_with_those_of_its_ids(log: WriteAheadLog) -> None:
    body = b"""{"resourceSpans": [{"scopeSpans": [{"spans": [
        {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "good"},
        {"traceId": "5b8e", "spanId": "eee19b7ec3c1b174"},
        {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": 7}]}]}]}"""
    receipt = Intake(log).traces(body, format="json")
    assert (receipt.spans, receipt.rejected_spans) == (1, 2)
    assert make.names(last(log).traces) == ["good"]
    assert {reject.reason for reject in last(log).rejects} == {
        "trace id has 2 bytes, not 16",
        "span cannot be read: name: a number instead of a string",
    }


@pytest.mark.parametrize("format", ["protobuf", "json"])
def test_an_unreadable_request_is_refused_and_on_record(log: WriteAheadLog, format: str) -> None:
    intake = Intake(log)
    with pytest.raises(BadRequest):
        intake.traces(b"\xff\xffnonsense", format="json" if format == "json" else "protobuf")
    [reject] = last(log).rejects
    assert (reject.signal, reject.spans, reject.sample) == ("traces", 0, b"\xff\xffnonsense")
    assert (last(log).traces, last(log).logs) == (None, None)
    counters = intake.counters
    assert (counters.requests, counters.requests_refused, counters.requests_undecodable) == (1, 1, 1)


def test_too_large_and_no_room_are_refused_and_counted(log: WriteAheadLog) -> None:
    intake = Intake(log, Limits(request_bytes=150_000))
    with pytest.raises(PayloadTooLarge) as refused:
        intake.traces(bytes(150_001))
    assert refused.value.limit_bytes == 150_000
    big = make.traces(make.span("x" * 120_000)).SerializeToString()
    assert intake.traces(big).spans == 1
    with pytest.raises(LogFull):
        intake.traces(big)
    counters = intake.counters
    assert (counters.requests, counters.requests_refused) == (3, 2)
    assert (counters.spans_received, counters.spans_acknowledged, counters.spans_refused) == (2, 1, 1)


def test_an_unreadable_request_stays_unreadable_when_the_log_is_full(tmp_path: Path) -> None:
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0, limit_bytes=0)
    intake = Intake(log)
    with pytest.raises(BadRequest):
        intake.traces(b"\xff")
    assert (intake.counters.requests_undecodable, log.durable_sequence) == (1, 0)
    log.close()


@pytest.mark.parametrize("name", sorted(manifest()))
def test_recorded_requests_are_taken_whole_and_stored_byte_for_byte(tmp_path: Path, name: str) -> None:
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0)
    intake = Intake(log)
    recording = load_recording(name)
    for body in recording.traces:
        receipt = intake.traces(body)
        assert (receipt.spans, receipt.rejected_spans) == (len(make.names(body)), 0)
    for body in recording.logs:
        assert intake.logs(body).rejected_spans == 0
    stored: list[Record] = []
    while chunk := log.read(len(stored), max_bytes=1 << 20):
        stored += [decode(chunk.data[frame.body : frame.end]) for frame in chunk.frames()]
    assert [record.traces for record in stored if record.logs is None] == list(recording.traces)
    assert [record.logs for record in stored if record.traces is None] == list(recording.logs)
    log.close()


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_whatever_break_the_intake(tmp_path_factory: pytest.TempPathFactory, body: bytes) -> None:
    log = WriteAheadLog.open(tmp_path_factory.mktemp("log"), low_water_bytes=0)
    intake = Intake(log)
    for take in (intake.traces, intake.logs):
        for format in ("protobuf", "json"):
            try:
                take(body, format="json" if format == "json" else "protobuf")
            except BadRequest:
                pass
    counters = intake.counters
    assert counters.requests == 4
    assert counters.spans_received == counters.spans_acknowledged + counters.spans_rejected
    log.close()
