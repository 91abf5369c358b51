"""What rewriting does to statements that are asked at the real port: how long they get, and what the engine reads."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from answer.conftest import Port

from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count() FROM stale_reads WHERE entity_id = '{}'",
        "SELECT count() FROM entity_state(entity_type = 'order', entity_id = '{}', at = '', known_at = '')",
        "SELECT count() FROM run_state(run_id = '{}', step = 3)",
        "SELECT count() FROM provenance(ref = '{}', direction = 'up', depth = 20)",
        "SELECT count() FROM spans WHERE attributes['user.id'] = '{0}' OR span_id = '{0}'",
    ],
)
def test_what_is_put_into_a_statement_makes_it_no_longer_than_the_engine_reads(
    port: Port, query: str
) -> None:
    """The engine reads 262,144 bytes, and a value may be repeated where a view is put in place."""
    for value in ("x" * 100_000, "ä" * 60_000):
        assert port.sql(query.format(value))[:2] == (200, b"0\n")


@pytest.mark.parametrize("view", ["observations", "entity_timeline", "overwrites", "stale_reads"])
def test_of_one_entity_runs_that_say_nothing_of_it_are_not_read(
    sample: EmbeddedWarehouse, port: Port, view: str
) -> None:
    """By the engine's own count: all runs where the condition is not understood, next to none where it is."""
    with closing(sample.connect()) as store:
        store.command(
            "INSERT INTO canon_runs (tenant, run_id, generation)"
            " SELECT 'default', concat('r', toString(number)), 1 FROM numbers(50000)"
        )
        read: list[int] = []
        for condition in ("entity_id = '1'", "(entity_id = '1')"):
            _, body, _ = port.sql(f"SELECT * FROM {view} WHERE {condition} FORMAT JSON")
            read.append(json.loads(body)["statistics"]["rows_read"])
        store.command("TRUNCATE TABLE canon_runs")
    assert read[0] < 10_000 and read[1] >= 50_000
