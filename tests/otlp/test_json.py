"""OTLP/JSON says the same as OTLP/protobuf."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping

import otlp_requests as make
import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from retrospan.ingest.otlp.json import logs_from_json, traces_from_json
from retrospan.schemas.errors import BadRequest

TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"
_IDS = {"traceId", "spanId", "parentSpanId"}


def as_otlp_json(message: object) -> object:
    """Protobuf's JSON with OTLP's ids: hex instead of base64."""
    if isinstance(message, dict):
        return {
            key: base64.b64decode(value).hex() if key in _IDS else as_otlp_json(value)
            for key, value in message.items()
        }
    return [as_otlp_json(each) for each in message] if isinstance(message, list) else message


def request_of(*spans: Mapping[str, object]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}).encode()


def span_of(**fields: object) -> dict[str, object]:
    return {"traceId": TRACE, "spanId": SPAN, **fields}


def one(body: bytes) -> Span:
    converted = traces_from_json(body)
    assert converted.faults.total == 0
    return ExportTraceServiceRequest.FromString(converted.body).resource_spans[0].scope_spans[0].spans[0]


texts = st.text(st.characters(codec="utf-8"), max_size=8)
scalars = st.one_of(
    st.builds(AnyValue),
    st.builds(AnyValue, string_value=texts),
    st.builds(AnyValue, bool_value=st.booleans()),
    st.builds(AnyValue, int_value=st.integers(-(2**63), 2**63 - 1)),
    st.builds(AnyValue, double_value=st.floats(allow_nan=False)),
    st.builds(AnyValue, bytes_value=st.binary(max_size=8)),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.builds(AnyValue, array_value=st.builds(ArrayValue, values=st.lists(inner, max_size=3))),
        st.builds(
            AnyValue,
            kvlist_value=st.builds(
                KeyValueList, values=st.lists(st.builds(KeyValue, key=texts, value=inner), max_size=3)
            ),
        ),
    ),
    max_leaves=6,
)
attributes = st.lists(st.builds(KeyValue, key=texts, value=values), max_size=3)
moments, counts = st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1)
trace_ids, span_ids = st.binary(min_size=16, max_size=16), st.binary(min_size=8, max_size=8)
spans = st.builds(
    Span,
    trace_id=trace_ids,
    span_id=span_ids,
    parent_span_id=st.one_of(st.just(b""), span_ids),
    trace_state=texts,
    flags=counts,
    name=texts,
    kind=st.sampled_from([0, 1, 2, 3, 4, 5]),
    start_time_unix_nano=moments,
    end_time_unix_nano=moments,
    attributes=attributes,
    dropped_attributes_count=counts,
    events=st.lists(
        st.builds(
            Span.Event,
            time_unix_nano=moments,
            name=texts,
            attributes=attributes,
            dropped_attributes_count=counts,
        ),
        max_size=2,
    ),
    dropped_events_count=counts,
    links=st.lists(
        st.builds(
            Span.Link,
            trace_id=trace_ids,
            span_id=span_ids,
            trace_state=texts,
            attributes=attributes,
            dropped_attributes_count=counts,
            flags=counts,
        ),
        max_size=2,
    ),
    dropped_links_count=counts,
    status=st.builds(Status, code=st.sampled_from([0, 1, 2]), message=texts),
)
records = st.builds(
    LogRecord,
    time_unix_nano=moments,
    observed_time_unix_nano=moments,
    severity_number=st.sampled_from([0, 1, 9, 24]),
    severity_text=texts,
    body=values,
    attributes=attributes,
    dropped_attributes_count=counts,
    flags=counts,
    trace_id=st.one_of(st.just(b""), trace_ids),
    span_id=st.one_of(st.just(b""), span_ids),
    event_name=texts,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(spans, min_size=1, max_size=3), attributes, st.booleans())
def test_traces_in_json_are_the_traces_in_protobuf(
    sent: list[Span], resource: list[KeyValue], numbers: bool
) -> None:
    request = make.traces(*sent)
    request.resource_spans[0].resource.attributes.extend(resource)
    document = as_otlp_json(MessageToDict(request, use_integers_for_enums=True))
    body = json.dumps(_numbers(document) if numbers else document).encode()
    converted = traces_from_json(body)
    assert converted.faults.total == 0
    assert converted.kept == len(sent)
    assert ExportTraceServiceRequest.FromString(converted.body) == request


def _numbers(document: object) -> object:
    """64-bit integers as numbers instead of strings."""
    if isinstance(document, dict):
        return {
            key: int(value) if key == "intValue" or key.endswith("UnixNano") else _numbers(value)
            for key, value in document.items()
        }
    return [_numbers(each) for each in document] if isinstance(document, list) else document


@settings(max_examples=100, deadline=None)
@given(st.lists(records, min_size=1, max_size=3))
def test_logs_in_json_are_the_logs_in_protobuf(sent: list[LogRecord]) -> None:
    request = make.logs(*sent)
    body = json.dumps(as_otlp_json(MessageToDict(request, use_integers_for_enums=True))).encode()
    converted = logs_from_json(body)
    assert (converted.kept, converted.faults.total) == (len(sent), 0)
    assert ExportLogsServiceRequest.FromString(converted.body) == request


def test_ids_are_hex_in_either_case() -> None:
    span = one(request_of({"traceId": TRACE.upper(), "spanId": SPAN.upper()}))
    assert (span.trace_id.hex(), span.span_id.hex()) == (TRACE, SPAN)


def test_unknown_names_and_nulls_are_ignored_and_snake_case_is_unknown() -> None:
    span = one(
        request_of(span_of(name="n", start_time_unix_nano="5", future={"deep": [1]}, status=None, links=None))
    )
    assert (span.name, span.start_time_unix_nano) == ("n", 0)
    assert not span.HasField("status")


def test_numbers_may_be_strings_numbers_or_names() -> None:
    span = one(
        request_of(
            span_of(startTimeUnixNano=5, endTimeUnixNano="6", kind="SPAN_KIND_CLIENT", status={"code": 2}),
        )
    )
    assert (span.start_time_unix_nano, span.end_time_unix_nano, span.kind, span.status.code) == (5, 6, 3, 2)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("NaN", math.nan),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("1.5", 1.5),
        (2, 2.0),
        (-0.0, -0.0),
    ],
)
def test_doubles_come_spelled_too(given: object, expected: float) -> None:
    span = one(request_of(span_of(attributes=[{"key": "k", "value": {"doubleValue": given}}])))
    assert repr(span.attributes[0].value.double_value) == repr(expected)


def test_a_lone_surrogate_is_kept_as_bytes() -> None:
    converted = traces_from_json(b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%s","spanId":"%s",'
                                 b'"name":"a\\ud800b"}]}]}]}' % (TRACE.encode(), SPAN.encode()))  # fmt: skip
    assert converted.kept == 1
    assert b"a\xed\xa0\x80b" in converted.body


def test_bytes_that_are_not_utf8_are_kept_as_they_are() -> None:
    body = request_of(span_of(name="NAME")).replace(b"NAME", b"\xff\xfe")
    converted = traces_from_json(body)
    assert converted.kept == 1
    assert b"\x2a\x02\xff\xfe" in converted.body


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"traceId": "xyz", "spanId": SPAN}, "traceId: an id that is not hexadecimal"),
        ({"traceId": 5, "spanId": SPAN}, "traceId: a number instead of a hexadecimal id"),
        (span_of(name=5), "name: a number instead of a string"),
        (span_of(kind=1.5), "kind: a number instead of an integer"),
        (span_of(startTimeUnixNano=-1), "startTimeUnixNano: a number that is out of range"),
        (span_of(startTimeUnixNano=2**64), "startTimeUnixNano: a number that is out of range"),
        (span_of(startTimeUnixNano=True), "startTimeUnixNano: true or false instead of an integer"),
        (span_of(attributes={"a": 1}), "attributes: an object instead of a list"),
        (
            span_of(attributes=[{"key": "k", "value": {"boolValue": "true"}}]),
            "attributes: value: boolValue: a string instead of true or false",
        ),
        (
            span_of(attributes=[{"key": "k", "value": {"bytesValue": "*"}}]),
            "attributes: value: bytesValue: text that is not base64",
        ),
        (None, "null instead of an object"),
    ],
)
def test_a_span_that_cannot_be_read_is_left_out_alone(bad: dict[str, object], reason: str) -> None:
    converted = traces_from_json(request_of(span_of(name="a"), bad, span_of(name="b")))
    assert make.names(converted.body) == ["a", "b"]
    assert converted.faults.counts == {f"span cannot be read: {reason}": 1}


def test_a_value_nested_too_deeply_costs_its_span_only() -> None:
    value: object = {"stringValue": "x"}
    for _ in range(300):
        value = {"arrayValue": {"values": [value]}}
    deep = span_of(attributes=[{"key": "k", "value": value}])
    try:
        converted = traces_from_json(request_of(span_of(name="a"), deep))
    except BadRequest as refused:
        # Python before 3.12 gives up on such JSON as a whole.
        assert "nested too deeply" in str(refused)
        return
    assert make.names(converted.body)[0] == "a"
    assert converted.kept + converted.faults.total == 2


def test_values_nested_a_hundred_deep_are_read() -> None:
    value: object = {"stringValue": "bottom"}
    for _ in range(100):
        value = {"kvlistValue": {"values": [{"key": "k", "value": value}]}}
    converted = traces_from_json(request_of(span_of(attributes=[{"key": "k", "value": value}])))
    assert converted.kept == 1
    assert b"bottom" in converted.body


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"[]",
        b"5",
        b'{"resourceSpans": {}}',
        b'{"resourceSpans": [5]}',
        b'{"resourceSpans": [{"scopeSpans": "x"}]}',
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"resourceSpans": ' + b"9" * 10_000 + b"}",
        '{"resourceSpans": []}'.encode("utf-16"),
    ],
)
def test_what_is_not_a_request_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(BadRequest):
        traces_from_json(body)


@pytest.mark.parametrize("body", [b"{}", b'{"resourceSpans": []}', b'\xef\xbb\xbf{"resourceSpans": null}'])
def test_an_empty_request_is_empty(body: bytes) -> None:
    converted = traces_from_json(body)
    assert (converted.body, converted.kept, converted.faults.total) == (b"", 0, 0)
    assert converted.warning == ""


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b'{"resourceLogs": []}', "'resourceLogs' nothing"),
        (b'{"resource_spans": [{}], "a": 1, "b": 2, "c": 3}', "'resource_spans', 'a', 'b' nothing"),
        (b'{"' + b"x" * 1000 + b'": null}', f"'{'x' * 60}' nothing"),
    ],
    ids=["the other signal", "snake case", "a long name"],
)
def test_a_request_of_unknown_names_only_is_not_taken_in_silence(body: bytes, named: str) -> None:
    converted = traces_from_json(body)
    assert (converted.body, converted.kept, converted.faults.total) == (b"", 0, 0)
    assert f"no 'resourceSpans', and of {named}" in converted.warning
