"""Days that are over are merged until few parts are left, by the engine itself."""

from __future__ import annotations

import time

from retrospan.ingest.warehouse.embedded import EmbeddedStore

_SETTING = "min_partition_age_to_force_merge_seconds"
_PATIENCE_SECONDS = 300.0


def test_a_day_to_which_nothing_comes_is_merged(store: EmbeddedStore) -> None:
    laid_out = store.rows(
        f"SELECT name FROM system.tables WHERE database = currentDatabase() AND create_table_query LIKE '%{_SETTING} = 14400%' "
        "ORDER BY name"
    )
    assert laid_out == [["arrivals"], ["raw_logs"], ["raw_spans"]]
    # Parts of very unlike sizes, which the engine leaves beside each other.
    for first, rows in ((0, 20_000), (20_000, 20)):
        store.command(
            "INSERT INTO arrivals (tenant, trace_id, sequence, arrived_at) "
            f"SELECT 'default', hex(number), number, toDateTime64('2026-01-01', 9, 'UTC') FROM numbers({first}, {rows})"
        )
    parts = "SELECT count(), sum(rows) FROM system.parts WHERE database = currentDatabase() AND table = 'arrivals' AND active"
    store.command(f"ALTER TABLE arrivals MODIFY SETTING {_SETTING} = 1")
    try:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while store.rows(parts)[0][0] != 1 and time.monotonic() < deadline:
            time.sleep(0.5)
        assert store.rows(parts) == [[1, 20_020]]
    finally:
        store.command(f"ALTER TABLE arrivals MODIFY SETTING {_SETTING} = 14400")
