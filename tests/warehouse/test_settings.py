"""Settings of a connection: set with its next statement, all at once, and none runs without them."""

from __future__ import annotations

from pathlib import Path

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


def test_a_merge_keeps_no_statistics_of_columns(warehouse: EmbeddedWarehouse) -> None:
    store = warehouse.connect()
    store.command("CREATE TABLE merged (a UInt8, b String) ENGINE = MergeTree ORDER BY a")
    for row in (1, 2):
        store.command(f"INSERT INTO merged VALUES ({row}, 'word')")
    store.command("OPTIMIZE TABLE merged FINAL")
    ((path,),) = store.rows("SELECT path FROM system.parts WHERE table = 'merged' AND active")
    files = {file.name for file in Path(str(path)).iterdir()}
    assert "count.txt" in files and not {name for name in files if "statistics" in name}
    # Where the setting is not ours, they would be there.
    store.command("ALTER TABLE merged MODIFY SETTING auto_statistics_types = 'basic'")
    store.command("INSERT INTO merged VALUES (3, 'word')")
    store.command("OPTIMIZE TABLE merged FINAL")
    ((path,),) = store.rows("SELECT path FROM system.parts WHERE table = 'merged' AND active")
    assert any("statistics" in file.name for file in Path(str(path)).iterdir())
    store.command("DROP TABLE merged")
    store.close()
