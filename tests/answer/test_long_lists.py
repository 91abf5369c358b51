"""Lists of whole spans that may be as long as the table: read in small pieces, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator

import clickhouse_connect
import pytest
from answer.conftest import LIMITS, started
from clickhouse_connect.driver.client import Client

from retrospan.ingest.answer.long_lists import LONG_LIST, reading
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse

SPANS = 2_000
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
    """Asks a port over spans of 5 KB each."""
    store = warehouse.connect()
    store.command(
        "INSERT INTO raw_spans (tenant, trace_id, span_id, content_hash, sequence, arrived_at, attributes) "
        "SELECT 'default', toString(intDiv(number, 100)), toString(number), 0, number, now64(9), "
        "[('payload', 'string', randomPrintableASCII(5000))] FROM numbers({spans:UInt32})",
        {"spans": SPANS},
    )
    port = started(warehouse, LIMITS)
    client = clickhouse_connect.get_client(host="127.0.0.1", port=port.start(), database="retrospan")
    yield client
    client.close()
    port.stop(5.0)
    store.close()


@pytest.mark.parametrize("query", ["SELECT * FROM spans", "SELECT * FROM spans WHERE name = ''"])
def test_pieces_are_small_however_large_spans_are(client: Client, query: str) -> None:
    with client.query_row_block_stream(query) as blocks:
        rows = [len(block) for block in blocks]
    assert sum(rows) == SPANS
    # A piece holds 130; without pieces a thousand come at once.
    assert max(rows) < 250
