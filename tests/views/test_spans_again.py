"""Spans that came again, and conditions that reach the table: the same rows as grouping everything, and less read."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from story import SECOND, START, Ask

from retrospan.ingest.answer.rewriting.narrowing import narrowed
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.queries import catalogue
from retrospan.schemas.engines import choosing_everywhere

_DAY = 86_400 * SECOND
_KINDS = [
    ["twice", "string", "first"],
    ["text", "string", 'as "it" is/was'],
    ["yes", "bool", "true"],
    ["big", "int", "9007199254740993"],
    ["one", "double", "1"],
    ["half", "double", "0.5"],
    ["nan", "double", "nan"],
    ["raw", "bytes", "AAE="],
    ["none", "unset", ""],
    ["list", "array", '[1,"a",1.0]'],
    ["long", "string", "é" * 150],
    ["twice", "string", "last"],
]


def _time(ns: int) -> str:
    return f"{ns // SECOND}.{ns % SECOND:09d}"


def _row(trace: str, span: str, content: int, sequence: int, day: int = 0, **fields: Any) -> dict[str, Any]:
    return {
        "tenant": "default",
        "trace_id": trace * 32,
        "span_id": span * 16,
        "content_hash": content,
        "sequence": sequence,
        "arrived_at": _time(START + day * _DAY),
        "name": f"{content}",
        "started_ns": START,
        "ended_ns": START + SECOND,
        **fields,
    }


def _insert(store: EmbeddedStore, *rows: dict[str, Any], **settings: str | int) -> None:
    store.insert(
        "INSERT INTO raw_spans",
        b"\n".join(json.dumps(row).encode() for row in rows),
        "JSONEachRow",
        {
            "input_format_json_named_tuples_as_objects": 0,
            "insert_deduplicate": 0,
            "max_partitions_per_insert_block": 0,
            **settings,
        },
    )


def _again(store: EmbeddedStore) -> list[str]:
    return [
        str(row[0])[0] for row in store.rows("SELECT DISTINCT trace_id FROM raw_resent ORDER BY trace_id")
    ]


def test_a_trace_is_noted_when_a_span_comes_again_and_not_before(views: EmbeddedStore) -> None:
    _insert(views, _row("a", "1", 1, 1), _row("b", "1", 1, 1))
    _insert(views, _row("a", "2", 2, 2), _row("c", "1", 1, 2))
    assert _again(views) == []
    _insert(views, _row("a", "1", 3, 3))
    assert _again(views) == ["a"], "another content"
    _insert(views, _row("b", "1", 1, 4, day=2), _row("d", "1", 1, 4))
    assert _again(views) == ["a", "b"], "the same content on another day, where it never merges"
    _insert(views, _row("e", "1", 1, 5), _row("e", "1", 2, 5))
    assert _again(views) == ["a", "b", "e"], "both at once"
    _insert(views, _row("d", "1", 1, 4))
    assert _again(views) == ["a", "b", "d", "e"], "the very same row"


def test_an_insert_that_is_repeated_after_a_crash_notes_what_the_first_one_did_not(
    views: EmbeddedStore,
) -> None:
    _insert(views, _row("a", "1", 1, 1), insert_deduplicate=1, insert_deduplication_token="first")
    again: dict[str, str | int] = {"insert_deduplicate": 1, "insert_deduplication_token": "second"}
    _insert(views, _row("a", "1", 2, 2), **again)
    # As if the process had died after the spans were stored and before the trace was noted.
    views.command("TRUNCATE TABLE raw_resent")
    _insert(views, _row("a", "1", 2, 2), **again)
    assert _again(views) == ["a"]
    assert views.rows("SELECT name, variants FROM spans") == [["2", 2]]


def test_an_insert_of_many_blocks_sees_its_own_earlier_ones(views: EmbeddedStore) -> None:
    rows = [_row("abcdef"[n % 6], "1", n, n, day=n % 5) for n in range(60)]
    blocks = {"max_insert_block_size": 5, "min_insert_block_size_rows": 5, "min_insert_block_size_bytes": 0}
    _insert(views, *rows, **blocks, max_block_size=5, input_format_parallel_parsing=0)
    assert views.rows("SELECT count() > 20 FROM system.parts WHERE table = 'raw_spans' AND rows <= 5") == [
        [1]
    ]
    assert _again(views) == ["a", "b", "c", "d", "e", "f"]
    assert views.rows("SELECT count(), min(variants) FROM spans") == [[6, 10]]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def test_in_any_order_the_last_to_arrive_is_shown_and_contents_are_counted(
    views: EmbeddedStore, ask: Ask, seed: int
) -> None:
    dice = random.Random(seed)
    rows = [
        _row(dice.choice("abcd"), dice.choice("123456"), dice.randrange(4), sequence, dice.randrange(3))
        for sequence in range(60)
    ]
    views.command("SYSTEM STOP MERGES raw_spans")
    try:
        dice.shuffle(rows)
        while rows:
            size = dice.randint(1, 9)
            _insert(views, *rows[:size])
            if dice.random() < 0.3:  # sent once more, as after a lost acknowledgement
                _insert(views, *rows[:size])
            rows = rows[size:]
        expected = views.rows(
            "SELECT trace_id, span_id, toString(argMax(name, (sequence, content_hash))), uniqExact(content_hash), "
            "argMax(arrived_at, (sequence, content_hash)) "
            "FROM raw_spans GROUP BY trace_id, span_id ORDER BY trace_id, span_id"
        )
        for view in ("spans", "spans_as_sent"):
            shown = f"SELECT trace_id, span_id, name, variants, ingested_at FROM {view} ORDER BY trace_id, span_id"
            assert views.rows(shown) == expected
            everywhere = f"({choosing_everywhere(catalogue.load(view).statement)})"
            assert views.rows(shown.replace(f"FROM {view} ", f"FROM {everywhere} ")) == expected
    finally:
        views.command("SYSTEM START MERGES raw_spans")


def test_an_attribute_is_found_as_it_is_shown(views: EmbeddedStore, ask: Ask) -> None:
    _insert(
        views,
        _row("a", "1", 1, 1, attributes=_KINDS),
        _row("b", "1", 1, 1, attributes=[["twice", "string", "first"], ["text", "string", "other"]]),
    )
    (shown,) = ask("SELECT attributes FROM spans WHERE trace_id = {t:String}", t="a" * 32)
    for key, value in [
        *shown["attributes"].items(),
        ("twice", "first"),
        ("one", "1"),
        ("text", "no"),
        ("absent", ""),
    ]:
        query = f"SELECT trace_id FROM spans WHERE attributes['{key}'] = {{value:String}} ORDER BY trace_id"
        plain = views.rows(query, {"value": value})
        assert [[row["trace_id"]] for row in ask(query, value=value)] == plain, (key, value)


@pytest.mark.parametrize(
    ("condition", "column"),
    [
        ("name = 'x'", "name"),
        ("started_at > '2026-09-21 00:00:00'", "started_ns"),
        ("service_name = 'x'", "service_name"),
        ("trace_id = 'x'", "trace_id"),
        ("status = 'error'", "status_code"),
    ],
)
def test_conditions_reach_the_table(views: EmbeddedStore, condition: str, column: str) -> None:
    _insert(views, _row("a", "1", 1, 1))
    plan = views.query(
        f"EXPLAIN indexes = 1 {narrowed(f'SELECT span_id FROM spans WHERE {condition}')}",
        output_format="TSVRaw",
    ).decode()
    reads = [line for line in plan.splitlines() if "Prewhere filter column" in line]
    assert any(column in read for read in reads), plan
    assert "canon_spans" not in plan


@pytest.mark.parametrize(
    ("condition", "index"),
    [
        ("attributes['user.id'] = 'nobody'", "by_attribute"),
        ("span_id = 'nobody'", "by_span"),
        ("run_id = 'nobody'", "by_run_id"),
    ],
)
def test_the_traces_of_a_condition_are_found_by_an_index(
    views: EmbeddedStore, ask: Ask, condition: str, index: str
) -> None:
    _insert(views, _row("a", "1", 1, 1, attributes=[["user.id", "string", "x"]]))
    views.command(
        "INSERT INTO canon_spans (tenant, trace_id, span_id, run_id) VALUES ('default', 'a', '1', 'r')"
    )
    query = narrowed(f"SELECT attributes FROM spans WHERE {condition}")
    traces = query[query.index("SELECT trace_id") : query.rindex("))")]
    plan = views.query(f"EXPLAIN indexes = 1 {traces}", output_format="TSVRaw").decode()
    assert f"Name: {index}" in plan, plan
    assert ask(f"SELECT attributes FROM spans WHERE {condition}") == []
