"""R19, R21-R27: spans as nobody should send them, through a whole collector: stored or rejected alone, and shown."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import otlp_requests as make
import pytest
from fix_collector import Served
from opentelemetry.proto.trace.v1.trace_pb2 import Span

PROTOBUF, JSON = "application/x-protobuf", "application/json"
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SECOND = 1_000_000_000
NOW = time.time_ns()
YEAR = 365 * 86_400 * SECOND
TEXTS = {
    "nul": b"a\x00b",
    "bidi": "safe\u202egnp.exe".encode(),
    "controls": b"\x1b[31mred\r\n\t",
    "long": b"n" * 1_000_000,
    "broken": b"\xff\xfe caf\xc3",
    "surrogate": b"\xed\xa0\x80",
    "empty": b"",
}
DEPTHS = (31, 32, 47, 48, 1000)
TIMES = {
    "zero": (0, 0),
    "no end": (NOW, 0),
    "backwards": (NOW, NOW - SECOND),
    "year 2262": (9_223_372_036_854_775_807, 9_223_372_036_854_775_807),
    "after int64": (2**63, 2**64 - 1),
    "ten years ago": (NOW - 10 * YEAR, NOW - 10 * YEAR + SECOND),
    "in ten years": (NOW + 10 * YEAR, NOW + 10 * YEAR + SECOND),
}


@dataclass
class Wild:
    """What was sent, and what the views say of it."""

    collector: Served
    names: dict[str, str] = field(default_factory=dict[str, str])

    def span(self, label: str) -> dict[str, Any]:
        """The one row of the span with this label."""
        [row] = self.collector.rows("SELECT * FROM spans WHERE span_id = {id:String}", id=self.names[label])
        return row

    def add(self, label: str, span: Span) -> Span:
        assert label not in self.names
        self.names[label] = span.span_id.hex()
        return span


def raw_field(number: int, content: bytes) -> bytes:
    from retrospan.schemas.wire import delimited

    return delimited(number, content)


def raw(wild: Wild, label: str, name: bytes, rest: bytes = b"") -> bytes:
    """A request of one span as bytes, for what the official classes refuse to write."""
    identity = os.urandom(8)
    wild.names[label] = identity.hex()
    span = raw_field(1, os.urandom(16)) + raw_field(2, identity) + raw_field(5, name) + rest
    return raw_field(1, raw_field(2, raw_field(2, span)))


@pytest.fixture(scope="module")
def wild(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wild]:
    directory = tmp_path_factory.mktemp("wild")
    made = Wild(Served(directory / "data", directory / "stderr.txt"))
    try:
        made.collector.send(traces=list(requests(made)))
        made.collector.wait_idle()
        yield made
    finally:
        made.collector.kill()


def requests(wild: Wild) -> Iterator[bytes]:
    for label, text in TEXTS.items():
        rest = raw_field(9, raw_field(1, b"k" + text[:50]) + raw_field(2, raw_field(1, text)))
        yield raw(wild, label, text, rest)
    for depth in DEPTHS:
        yield raw(wild, f"depth {depth}", b"deep", make.raw_attribute(b"deep", make.nested(depth)))
    yield make.traces(*(wild.add(label, timed(*times)) for label, times in TIMES.items())).SerializeToString()
    yield make.traces(*family(wild)).SerializeToString()
    yield make.traces(wild.add("large", large())).SerializeToString()
    yield make.traces(wild.add("equal keys", equal_keys())).SerializeToString()
    again = wild.add("again", make.span("again"))
    for _ in range(3):
        yield make.traces(again).SerializeToString()
    changed = wild.add("changed", make.span("started"))
    yield make.traces(changed).SerializeToString()
    changed.name = "ended"
    changed.start_time_unix_nano -= SECOND
    yield make.traces(changed).SerializeToString()
    child = wild.add("child", make.span("child"))
    parent = wild.add("parent", make.span("parent", trace_id=child.trace_id))
    child.parent_span_id = parent.span_id
    yield make.traces(child).SerializeToString()
    yield make.traces(parent).SerializeToString()


def timed(start: int, end: int) -> Span:
    span = make.span("timed")
    span.start_time_unix_nano, span.end_time_unix_nano = start, end
    return span


def family(wild: Wild) -> Iterator[Span]:
    """Its own parent, a ring of three, and a parent that never comes."""
    selfish = wild.add("own parent", make.span("own parent"))
    selfish.parent_span_id = selfish.span_id
    yield selfish
    ring = [wild.add(f"ring {place}", make.span("ring", trace_id=bytes([9]) * 16)) for place in range(3)]
    for place, span in enumerate(ring):
        span.parent_span_id = ring[(place + 1) % 3].span_id
    yield from ring
    orphan = wild.add("orphan", make.span("orphan"))
    orphan.parent_span_id = b"12345678"
    yield orphan


def large() -> Span:
    span = make.span("large")
    for number in range(500):
        span.attributes.add(key=f"key.{number}").value.int_value = number
    span.attributes.add(key="ten megabytes").value.string_value = "x" * 10_000_000
    for number in range(100_000):
        span.events.add(name="token", time_unix_nano=number)
    span.dropped_attributes_count, span.dropped_events_count, span.dropped_links_count = 3, 4, 5
    return span


def equal_keys() -> Span:
    span = make.span("equal keys")
    for value in ("first", "last"):
        span.attributes.add(key="twice").value.string_value = value
    return span


@pytest.mark.long
@pytest.mark.parametrize("label", TEXTS)
@pytest.mark.requirement("R22")
def test_text_is_stored_whatever_it_is(wild: Wild, label: str) -> None:
    text = TEXTS[label]
    [row] = wild.collector.rows(
        "SELECT hex(name) AS name, hex(mapValues(attributes)[1]) AS value FROM spans WHERE span_id = {id:String}",
        id=wild.names[label],
    )
    assert bytes.fromhex(row["name"]) == text
    assert bytes.fromhex(row["value"]) == text


@pytest.mark.parametrize(
    "depth",
    [depth if depth == 1000 else pytest.param(depth, marks=pytest.mark.long) for depth in DEPTHS],
)
@pytest.mark.requirement("R21")
def test_depth_is_no_reason_to_lose_a_span(wild: Wild, depth: int) -> None:
    assert wild.span(f"depth {depth}")["name"] == "deep"


@pytest.mark.parametrize("label", TIMES)
@pytest.mark.requirement("R24")
def test_times_are_taken_as_they_come(wild: Wild, label: str) -> None:
    start, end = TIMES[label]
    row = wild.span(label)
    assert row["name"] == "timed"
    assert (row["duration_ms"] is None) == (not start or not end or end < start)
    assert row["skewed"] == (abs(start - NOW) > 86_400 * SECOND)
    # Partitions follow arrival, and everything here arrived today.
    [parts] = wild.collector.rows(
        "SELECT uniqExact(toDate(ingested_at)) AS days FROM spans WHERE name = 'timed'"
    )
    assert parts["days"] <= 2


@pytest.mark.requirement("R23")
def test_rings_and_missing_parents_are_stored_and_asking_about_them_ends(wild: Wild) -> None:
    for label in ("own parent", "ring 0", "ring 1", "ring 2", "orphan"):
        row = wild.span(label)
        assert row["parent_span_id"]
    ring = wild.collector.rows(
        "SELECT span_id FROM spans WHERE trace_id = {id:String}", id=(bytes([9]) * 16).hex()
    )
    assert {row["span_id"] for row in ring} == {wild.names[f"ring {place}"] for place in range(3)}


@pytest.mark.requirement("R25")
def test_a_large_span_is_whole(wild: Wild) -> None:
    [row] = wild.collector.rows(
        "SELECT length(attributes) AS keys, length(attributes['ten megabytes']) AS bytes, dropped, "
        "attributes['key.499'] AS last, JSONLength(events) AS tokens FROM spans WHERE span_id = {id:String}",
        id=wild.names["large"],
    )
    assert row == {"keys": 502, "bytes": 10_000_000, "dropped": 12, "last": "499", "tokens": 100_000}


@pytest.mark.requirement("R25")
def test_of_equal_keys_the_last_is_shown(wild: Wild) -> None:
    assert wild.span("equal keys")["attributes"]["twice"] == "last"


@pytest.mark.requirement("R26")
def test_the_same_again_is_one_row_and_the_newest_content_is_shown(wild: Wild) -> None:
    again, changed = wild.span("again"), wild.span("changed")
    assert (again["name"], again["variants"]) == ("again", 1)
    # The newer one by arrival began earlier by the producer's clock.
    assert (changed["name"], changed["variants"]) == ("ended", 2)


@pytest.mark.requirement("R27")
def test_a_child_before_its_parent(wild: Wild) -> None:
    assert wild.span("child")["parent_span_id"] == wild.names["parent"]
    assert wild.span("parent")["name"] == "parent"


@pytest.mark.long
@pytest.mark.parametrize(
    ("ids", "reason"),
    [
        ({"trace_id": bytes(16)}, "trace id is all zero"),
        ({"trace_id": bytes(8)}, "trace id has 8 bytes, not 16"),
        ({"trace_id": bytes(17)}, "trace id has 17 bytes, not 16"),
        ({"span_id": bytes(8)}, "span id is all zero"),
    ],
)
@pytest.mark.requirement("R23")
def test_ids_that_cannot_be_are_rejected_alone_and_listed(
    wild: Wild, ids: dict[str, bytes], reason: str
) -> None:
    good = make.span("sibling")
    wild.collector.send(traces=[make.traces(good, make.span("bad", **ids)).SerializeToString()])
    wild.collector.wait_idle()
    assert wild.collector.rows("SELECT name FROM spans WHERE span_id = {id:String}", id=good.span_id.hex())
    assert wild.collector.rows(
        "SELECT * FROM rejects WHERE position(reason, {reason:String}) > 0", reason=reason
    )


@pytest.mark.requirement("R21")
def test_json_as_deep_as_it_gets_is_refused_and_the_collector_lives(wild: Wild) -> None:
    for deep in (b"[" * 100_000, b'{"a":' * 100_000):
        with pytest.raises(urllib.error.HTTPError) as refused:
            wild.collector.post("/v1/traces", deep, JSON)
        with refused.value as error:
            assert error.code == 400
            assert json.loads(error.read())["code"] == 3
    wild.collector.post("/v1/traces", make.traces(make.span()).SerializeToString(), PROTOBUF)


def resident_bytes(process: int) -> int:
    [line] = [
        line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS")
    ]
    return int(line.split()[1]) * 1024


@pytest.mark.long
@pytest.mark.requirement("R19")
def test_a_hundred_megabytes_are_refused_and_not_kept_in_memory(wild: Wild) -> None:
    limit = 64 * 1024 * 1024
    before = resident_bytes(wild.collector.process.pid)
    body = bytes(100_000_000)
    for _ in range(3):
        with pytest.raises(urllib.error.HTTPError) as refused:
            wild.collector.post("/v1/traces", body, PROTOBUF)
        with refused.value as error:
            assert error.code == 413
        with (
            grpc.insecure_channel(
                wild.collector.grpc, options=[("grpc.max_send_message_length", -1)]
            ) as channel,
            pytest.raises(grpc.RpcError) as exhausted,
        ):
            channel.unary_unary(EXPORT)(body, timeout=60)
        status: Any = exhausted.value
        assert status.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert resident_bytes(wild.collector.process.pid) < before + 2 * limit
