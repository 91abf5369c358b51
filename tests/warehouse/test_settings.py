"""Settings of a connection: set with its next statement, all at once, and none runs without them."""

from __future__ import annotations

import pytest

from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.errors import SqlError

ASKED = "SELECT name, value FROM system.settings WHERE name IN ('max_rows_to_read', 'log_comment', 'readonly') ORDER BY name"


def test_what_is_kept_holds_from_the_next_statement_on_and_the_last_word_counts(
    warehouse: EmbeddedWarehouse,
) -> None:
    store = warehouse.connect({"log_comment": "first"})
    store.keep({"max_rows_to_read": 1000})
    store.keep({"log_comment": "last", "readonly": 1})
    found = store.query(ASKED, output_format="TSV").decode()
    assert found == "log_comment\tlast\nmax_rows_to_read\t1000\nreadonly\t1\n"
    with pytest.raises(SqlError):
        store.command("CREATE TABLE t (a UInt8) ENGINE = Memory")
    store.close()


def test_without_its_settings_no_statement_runs(warehouse: EmbeddedWarehouse) -> None:
    store = warehouse.connect()
    store.keep({"readonly": 1, "no_such_setting": 1})
    for _ in range(2):
        with pytest.raises(SqlError, match="no_such_setting"):
            store.command("CREATE TABLE t (a UInt8) ENGINE = Memory")
    store.close()


def test_a_merge_notes_the_range_of_each_column_by_which_parts_are_left_out(
    warehouse: EmbeddedWarehouse,
) -> None:
    store = warehouse.connect()
    store.command("CREATE TABLE merged (a UInt8, b UInt64) ENGINE = MergeTree ORDER BY a PARTITION BY a")
    for value in (1, 2, 3):
        for part in (1, 2):
            store.command(f"INSERT INTO merged VALUES ({value}, {10 * value + part})")
    store.command("OPTIMIZE TABLE merged FINAL")
    plan = store.rows("EXPLAIN indexes = 1 SELECT count() FROM merged WHERE b > 30")
    assert any("Parts: 1/3" in str(line) for (line,) in plan), plan
    kinds = store.rows("SELECT value FROM system.merge_tree_settings WHERE name = 'auto_statistics_types'")
    assert kinds == [["basic"]]
    store.command("DROP TABLE merged")
    store.close()


def test_few_merges_go_on_at_once_and_none_for_hours(warehouse: EmbeddedWarehouse) -> None:
    store = warehouse.connect()
    tasks = store.rows(
        "SELECT name, value FROM system.server_settings "
        "WHERE name IN ('background_pool_size', 'background_merges_mutations_concurrency_ratio') ORDER BY name"
    )
    assert tasks == [["background_merges_mutations_concurrency_ratio", "1"], ["background_pool_size", "2"]]
    most = store.rows(
        "SELECT value FROM system.merge_tree_settings WHERE name = 'max_bytes_to_merge_at_max_space_in_pool'"
    )
    assert most == [[str(4 << 30)]]
    store.close()
