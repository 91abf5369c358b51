"""Whole OTLP requests through the intake: nothing planted reaches the disk, everything else is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import otlp_requests as make
import pytest
from fix_recordings import load_recording, manifest
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, SeverityNumber
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from redaction_secrets import PLANTED

from retrospan.ingest.log.record import Record, decode
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.receive.intake import Intake
from retrospan.ingest.redact.redactor import Redactor
from retrospan.schemas.errors import BadRequest
from retrospan.schemas.redaction.rules import Rules
from retrospan.schemas.wire import delimited

MARK = "retrospan.redacted"
SECRET = "hunter2correcthorse"
# A key that a pattern finds wherever it stands.
KEY = "sk-" + "planted" * 4
REDACTOR = Redactor(Rules.builtin())


class Store:
    """An intake over a log on disk."""

    def __init__(self, directory: Path, redactor: Redactor | None) -> None:
        self.directory = directory
        self.log = WriteAheadLog.open(directory, low_water_bytes=0)
        self.intake = Intake(self.log, redactor=redactor)

    def last(self) -> Record:
        chunk = self.log.read(self.log.durable_sequence - 1, max_bytes=1 << 26)
        assert chunk is not None
        [frame] = chunk.frames()
        return decode(chunk.data[frame.body : frame.end])

    def spans(self, body: bytes) -> list[Span]:
        """Send it; return the spans as they were stored."""
        self.intake.traces(body)
        request = ExportTraceServiceRequest.FromString(self.last().traces or b"")
        return [
            span for group in request.resource_spans for scope in group.scope_spans for span in scope.spans
        ]

    def holds(self, text: str) -> bool:
        """Whether the bytes on disk hold a text."""
        files = [file for file in self.directory.rglob("*") if file.is_file()]
        assert files
        return any(text.encode() in file.read_bytes() for file in files)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "log", REDACTOR)
    yield made
    made.log.close()


def text_value(text: str) -> AnyValue:
    return AnyValue(string_value=text)


def listed(message: Span | LogRecord) -> list[tuple[str, str]]:
    [found] = [each.value.string_value for each in message.attributes if each.key == MARK]
    return [(entry["path"], entry["rule"]) for entry in json.loads(found)]


def values(message: Span | LogRecord) -> dict[str, AnyValue]:
    return {each.key: each.value for each in message.attributes}


def planted_span(text: str) -> Span:
    """The text everywhere that a span has room for it."""
    span = make.span(name=f"chat {text}")
    span.trace_state = f"vendor={text}"
    span.status.message = f"failed: {text}"
    span.attributes.add(key="plain").value.string_value = text
    span.attributes.add(key=text).value.int_value = 3
    span.attributes.add(key="json").value.string_value = json.dumps({"a": [{"b": f"\n{text}"}]})
    span.attributes.add(key="twice").value.string_value = json.dumps({"a": json.dumps({"b": f"\n{text}"})})
    span.attributes.add(key="bytes").value.bytes_value = text.encode()
    span.attributes.add(key="list").value.array_value.values.append(text_value(text))
    inner = span.attributes.add(key="map").value.kvlist_value.values.add(key="k")
    inner.value.array_value.values.append(
        AnyValue(kvlist_value=KeyValueList(values=[KeyValue(key=text, value=text_value(text))]))
    )
    event = span.events.add(name=f"event {text}", time_unix_nano=5)
    event.attributes.add(key="exception.stacktrace").value.string_value = f"Traceback …\n  ValueError: {text}"
    link = span.links.add(trace_id=bytes([7]) * 16, span_id=bytes([7]) * 8, trace_state=text)
    link.attributes.add(key="note").value.string_value = text
    return span  # fmt: skip


def planted_request(span: Span, text: str) -> ExportTraceServiceRequest:
    request = make.traces(span)
    group = request.resource_spans[0]
    group.schema_url = f"https://example.org/{text}"
    group.resource.attributes.add(key="process.command_line").value.string_value = f"agent --key {text}"
    scope = group.scope_spans[0]
    scope.schema_url = f"https://example.org/{text}"
    scope.scope.name = f"scope {text}"
    scope.scope.version = text
    scope.scope.attributes.add(key="s").value.string_value = text
    return request


@pytest.mark.parametrize(
    ("rule", "text", "secret"), PLANTED, ids=[f"{rule}-{text[:9]}" for rule, text, _ in PLANTED]
)
@pytest.mark.requirement("R47")
def test_no_planted_secret_of_a_span_is_on_disk(store: Store, rule: str, text: str, secret: str) -> None:
    body = planted_request(planted_span(text), text).SerializeToString()
    [span] = store.spans(body)
    assert not store.holds(secret)
    assert {found for _, found in listed(span)} >= {rule}
    assert len(span.trace_id) == 16
    assert (span.start_time_unix_nano, span.events[0].time_unix_nano) == (1_790_000_000_000_000_000, 5)
    assert span.links[0].trace_id == bytes([7]) * 16
    counters = store.intake.counters
    assert (counters.spans_acknowledged, counters.spans_redacted, counters.spans_withheld) == (1, 1, 0)
    assert counters.values_redacted >= 15


def test_the_places_are_listed(store: Store) -> None:
    [span] = store.spans(planted_request(planted_span(KEY), KEY).SerializeToString())
    key = "[redacted:api-key]"
    assert sorted(listed(span)) == sorted(
        (path, "api-key")
        for path in (
            "trace_state", "name", "status.message", "attributes.plain", f"attributes.{key}", "attributes.json.a.b",
            "attributes.twice.a.b", "attributes.bytes", "attributes.list[0]", f"attributes.map.k[0].{key}",
            "events[0].name", "events[0].attributes.exception.stacktrace", "links[0].trace_state",
            "links[0].attributes.note",
        )
    )  # fmt: skip
    found = values(span)
    assert found["plain"].string_value == key
    assert found[key].int_value == 3
    assert json.loads(found["json"].string_value) == {"a": [{"b": f"\n{key}"}]}
    assert found["gen_ai.operation.name"].string_value == "chat"


def test_resource_and_scope_list_their_own(store: Store) -> None:
    store.intake.traces(planted_request(make.span(), KEY).SerializeToString())
    [group] = ExportTraceServiceRequest.FromString(store.last().traces or b"").resource_spans
    resource = {each.key: each.value.string_value for each in group.resource.attributes}
    assert json.loads(resource[MARK]) == [{"path": "attributes.process.command_line", "rule": "api-key"}]
    assert resource["service.name"] == "tests"
    scope = group.scope_spans[0].scope
    [mark] = [each.value.string_value for each in scope.attributes if each.key == MARK]
    assert {entry["path"] for entry in json.loads(mark)} == {"name", "version", "attributes.s"}
    [span] = group.scope_spans[0].spans
    assert MARK not in values(span)


@pytest.mark.parametrize(
    "value",
    [
        text_value(SECRET),
        AnyValue(int_value=739_105_551),
        AnyValue(bytes_value=SECRET.encode()),
        AnyValue(kvlist_value=KeyValueList(values=[KeyValue(key="deep", value=text_value(SECRET))])),
    ],
)
def test_a_value_under_a_named_key_goes_whole(store: Store, value: AnyValue) -> None:
    span = make.span()
    span.attributes.add(key="http.request.header.Authorization").value.CopyFrom(value)
    inner = span.attributes.add(key="map").value.kvlist_value.values.add(key="client-secret")
    inner.value.CopyFrom(value)
    span.attributes.add(key="body").value.string_value = json.dumps({"user": {"password": SECRET, "n": 1.0}})
    [stored] = store.spans(make.traces(span).SerializeToString())
    found = values(stored)
    assert found["http.request.header.Authorization"].string_value == "[redacted:credential]"
    assert found["map"].kvlist_value.values[0].value.string_value == "[redacted:credential]"
    assert found["body"].string_value == '{"user": {"password": "[redacted:credential]", "n": 1.0}}'
    assert set(listed(stored)) == {
        (path, "credential")
        for path in ("attributes.http.request.header.Authorization", "attributes.map.client-secret", "attributes.body.user.password")
    }  # fmt: skip
    assert not store.holds(SECRET)


@pytest.mark.requirement("R47")
def test_logs_and_their_bodies(store: Store) -> None:
    records = [
        LogRecord(body=text_value(f"said {KEY}"), severity_text=KEY, event_name=KEY, time_unix_nano=9),
        LogRecord(body=text_value(json.dumps({"password": SECRET}))),
        LogRecord(body=AnyValue(kvlist_value=KeyValueList(values=[KeyValue(key="password", value=text_value(SECRET))]))),
        LogRecord(body=text_value("nothing")),
    ]  # fmt: skip
    records[0].attributes.add(key="k").value.string_value = KEY
    store.intake.logs(make.logs(*records).SerializeToString())
    request = ExportLogsServiceRequest.FromString(store.last().logs or b"")
    stored = list(request.resource_logs[0].scope_logs[0].log_records)
    assert {path for path, _ in listed(stored[0])} == {"body", "severity_text", "event_name", "attributes.k"}
    assert listed(stored[1]) == [("body.password", "credential")] == listed(stored[2])
    assert stored[3] == records[3]
    assert not store.holds(KEY)
    assert not store.holds(SECRET)
    counters = store.intake.counters
    assert (counters.log_records_redacted, counters.log_records_withheld) == (3, 0)


@pytest.mark.requirement("R47")
def test_json_requests_are_searched_too(store: Store) -> None:
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{
        "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": KEY,
        "attributes": [{"key": "password", "value": {"stringValue": SECRET}}],
    }]}]}]})  # fmt: skip
    store.intake.traces(body.encode(), format="json")
    assert store.last().traces
    assert not store.holds(KEY)
    assert not store.holds(SECRET)


@pytest.mark.requirement("R47")
def test_rejects_carry_no_sample(store: Store) -> None:
    bad = make.span(KEY, trace_id=b"short")
    body = make.traces(make.span(), bad).SerializeToString()
    store.intake.traces(body)
    [reject] = store.last().rejects
    assert (reject.spans, reject.sample, reject.request_hash) == (1, b"", hashlib.sha256(body).digest())
    for broken in (b"\xff" + KEY.encode(), b'{"' + KEY.encode()):
        with pytest.raises(BadRequest):
            store.intake.traces(broken, format="json" if broken.startswith(b"{") else "protobuf")
        assert store.last().rejects[0].sample == b""
    assert not store.holds(KEY)


def test_fields_of_later_releases_go_when_something_is_in_them(store: Store) -> None:
    def unknown(text: str) -> bytes:
        return bytes([0xA2, 0x06, len(text)]) + text.encode()  # field 100

    span = make.raw_span(b"chat") + unknown("harmless") + unknown(KEY)
    store.intake.traces(make.with_raw_span(make.traces(), span))
    assert not store.holds(KEY)
    assert store.holds("harmless")
    store.intake.traces(make.traces(make.span()).SerializeToString() + unknown(KEY))
    assert not store.holds(KEY)


def test_what_a_sender_redacted_stays_listed(store: Store) -> None:
    span = make.span(KEY)
    earlier = {"path": "attributes.mine", "rule": "own"}
    span.attributes.add(key=MARK).value.string_value = json.dumps([earlier, {"path": 3}, "junk"])
    [stored] = store.spans(make.traces(span).SerializeToString())
    assert listed(stored) == [("attributes.mine", "own"), ("name", "api-key")]


def nested_value() -> bytes:
    value = delimited(1, KEY.encode())
    for _ in range(400):
        value = delimited(5, delimited(1, value))
    return value


def nested_json() -> str:
    text = json.dumps({"a": f"\n{KEY}"})
    for _ in range(12):
        text = json.dumps({"a": text})
    return text


@pytest.mark.parametrize(
    "attribute",
    [
        make.raw_attribute(b"deep", nested_value()),
        make.raw_attribute(b"json", AnyValue(string_value=nested_json()).SerializeToString()),
        make.raw_attribute(b"open", AnyValue(string_value='{"a":' * 300 + f'"\\n{KEY}"').SerializeToString()),
    ],
    ids=["nested values", "json in json", "open brackets"],
)
@pytest.mark.requirement("R46")
def test_what_cannot_be_searched_to_the_end_is_withheld_and_the_span_kept(
    store: Store, attribute: bytes
) -> None:
    raw = make.raw_span(f"chat {KEY}".encode(), [attribute]) + b"\x7a\x02\x18\x02"  # status: error
    whole = make.with_raw_span(make.traces(make.span("sibling")), raw)
    sibling, span = store.spans(whole)
    assert sibling.name == "sibling"
    assert span.name == "[withheld]"
    assert span.trace_id in raw
    assert span.status.code == 2
    assert listed(span) == [("*", "withheld")]
    assert not store.holds(KEY)
    counters = store.intake.counters
    assert (counters.spans_acknowledged, counters.spans_redacted, counters.spans_withheld) == (2, 0, 1)


def test_a_log_record_a_resource_and_a_scope_can_be_withheld(store: Store) -> None:
    request = make.logs(
        LogRecord(
            body=text_value(nested_json()),
            time_unix_nano=4,
            severity_number=SeverityNumber.SEVERITY_NUMBER_INFO,
        )
    )
    request.resource_logs[0].resource.attributes.add(key="r").value.string_value = nested_json()
    request.resource_logs[0].scope_logs[0].scope.name = nested_json()
    store.intake.logs(request.SerializeToString())
    [group] = ExportLogsServiceRequest.FromString(store.last().logs or b"").resource_logs
    withheld = [{"path": "*", "rule": "withheld"}]
    for owner in (group.resource, group.scope_logs[0].scope, group.scope_logs[0].log_records[0]):
        [mark] = owner.attributes
        assert json.loads(mark.value.string_value) == withheld
    [record] = group.scope_logs[0].log_records
    assert (record.time_unix_nano, record.severity_number, record.HasField("body")) == (4, 9, False)
    assert not store.holds(KEY)
    assert store.intake.counters.log_records_withheld == 1


def test_text_that_is_not_unicode_keeps_its_bytes_around_a_secret(store: Store) -> None:
    value = b"\xff\xfe " + KEY.encode() + b" \xc3"
    raw = make.raw_span(b"chat", [make.raw_attribute(b"k", b"\x0a" + bytes([len(value)]) + value)])
    store.intake.traces(make.with_raw_span(make.traces(), raw))
    assert b"\xff\xfe [redacted:api-key] \xc3" in (store.last().traces or b"")


@pytest.mark.parametrize("redactor", [REDACTOR, None], ids=["on", "off"])
def test_what_matches_nothing_keeps_its_exact_bytes(tmp_path: Path, redactor: Redactor | None) -> None:
    store = Store(tmp_path / "log", redactor)
    body = make.traces(make.span(), make.span("task-with a name")).SerializeToString() + b"\xfa\x3e\x03new"
    store.intake.traces(body)
    assert store.last().traces == body
    assert store.intake.counters.values_redacted == 0
    store.log.close()


@pytest.mark.parametrize("name", sorted(manifest()))
def test_recorded_agents_keep_every_span_and_all_that_is_not_a_secret(store: Store, name: str) -> None:
    """Where redaction changes a recorded span at all, it says so and leaves the rest of it alone."""
    for body in load_recording(name).traces:
        before = _spans(body)
        after = store.spans(body)
        assert [span.span_id for span in after] == [span.span_id for span in before]
        for old, new in zip(before, after, strict=True):
            if MARK not in values(new):
                assert old == new
            else:
                assert listed(new)
                paths = {path.split("[")[0].split(".")[0] for path, _ in listed(new)}
                for field in ("name", "events", "links"):
                    if field not in paths:
                        assert getattr(old, field) == getattr(new, field)


def _spans(body: bytes) -> list[Span]:
    request = ExportTraceServiceRequest.FromString(body)
    return [span for group in request.resource_spans for scope in group.scope_spans for span in scope.spans]


def test_messages_of_the_walk_are_those_of_otlp() -> None:
    """A text field that OTLP has and the walk does not know would be treated as unknown: dropped rather than kept."""
    from opentelemetry.proto.common.v1.common_pb2 import EntityRef, InstrumentationScope
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import Status

    from retrospan.schemas.redaction import messages as shapes

    pairs: list[tuple[type[Message], shapes.Message]] = [
        (Span, shapes.SPAN), (Span.Event, shapes.EVENT), (Span.Link, shapes.LINK), (Status, shapes.STATUS),
        (LogRecord, shapes.LOG), (Resource, shapes.RESOURCE), (InstrumentationScope, shapes.SCOPE), (EntityRef, shapes.ENTITY),
    ]  # fmt: skip
    for official, shape in pairs:
        for field in official.DESCRIPTOR.fields:
            if field.type == field.TYPE_STRING:
                assert shape.text[field.number] == field.name
            elif field.type == field.TYPE_BYTES:
                assert field.number in shape.plain
            elif field.type == field.TYPE_MESSAGE and field.name == "attributes":
                assert shape.attributes == field.number
            elif field.type == field.TYPE_MESSAGE:
                assert field.number in shape.parts or shape.value == (field.number, field.name)
