"""Spans as sent: variants, attribute texts, wild times; and the rejects."""

from __future__ import annotations

import json
from typing import Any

from story import SECOND, START, Ask

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.service.dispatch import write_rows
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas import traces

_DAY = 86_400 * SECOND
_ATTRIBUTES = [
    ["twice", "string", "first"],
    ["text", "string", 'as "it" is/was'],
    ["yes", "bool", "true"],
    ["big", "int", "9007199254740993"],
    ["one", "double", "1"],
    ["half", "double", "0.5"],
    ["huge", "double", "1e300"],
    ["nan", "double", "nan"],
    ["low", "double", "-inf"],
    ["raw", "bytes", "AAE="],
    ["none", "unset", ""],
    ["list", "array", '[1,"a",1.0]'],
    ["deep", "kvlist*", '[["k","A","CgA="]]'],
    ["unread", "array*", '[["y","AA=="]]'],
    ["twice", "string", "last"],
]
_SHOWN = {
    "twice": "last",
    "text": 'as "it" is/was',
    "yes": "true",
    "big": "9007199254740993",
    "one": "1.0",
    "half": "0.5",
    "huge": "1e300",
    "nan": "NaN",
    "low": "-Infinity",
    "raw": "AAE=",
    "none": "null",
    "list": '[1,"a",1.0]',
    "deep": '{"k":[null]}',
    "unread": '[["y","AA=="]]',
}


def _time(ns: int) -> str:
    return f"{ns // SECOND}.{ns % SECOND:09d}"


def _span(span_id: str = "a" * 16, **fields: Any) -> dict[str, Any]:
    return {
        "tenant": "default",
        "trace_id": "t" * 32,
        "span_id": span_id,
        "content_hash": 1,
        "sequence": 1,
        "arrived_at": _time(START),
        "name": "chat",
        "started_ns": START,
        "ended_ns": START + SECOND,
        **fields,
    }


def _put(store: EmbeddedStore, *spans: dict[str, Any], table: str = "raw_spans") -> None:
    for span in spans:  # an insert each, so that nothing is merged on the way in
        store.insert(
            f"INSERT INTO {table}",
            json.dumps(span).encode(),
            "JSONEachRow",
            {"input_format_json_named_tuples_as_objects": 0},
        )


def test_the_variant_that_arrived_last_is_shown_and_identical_ones_merge(
    views: EmbeddedStore, ask: Ask
) -> None:
    views.command("SYSTEM STOP MERGES raw_spans")
    try:
        _put(
            views,
            _span(content_hash=7, sequence=3, name="corrected", arrived_at=_time(START + 3 * _DAY)),
            _span(content_hash=5, sequence=1, name="first"),
            _span(content_hash=5, sequence=2, name="first", arrived_at=_time(START + SECOND)),
            _span("b" * 16, content_hash=9, sequence=2),
            _span("b" * 16, content_hash=9, sequence=4, arrived_at=_time(START + _DAY * 2)),
        )
        found = ask("SELECT span_id, name, variants FROM spans ORDER BY span_id")
        assert [(r["span_id"][0], r["name"], r["variants"]) for r in found] == [
            ("a", "corrected", 2),
            ("b", "chat", 1),
        ]
        assert ask("SELECT count() AS n FROM spans WHERE trace_id = {t:String}", t="t" * 32) == [{"n": 2}]
    finally:
        views.command("SYSTEM START MERGES raw_spans")


def test_attributes_are_text_of_their_kind_and_the_last_of_equal_keys_wins(
    views: EmbeddedStore, ask: Ask
) -> None:
    _put(views, _span(attributes=_ATTRIBUTES, resource_attributes=[["service.name", "string", "orla"]]))
    trace = traces.TraceRow(
        tenant="default",
        trace_id="t" * 32,
        run_ids=["r"],
        generation=2,
        through_sequence=1,
        interpreted_by="test",
    )
    write_rows(views, Rows(traces=[trace]))
    views.command("SYSTEM STOP MERGES canon_spans")
    for generation, run_id in ((1, "old"), (2, "r"), (3, "not yet pointed to")):
        span = traces.SpanRow(
            tenant="default",
            trace_id="t" * 32,
            span_id="a" * 16,
            generation=generation,
            run_id=run_id,
            operation="inference",
            dialect="test",
            rendered={"deep": '{"k":[null]}'},
        )
        write_rows(views, Rows(spans=[span]))
    (row,) = ask("SELECT attributes, resource, service_name, run_id, operation, dialect FROM spans")
    assert row["attributes"] == _SHOWN
    assert row["resource"] == {"service.name": "orla"}
    assert (row["service_name"], row["run_id"]) == ("orla", "r")
    assert (row["operation"], row["dialect"]) == ("inference", "test")
    views.command("SYSTEM START MERGES canon_spans")


def test_a_span_not_yet_interpreted_is_there_without_run(views: EmbeddedStore, ask: Ask) -> None:
    _put(views, _span())
    (row,) = ask("SELECT run_id, operation, dialect, service_name FROM spans SETTINGS join_use_nulls = 1")
    assert row == {"run_id": "", "operation": "", "dialect": "", "service_name": None}


def test_times_that_are_wild_are_clipped_and_marked(views: EmbeddedStore, ask: Ask) -> None:
    _put(
        views,
        _span("1" * 16),
        _span("2" * 16, started_ns=2**64 - 1, ended_ns=2**64 - 1),
        _span("3" * 16, started_ns=0),
        _span("4" * 16, ended_ns=0),
        _span("5" * 16, ended_ns=START - 1),
        _span("6" * 16, started_ns=START - _DAY - 2 * SECOND),
        _span("7" * 16, started_ns=START + _DAY - 2 * SECOND, ended_ns=START + _DAY),
    )
    found = ask("SELECT started_at, ended_at, duration_ms, skewed FROM spans ORDER BY span_id")
    assert [(r["duration_ms"], r["skewed"]) for r in found] == [
        (1000, False),
        (0, True),
        (None, True),
        (None, False),
        (None, False),
        ((_DAY + 3 * SECOND) / 1e6, True),
        (2000, False),
    ]
    assert found[1]["started_at"] == "2262-04-11 23:47:16.854775807"
    assert found[3]["ended_at"] is None


def test_codes_are_words_and_unknown_ones_do_not_fail(views: EmbeddedStore, ask: Ask) -> None:
    _put(views, *(_span(str(n) * 16, kind=n - 1, status_code=n - 1) for n in range(8)))
    found = ask("SELECT kind, status FROM spans ORDER BY span_id")
    assert [r["kind"] for r in found] == [
        "unspecified",
        "unspecified",
        "internal",
        "server",
        "client",
        "producer",
        "consumer",
        "unspecified",
    ]
    assert [r["status"] for r in found][:4] == ["unset", "unset", "ok", "error"]


def test_events_and_links_are_json_with_values_of_their_kind(views: EmbeddedStore, ask: Ask) -> None:
    attributes = [["n", "int", "5"], ["d", "double", "2"], ["x", "double", "nan"], ["s", "string", 'a"b/\n']]
    _put(
        views,
        _span(
            events=[[START, "exception", attributes, 3]],
            links=[["f" * 32, "e" * 16, "k=v", 257, [["retrospan.link.type", "string", "forks"]], 0]],
            dropped_attributes=2**32 - 1,
            dropped_events=1,
            dropped_links=1,
        ),
    )
    (row,) = ask("SELECT events, links, dropped FROM spans")
    assert json.loads(row["events"]) == [
        {
            "name": "exception",
            "time_unix_nano": str(START),
            "attributes": {"n": 5, "d": 2.0, "x": "NaN", "s": 'a"b/\n'},
            "dropped_attributes_count": 3,
        }
    ]
    assert '"d":2.0' in row["events"]
    assert json.loads(row["links"]) == [
        {
            "trace_id": "f" * 32,
            "span_id": "e" * 16,
            "trace_state": "k=v",
            "flags": 257,
            "attributes": {"retrospan.link.type": "forks"},
            "dropped_attributes_count": 0,
        }
    ]
    assert row["dropped"] == 2**32 - 1


def test_rejects_show_their_first_bytes_harmless(views: EmbeddedStore, ask: Ask) -> None:
    views.command(
        "INSERT INTO raw_rejects SELECT 'default', 1, 1, now64(9), 'traces', 2, 'no protobuf', 'ab', "
        "concat('a\\\\', unhex('001bff'), '[0m~ é')"
    )
    (row,) = ask("SELECT signal, spans, reason, request_hash, sample FROM rejects")
    assert row["sample"] == r"a\x5c\x00\x1b\xff[0m~ \xc3\xa9"
    assert (row["signal"], row["spans"], row["reason"], row["request_hash"]) == (
        "traces",
        2,
        "no protobuf",
        "ab",
    )
