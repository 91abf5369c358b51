"""Rows as the engine reads them: all that they hold arrives, some are left out, and none is too large at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, make_dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.ingest.warehouse.native_columns import kind_of, read_varint, split_block, varint
from retrospan.ingest.warehouse.rows import (
    column_types,
    encode_in_pieces,
    encode_rows,
    insert_encoded,
)
from retrospan.schemas.errors import SqlError

#: What could be taken for the end of a text or for the beginning of another, and what is no Unicode.
TEXT = st.text(st.sampled_from('ab",[]\\\n\r\0\u2028\udcff\u00e4 '), max_size=4)
LONG = st.sampled_from(["x" * 127, "x" * 128, "ä" * 4095, "x" * 4096, "x" * 20_000])
TYPES = {
    "tenant": "LowCardinality(String)",
    "run_id": "String",
    "value": "Nullable(String)",
    "numbers": "Array(UInt32)",
    "facts": "Map(LowCardinality(String), String)",
    "arrivals": "Array(Tuple(Int64, String, UInt32))",
    "at": "Nullable(DateTime64(9, 'UTC'))",
}


@dataclass(frozen=True, slots=True)
class Row:
    tenant: str
    run_id: str
    value: str | None
    numbers: list[int]
    facts: dict[str, str]
    arrivals: list[tuple[int, str, int]]
    at: int | None


NUMBER = st.integers(0, 2**32 - 1)
ROWS = st.lists(
    st.builds(
        Row,
        TEXT,
        TEXT,
        st.none() | TEXT | LONG,
        st.lists(NUMBER, max_size=3),
        st.dictionaries(TEXT, TEXT, max_size=2),
        st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), TEXT, NUMBER), max_size=2),
        st.none() | st.integers(0, 2**63 - 1),
    ),
    min_size=1,
    max_size=8,
)


@pytest.fixture
def table(store: EmbeddedStore) -> Iterator[str]:
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    store.command(f"CREATE TABLE told ({columns}) ENGINE = Memory")
    yield "told"
    store.command("DROP TABLE told SYNC")


def rows_in(store: EmbeddedStore, table: str) -> list[Row]:
    found: list[list[Any]] = store.rows(
        "SELECT tenant, run_id, value, numbers, mapKeys(facts), mapValues(facts), arrivals, toUnixTimestamp64Nano(at) "
        f"FROM {table} SETTINGS max_threads = 1"
    )
    return [
        Row(
            row[0],
            row[1],
            row[2],
            row[3],
            dict(zip(row[4], row[5], strict=True)),
            [(number, text, size) for number, text, size in row[6]],
            row[7],
        )
        for row in found
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, st.integers(1, 60_000))
def test_what_rows_hold_arrives_in_pieces_of_any_size(
    store: EmbeddedStore, table: str, rows: list[Row], size: int
) -> None:
    store.command(f"TRUNCATE TABLE {table}")
    pieces = [*encode_in_pieces(table, rows, TYPES, size)]
    for piece in pieces:
        insert_encoded(store, piece)
    assert rows_in(store, table) == rows
    assert all(piece.data for piece in pieces)
    whole = len(encode_rows(table, rows, TYPES).data)
    assert len(pieces) <= max(1, 2 * len(rows))
    if whole <= size:
        assert len(pieces) == 1


@given(ROWS, st.sets(st.tuples(TEXT, TEXT)), st.integers(1, 60_000))
@example([Row("a", "b", None, [], {}, [], None)], {("a", "b")}, 1)
def test_rows_that_begin_so_are_left_out_and_no_others(
    rows: list[Row], keys: set[tuple[str, str]], size: int
) -> None:
    keys |= {(rows[0].tenant, rows[0].run_id)}
    kept = [row for row in rows if (row.tenant, row.run_id) not in keys]
    encoded = encode_rows("t", rows, TYPES)
    found = encoded.without(keys)
    assert found.table == encoded.table
    assert found.data == (encode_rows("t", kept, TYPES).data if kept else b"")
    assert encoded.without([]).data == encoded.data
    by_tenant = [row for row in rows if row.tenant != rows[0].tenant]
    assert encoded.without([(rows[0].tenant,)]).data == (
        encode_rows("t", by_tenant, TYPES).data if by_tenant else b""
    )
    left = 0
    for piece in encode_in_pieces("t", rows, TYPES, size):
        left += rows_of(piece.without(keys).data)
    assert left == len(kept)


def rows_of(data: bytes) -> int:
    """Return how many rows blocks hold."""
    at, count = 0, 0
    while at < len(data):
        _, rows, at = split_block(data, at)
        count += len(rows)
    return count


SINGLE = [
    ("UInt8", 255),
    ("UInt64", 2**64 - 1),
    ("Int32", -(2**31)),
    ("Int64", 2**63 - 1),
    ("Nullable(Int64)", None),
    ("Bool", True),
    ("Float64", 0.1),
    ("Nullable(Float64)", -math.inf),
    ("LowCardinality(Nullable(String))", None),
    ("LowCardinality(Nullable(String))", ""),
    ("Array(LowCardinality(String))", ["a", "", "a"]),
    ("Array(UInt64)", []),
    ("Nullable(Decimal(38, 12))", None),
    ("Nullable(Decimal(38, 12))", "12345678901234567890.000000000001"),
    ("Decimal(38, 6)", "-0.5"),
    ("Array(Tuple(at Int64, name String))", [(-1, "a,b"), (2, "")]),
    ("Map(String, Array(UInt32))", {"a": [1, 2], "": []}),
]


@pytest.mark.parametrize(("kind", "value"), SINGLE, ids=[f"{kind}: {value}" for kind, value in SINGLE])
def test_a_value_of_every_type_arrives_beside_others(store: EmbeddedStore, kind: str, value: object) -> None:
    single = make_dataclass("single", [("place", int), ("value", object)])
    store.command(f"CREATE TABLE single (place UInt64, value {kind}) ENGINE = Memory")
    try:
        types = column_types(store, "single")
        rows = [single(place, value) for place in range(3)]
        encoded = encode_rows("single", rows, types)
        insert_encoded(store, encoded)
        shown = "toString(value)" if "Decimal" in kind or "Float" in kind else "value"
        found = store.rows(f"SELECT {shown} FROM single")
        sent = [[*each] for each in value] if isinstance(value, list) and "Tuple" in kind else value
        assert found == [[str(sent) if "Float" in kind else sent]] * 3
        assert encoded.without([]).data == encoded.data
    finally:
        store.command("DROP TABLE single SYNC")


def test_a_set_arrives_sorted(store: EmbeddedStore) -> None:
    single = make_dataclass("single", [("place", int), ("value", object)])
    types = {"place": "UInt64", "value": "Array(String)"}
    rows = [single(1, frozenset("cba")), single(2, ["b", "a"])]
    as_lists = [single(1, ["a", "b", "c"]), single(2, ["b", "a"])]
    assert encode_rows("single", rows, types) == encode_rows("single", as_lists, types)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("String", None),
        ("String", 5),
        ("UInt32", 2**32),
        ("UInt64", -1),
        ("UInt64", "1"),
        ("UInt64", None),
        ("Array(String)", [None]),
        ("Map(String, String)", ["a"]),
        ("DateTime64(9, 'UTC')", "now"),
    ],
)
@pytest.mark.parametrize("size", [1, 10**9])
def test_what_a_column_cannot_hold_is_refused_by_name(kind: str, value: object, size: int) -> None:
    single = make_dataclass("single", [("place", int), ("value", object)])
    types = {"place": "UInt64", "value": kind}
    rows = [single(1, value)] * 2
    with pytest.raises(SqlError, match=r"column value of single is not of its type"):
        list(encode_in_pieces("single", rows, types, size))


def test_a_column_that_the_table_has_not_is_refused_by_name() -> None:
    single = make_dataclass("single", [("place", int), ("value", object)])
    with pytest.raises(SqlError, match="The table single has no column 'value'"):
        encode_rows("single", [single(1, 2)], {"place": "UInt64"})


def test_a_type_that_no_row_has_is_refused_by_name() -> None:
    with pytest.raises(SqlError, match="Variant"):
        kind_of("Array(Variant(String, UInt64))")


@given(st.integers(0, 2**63))
def test_lengths_are_read_as_they_were_written(number: int) -> None:
    assert read_varint(b"." + varint(number) + b".", 1) == (number, 1 + len(varint(number)))


def test_every_column_of_the_tables_of_runs_can_be_written(store: EmbeddedStore) -> None:
    for table in TABLES.values():
        for kind in column_types(store, table).values():
            assert kind_of(kind).wire


def test_long_lists_of_rows_are_blocks_that_are_encoded_one_after_the_other() -> None:
    rows = [Row("t", str(number), None, [number], {}, [], number) for number in range(20_000)]
    encoded = encode_rows("t", rows, TYPES)
    assert rows_of(encoded.data) == len(rows)
    assert len(encoded.data) > len(fields(Row)) * len(rows)
    assert rows_of(encoded.without([("t", "17"), ("t", "19999")]).data) == len(rows) - 2
