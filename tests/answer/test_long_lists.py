"""Lists of whole spans that may be as long as the table: read in small pieces, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import clickhouse_connect
import pytest
from answer.conftest import LIMITS, started
from clickhouse_connect.driver.client import Client

from retrospan.ingest.answer.rewriting.long_lists import LONG_LIST, reading
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse

SPANS = 9_000  # of 5 KB: more than is in a part of one file
THIRD = SPANS // 3
IN_PIECES = {name: value for name, value in LONG_LIST.items() if name != "max_threads"}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM spans",
        "SELECT * FROM retrospan.spans",
        "select trace_id, attributes from spans",
        "SELECT * FROM spans LIMIT 1000000",
    ],
)
def test_a_list_of_all_is_read_in_pieces_by_one_thread(query: str) -> None:
    assert reading(query) == LONG_LIST


def test_rows_of_a_condition_are_looked_for_by_several_threads() -> None:
    assert reading("SELECT * FROM spans WHERE name = 'x' AND started_at > now()") == IN_PIECES


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name FROM spans",
        "SELECT * FROM runs",
        "SELECT * FROM spans LIMIT 20",
        "SELECT * FROM spans ORDER BY started_at",
        "SELECT * FROM spans WHERE events LIKE '%x%'",
        "SELECT * FROM spans WHERE run_id = 'r'",
        "SELECT count(attributes) FROM spans",
        "SELECT any(attributes) FROM spans GROUP BY name",
        "SELECT * FROM spans AS s JOIN runs AS r USING (run_id)",
        "SELECT 1",
    ],
)
def test_anything_else_is_read_as_before(query: str) -> None:
    assert reading(query) == {}


@pytest.fixture
def client(warehouse: EmbeddedWarehouse) -> Iterator[Client]:
    """Asks a port over spans of 5 KB each, which came in thirds."""
    store = warehouse.connect()
    store.command("SYSTEM STOP MERGES raw_spans")
    try:
        for first in range(0, SPANS, THIRD):
            store.command(
                "INSERT INTO raw_spans (tenant, trace_id, span_id, content_hash, sequence, arrived_at, attributes) "
                "SELECT 'default', toString(intDiv(number, 100)), toString(number), 0, number, now64(9), "
                "[('payload', 'string', randomPrintableASCII(5000))] FROM numbers({first:UInt32}, {third:UInt32})",
                {"first": first, "third": THIRD},
            )
        port = started(warehouse, LIMITS)
        client = clickhouse_connect.get_client(host="127.0.0.1", port=port.start(), database="retrospan")
        yield client
        client.close()
        port.stop(5.0)
    finally:
        # Other tests have this engine after this one.
        store.command("SYSTEM START MERGES raw_spans")
        store.close()


@pytest.mark.parametrize("query", ["SELECT * FROM spans", "SELECT * FROM spans WHERE name = ''"])
def test_pieces_are_small_however_large_spans_are(
    client: Client, warehouse: EmbeddedWarehouse, query: str
) -> None:
    kinds = "SELECT DISTINCT part_type FROM system.parts WHERE table = 'raw_spans' AND active"
    with closing(warehouse.connect()) as store:
        assert store.rows(kinds) == [["Compact"]]
        # As they were inserted: a granule at once. By itself the engine would read all of a part.
        assert _largest_piece(client, query) <= 1_024
        store.command("SYSTEM START MERGES raw_spans")
        store.command("OPTIMIZE TABLE raw_spans FINAL")
        assert store.rows(kinds) == [["Wide"]]
    # A piece holds 130; without pieces a thousand come at once.
    assert _largest_piece(client, query) < 250


def _largest_piece(client: Client, query: str) -> int:
    with client.query_row_block_stream(query) as blocks:
        rows = [len(block) for block in blocks]
    assert sum(rows) == SPANS
    return max(rows)
