"""What was sent comes back as it was: requests through landing into the raw tables, and out through reading."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from otlp_strategies import attribute_lists, octets, values
from otlp_values import Attribute, Event, Link, Log, Origin, Span, Value, request, text, typed

from retrospan.ingest.load.attributes import value_of
from retrospan.ingest.load.batches import token_of
from retrospan.ingest.load.landing import insert_records
from retrospan.ingest.load.raw_row_reader import read_logs, read_spans
from retrospan.ingest.log.record import Reject, encode
from retrospan.ingest.otlp.raw_rows import logs_request, traces_request
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas.migrate import shipped
from retrospan.schemas.raw import RawLog, RawSpan, Triple

ARRIVED = 1_790_000_000_123_456_789
SEQUENCES = itertools.count(1)

uint32 = st.integers(0, 2**32 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
uint64 = st.integers(0, 2**64 - 1)
ids = st.binary(max_size=40)
events = st.builds(Event, time_ns=uint64, name=octets, attributes=attribute_lists, dropped=uint32)
links = st.builds(
    Link,
    trace_id=ids,
    span_id=ids,
    trace_state=octets,
    flags=uint32,
    attributes=attribute_lists,
    dropped=uint32,
)
spans = st.builds(
    Span,
    trace_id=st.just(b""),
    span_id=st.just(b""),
    parent_span_id=ids,
    trace_state=octets,
    flags=uint32,
    name=octets,
    kind=int32,
    started_ns=uint64,
    ended_ns=uint64,
    status_code=int32,
    status_message=octets,
    attributes=attribute_lists,
    dropped_attributes=uint32,
    events=st.lists(events, max_size=3),
    dropped_events=uint32,
    links=st.lists(links, max_size=3),
    dropped_links=uint32,
)
logs = st.builds(
    Log,
    trace_id=st.just(b""),
    span_id=ids,
    time_ns=uint64,
    observed_ns=uint64,
    severity_number=int32,
    severity_text=octets,
    event_name=octets,
    body=values,
    attributes=attribute_lists,
    dropped_attributes=uint32,
    flags=uint32,
)
origins = st.builds(
    Origin,
    resource_attributes=attribute_lists,
    resource_dropped=uint32,
    resource_schema_url=octets,
    scope_name=octets,
    scope_version=octets,
    scope_attributes=attribute_lists,
    scope_dropped=uint32,
    scope_schema_url=octets,
)
engine_settings = settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def insert(
    store: EmbeddedStore,
    traces: bytes | None = None,
    logs: bytes | None = None,
    rejects: Sequence[Reject] = (),
) -> int:
    sequence = next(SEQUENCES)
    parts, _ = encode(
        arrived_at=ARRIVED + sequence,
        sequence=sequence,
        tenant="default",
        traces=traces,
        logs=logs,
        rejects=rejects,
    )
    data = b"".join(parts)
    insert_records(store, data, token_of(1, data))
    return sequence


def arrivals(store: EmbeddedStore, trace_id: bytes) -> list[int]:
    """The records of a trace, in order."""
    rows = store.rows(
        "SELECT sequence FROM arrivals WHERE trace_id = {trace_id:String} ORDER BY sequence",
        {"trace_id": trace_id.hex()},
    )
    return [int(str(sequence)) for (sequence,) in rows]


def read_back(triples: list[Triple]) -> list[tuple[str, object]]:
    return [(key, typed(value_of(kind, value))) for key, kind, value in triples]


def sent(attributes: list[Attribute]) -> list[tuple[str, object]]:
    return [(text(key), value.plain()) for key, value in attributes]


def check_origin(row: RawSpan | RawLog, origin: Origin) -> None:
    assert read_back(row.resource_attributes) == sent(origin.resource_attributes)
    assert row.resource_dropped == origin.resource_dropped
    assert row.resource_schema_url == text(origin.resource_schema_url)
    assert (row.scope_name, row.scope_version) == (text(origin.scope_name), text(origin.scope_version))
    assert read_back(row.scope_attributes) == sent(origin.scope_attributes)
    assert row.scope_dropped == origin.scope_dropped
    assert row.scope_schema_url == text(origin.scope_schema_url)


def check_span(row: RawSpan, span: Span) -> None:
    assert row.parent_span_id == span.parent_span_id.hex()
    assert (row.trace_state, row.flags) == (text(span.trace_state), span.flags)
    assert (row.name, row.kind) == (text(span.name), span.kind)
    assert (row.started_ns, row.ended_ns) == (span.started_ns, span.ended_ns)
    assert (row.status_code, row.status_message) == (span.status_code, text(span.status_message))
    assert read_back(row.attributes) == sent(span.attributes)
    assert [(at, name, read_back(attributes), dropped) for at, name, attributes, dropped in row.events] == [
        (event.time_ns, text(event.name), sent(event.attributes), event.dropped) for event in span.events
    ]
    assert [(*link[:4], read_back(link[4]), link[5]) for link in row.links] == [
        (
            link.trace_id.hex(),
            link.span_id.hex(),
            text(link.trace_state),
            link.flags,
            sent(link.attributes),
            link.dropped,
        )
        for link in span.links
    ]
    assert (row.dropped_attributes, row.dropped_events, row.dropped_links) == (
        span.dropped_attributes,
        span.dropped_events,
        span.dropped_links,
    )


def test_spans_are_read_the_same_by_whichever_table_they_come_in() -> None:
    """What each view selects, and from what."""
    selected = {
        name: statement.partition(" TO raw_spans AS\n")[2]
        for _, name, statement in shipped()
        if "MATERIALIZED VIEW IF NOT EXISTS raw_spans_from_" in statement
    }
    assert [*selected] == [
        "0013_create_raw_spans_from_landing_view",
        "0311_create_raw_spans_from_landing_spans_view",
    ]
    beside, alone = selected.values()
    assert beside.count("FROM landing\n") == alone.count("FROM landing_spans\n") == 1
    assert beside.replace("FROM landing\n", "FROM landing_spans\n") == alone


@pytest.mark.long
@engine_settings
@given(origin=origins, members=st.lists(spans, min_size=1, max_size=4), lengths=st.tuples(ids, ids))
def test_spans_come_back_as_sent(
    store: EmbeddedStore, origin: Origin, members: list[Span], lengths: tuple[bytes, bytes]
) -> None:
    trace_id = next(SEQUENCES).to_bytes(8, "big") + lengths[0]
    named = [
        Span(**{**vars(span), "trace_id": trace_id, "span_id": bytes([position]) + lengths[1]})
        for position, span in enumerate(members)
    ]
    sequence = insert(store, traces=request(origin, named))
    rows = read_spans(store, "default", [trace_id.hex()])
    assert [(row.trace_id, row.span_id) for row in rows] == [
        (s.trace_id.hex(), s.span_id.hex()) for s in named
    ]
    for row, span in zip(rows, named, strict=True):
        assert (row.tenant, row.sequence, row.arrived_at) == ("default", sequence, ARRIVED + sequence)
        check_origin(row, origin)
        check_span(row, span)
    # Sent again as it was read, it is the same content: nothing was lost on the way out. Beside a reject it comes in by
    # the other table, whose view of spans is another one.
    again = insert(
        store, traces=traces_request(rows), rejects=[Reject(signal="traces", spans=1, reason="no id")]
    )
    assert arrivals(store, trace_id) == [sequence, again]
    assert [(row.content_hash, row.sequence) for row in read_spans(store, "default", [trace_id.hex()])] == [
        (row.content_hash, again) for row in rows
    ]


@pytest.mark.long
@engine_settings
@given(origin=origins, log=logs)
def test_log_records_come_back_as_sent(store: EmbeddedStore, origin: Origin, log: Log) -> None:
    trace_id = next(SEQUENCES).to_bytes(16, "big")
    log = Log(**{**vars(log), "trace_id": trace_id})
    insert(store, logs=request(origin, [log]))
    (row,) = read_logs(store, "default", [trace_id.hex()])
    check_origin(row, origin)
    assert (row.span_id, row.flags) == (log.span_id.hex(), log.flags)
    assert (row.time_ns, row.observed_ns) == (log.time_ns, log.observed_ns)
    assert (row.severity_number, row.severity_text) == (log.severity_number, text(log.severity_text))
    assert row.event_name == text(log.event_name)
    assert typed(value_of(*row.body)) == log.body.plain()
    assert read_back(row.attributes) == sent(log.attributes)
    assert row.dropped_attributes == log.dropped_attributes
    again = insert(store, logs=logs_request([row]))
    (read,) = read_logs(store, "default", [trace_id.hex()])
    assert (read.content_hash, read.sequence) == (row.content_hash, again)


def one_span(store: EmbeddedStore, *attributes: Attribute) -> RawSpan:
    trace_id = next(SEQUENCES).to_bytes(16, "big")
    insert(
        store,
        traces=request(Origin(), [Span(trace_id=trace_id, span_id=b"s" * 8, attributes=list(attributes))]),
    )
    (row,) = read_spans(store, "default", [trace_id.hex()])
    return row


def test_kinds_and_texts_are_those_of_the_description(store: EmbeddedStore) -> None:
    array: Callable[..., Value] = lambda *elements: Value("array", list(elements))
    row = one_span(
        store,
        (b"dotted.key", Value("string", b"\x00 line\n\ttab \xff end")),
        (b"twice", Value("int", 1)),
        (b"twice", Value("int", 2)),
        (b"", Value("double", 1.0)),
        (b"n", Value("double", float("nan"))),
        (b"y", Value("bytes", b"\xff")),
        (b"u", Value("unset")),
        (
            b"a",
            array(
                Value("double", 1.0),
                Value("int", 2**63 - 1),
                Value("string", b'q"\x01/\xc3\xa9'),
                Value("unset"),
            ),
        ),
        (b"k", Value("kvlist", [(b"a.b", Value("int", 1)), (b"a.b", Value("bool", True))])),
        (b"s", array(Value("bytes", b"\xff"), Value("double", float("-inf")), array(Value("int", 3)))),
        (b"t", Value("kvlist", [(b"in", Value("kvlist", [])), (b"x", Value("string", b"y"))])),
    )
    assert row.attributes == [
        ("dotted.key", "string", "\x00 line\n\ttab \udcff end"),
        ("twice", "int", "1"),
        ("twice", "int", "2"),
        ("", "double", "1"),
        ("n", "double", "nan"),
        ("y", "bytes", "/w=="),
        ("u", "unset", ""),
        ("a", "array", '[1.0,9223372036854775807,"q\\"\\u0001/é",null]'),
        ("k", "kvlist", '{"a.b":1,"a.b":true}'),
        ("s", "array*", '[["y","/w=="],["d","-inf"],["A","CgIYAw=="]]'),
        ("t", "kvlist*", '[["in","M",""],["x","s","y"]]'),
    ]
    assert json.loads(row.attributes[7][2])[0] == 1.0


def test_depth_is_not_a_limit(store: EmbeddedStore) -> None:
    depth = 3000
    value = Value("string", b"bottom")
    for level in range(depth):
        value = Value("array", [value]) if level % 2 else Value("kvlist", [(b"k", value)])
    row = one_span(store, (b"deep", value))
    assert value.encoded() in traces_request([row])
    _, kind, found_text = row.attributes[0]
    found = value_of(kind, found_text)
    for _ in range(depth):
        assert isinstance(found, list | dict)
        found = found[0] if isinstance(found, list) else found["k"]
    assert found == "bottom"


def test_the_same_again_is_one_row_and_another_content_is_a_variant(store: EmbeddedStore) -> None:
    trace_id = b"v" * 16
    first = Span(trace_id=trace_id, span_id=b"s" * 8, name=b"first", started_ns=5)
    second = Span(trace_id=trace_id, span_id=b"s" * 8, name=b"second", started_ns=5)
    insert(store, traces=request(Origin(), [second]))
    insert(store, traces=request(Origin(), [first, first]))
    last = insert(store, traces=request(Origin(), [second]))
    rows = read_spans(store, "default", [trace_id.hex()])
    assert [row.name for row in rows] == ["first", "second"]
    assert rows[-1].sequence == last
    # The same span under another resource is another content.
    insert(store, traces=request(Origin(resource_dropped=1), [first]))
    assert len(read_spans(store, "default", [trace_id.hex()])) == 3


def test_records_of_different_days_merge_too(store: EmbeddedStore) -> None:
    trace_id = b"d" * 16
    body = request(Origin(), [Span(trace_id=trace_id, span_id=b"s" * 8)])
    for day in range(3):
        parts, _ = encode(
            arrived_at=ARRIVED + day * 86_400 * 10**9, sequence=day + 1, tenant="default", traces=body
        )
        data = b"".join(parts)
        insert_records(store, data, token_of(1, data))
    (row,) = read_spans(store, "default", [trace_id.hex()])
    assert row.sequence == 3


@pytest.mark.long
def test_one_insert_may_hold_any_number_of_days(store: EmbeddedStore) -> None:
    data = b""
    for day in range(150):
        body = request(Origin(), [Span(trace_id=b"p" * 16, span_id=day.to_bytes(8, "big"))])
        parts, _ = encode(
            arrived_at=ARRIVED + day * 86_400 * 10**9, sequence=day + 1, tenant="default", traces=body
        )
        data += b"".join(parts)
    insert_records(store, data, token_of(1, data))
    assert len(read_spans(store, "default", [(b"p" * 16).hex()])) == 150


def test_arrivals_name_the_traces_of_each_record(store: EmbeddedStore) -> None:
    span = Span(trace_id=b"a" * 16, span_id=b"s" * 8)
    inside, outside = Log(trace_id=b"b" * 16), Log()
    parts, _ = encode(
        arrived_at=ARRIVED,
        sequence=7,
        tenant="default",
        traces=request(Origin(), [span, span]),
        logs=request(Origin(), [inside, outside]),
    )
    insert_records(store, b"".join(parts), "arrivals")
    found = store.rows(
        "SELECT tenant, trace_id, sequence, toUnixTimestamp64Nano(arrived_at) FROM arrivals FINAL ORDER BY trace_id"
    )
    assert found == [["default", (b"a" * 16).hex(), 7, ARRIVED], ["default", (b"b" * 16).hex(), 7, ARRIVED]]
    assert len(read_logs(store, "default", [""])) == 1
