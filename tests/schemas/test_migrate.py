"""Migrations: numbered, run once, resumed after a crash, refused when a later release was here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import pytest

from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.errors import SchemaTooNew, SqlError
from retrospan.schemas.migrate import Migrations, shipped

FIRST = (1, "0001_create_first_table", "CREATE TABLE IF NOT EXISTS first (a UInt8) ENGINE = Memory")
SECOND = (2, "0002_create_second_table", "CREATE TABLE IF NOT EXISTS second (a UInt8) ENGINE = Memory")
BROKEN = (2, "0002_create_second_table", "CREATE TABLE second (a NoSuchType) ENGINE = Memory")


@pytest.fixture
def scratch(engine: EmbeddedWarehouse) -> Iterator[EmbeddedStore]:
    """A connection to an empty database of its own."""
    store = engine.connect()
    store.command("DROP DATABASE IF EXISTS scratch")
    store.command("CREATE DATABASE scratch")
    store.command("USE scratch")
    yield store
    store.command("DROP DATABASE scratch")
    store.close()


def test_each_runs_once_in_order(scratch: EmbeddedStore) -> None:
    migrations = Migrations(scratch, [FIRST, SECOND])
    assert [m.number for m in migrations.apply(dry_run=True)] == [1, 2]
    assert scratch.rows("SHOW TABLES") == []
    assert [m.number for m in migrations.apply()] == [1, 2]
    assert (migrations.pending(), [m.number for m in migrations.applied()]) == ([], [1, 2])
    assert migrations.apply() == []
    assert scratch.rows("SHOW TABLES") == [["first"], ["schema_migrations"], ["second"]]


def test_one_that_failed_stays_running_and_is_run_again(scratch: EmbeddedStore) -> None:
    with pytest.raises(SqlError):
        Migrations(scratch, [FIRST, BROKEN]).apply()
    mended = Migrations(scratch, [FIRST, SECOND])
    (pending,) = mended.pending()
    assert (pending.number, pending.state) == (2, "running")
    assert [m.number for m in mended.apply()] == [2]
    assert [m.number for m in mended.applied()] == [1, 2]


def test_a_later_release_is_refused_and_nothing_is_written(scratch: EmbeddedStore) -> None:
    Migrations(scratch, [FIRST, SECOND]).apply()
    third = (3, "0003_create_third_table", "CREATE TABLE third (a UInt8) ENGINE = Memory")
    with pytest.raises(SchemaTooNew, match="0002_create_second_table"):
        Migrations(scratch, [FIRST, third]).apply()
    assert ["third"] not in scratch.rows("SHOW TABLES")


@pytest.mark.parametrize(("number", "name", "statement"), shipped(), ids=[name for _, name, _ in shipped()])
def test_a_shipped_migration_keeps_the_rules(number: int, name: str, statement: str) -> None:
    kinds = (
        r"create_\w+_(table|view|function)|replace_\w+_function|add_\w+_to_\w+"
        r"|(merge|copy|drop|fill|lay_out|compress)_\w+"
    )
    assert re.fullmatch(rf"\d{{4}}_({kinds})", name)
    assert statement.startswith("-- title: ")
    code = "\n".join(line for line in statement.splitlines() if not line.lstrip().startswith("--"))
    assert ";" not in code, "one statement per file"
    again = (
        "IF NOT EXISTS",
        "IF EXISTS",
        "MODIFY SETTING",
        "MODIFY COLUMN",
        "MODIFY QUERY",
        "MATERIALIZE INDEX",
        "MATERIALIZE COLUMN",
        "INSERT INTO raw_resent",
        "FROM merge(",
        "NOT IN (SELECT",
        "OR REPLACE TABLE",
        "OR REPLACE FUNCTION",
    )
    assert any(clause in code for clause in again), "it can be run twice"
    if "MergeTree" in code:
        assert "enable_block_number_column = 1, enable_block_offset_column = 1" in code
    if "MergeTree" in code and number < 20:
        assert "non_replicated_deduplication_window = 10000" in code


def test_numbers_are_not_used_twice() -> None:
    numbers = [number for number, _, _ in shipped()]
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("ran", range(5))
def test_what_the_table_logs_held_is_there_under_its_new_name_wherever_a_migration_broke_off(
    scratch: EmbeddedStore, ran: int
) -> None:
    before = [one for one in shipped() if one[0] in (8, 32)]
    moving = [one for one in shipped() if 96 <= one[0] <= 98]
    Migrations(scratch, before).apply()
    scratch.command("INSERT INTO logs (number, name) VALUES (0, 'here'), (3, 'there')")
    if ran < 4:
        for _, _, statement in moving[:ran]:
            scratch.command(statement)
        assert [m.number for m in Migrations(scratch, [*before, *moving]).apply()] == [96, 97, 98]
    else:
        # All was done, and the view is there, before anything was noted: it is run again from the beginning.
        Migrations(scratch, [*before, *moving]).apply()
        scratch.command("CREATE VIEW logs AS SELECT 'default' AS tenant, 'r' AS run_id")
        for _, _, statement in (*before, *moving):
            scratch.command(statement)
    assert scratch.rows("SELECT number, name FROM log_identities FINAL ORDER BY number") == [
        [0, "here"],
        [3, "there"],
    ]
    assert scratch.rows("EXISTS logs") == [[0]]


class Dying:
    """A store whose process dies after one statement: nothing that follows is carried out."""

    def __init__(self, store: EmbeddedStore, last: str) -> None:
        self._store = store
        self._last = last
        self._is_dead = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def command(self, statement: str, *arguments: Any) -> None:
        if self._is_dead:
            raise Killed
        self._store.command(statement, *arguments)
        self._is_dead = statement == self._last


class Killed(BaseException):
    """As kill -9 would end it."""


LATER = [one for one in shipped() if one[0] >= 100]
COLUMNS = "SELECT table, name, type FROM system.columns WHERE database = 'scratch' ORDER BY ALL"


def upgrade_after_a_kill(scratch: EmbeddedStore, last: str) -> None:
    """Upgrade from an older release in a process that dies after a statement, then in one that does not."""
    Migrations(scratch, [one for one in shipped() if one[0] < 100]).apply()
    tables = ("canon_runs", "canon_steps", "canon_model_calls", "canon_edges")
    for table in tables:
        scratch.command(f"INSERT INTO {table} (run_id) SELECT toString(number) FROM numbers(9)")
    with pytest.raises(Killed):
        Migrations(cast("EmbeddedStore", Dying(scratch, last))).apply()
    Migrations(scratch).apply()
    assert Migrations(scratch).pending() == []
    for table in tables:
        assert scratch.rows(f"SELECT uniqExact(run_id), count() FROM {table}") == [[9, 9]]
    made = scratch.rows(COLUMNS)
    for statement in ("DROP DATABASE scratch", "CREATE DATABASE scratch", "USE scratch"):
        scratch.command(statement)
    Migrations(scratch).apply()
    assert made == scratch.rows(COLUMNS)


def test_an_upgrade_killed_after_its_last_statement_is_taken_up_again(scratch: EmbeddedStore) -> None:
    """A table that was laid out anew has gained columns by then: it cannot be laid out again from the same rows."""
    upgrade_after_a_kill(scratch, LATER[-1][2])


@pytest.mark.long
@pytest.mark.parametrize("number", range(0, len(LATER) - 1, 12))
def test_an_upgrade_killed_after_any_statement_is_taken_up_again(scratch: EmbeddedStore, number: int) -> None:
    upgrade_after_a_kill(scratch, LATER[number][2])


def test_rows_from_before_stay_and_lie_smaller_once_they_are_merged(scratch: EmbeddedStore) -> None:
    before = [one for one in shipped() if one[0] < 150]
    Migrations(scratch, before).apply()
    # What repeats does so further behind than a codec looks by itself: 2 MiB.
    scratch.command(
        "INSERT INTO canon_values (run_id, number, json) SELECT 'r', number + again, text FROM "
        "(SELECT number, randomString(500000) AS text FROM numbers(6)) ARRAY JOIN [0, 6] AS again "
        "SETTINGS max_block_size = 12"
    )
    scratch.command(
        "INSERT INTO canon_tool_calls (run_id, ordinal, result) SELECT 'r', number, json FROM canon_values"
    )
    tables = ("canon_values", "canon_tool_calls")
    told = [scratch.rows(f"SELECT count(), sum(cityHash64(*)) FROM {table}") for table in tables]
    sizes = [size_of(scratch, table) for table in tables]
    assert min(sizes) > 5_000_000
    compressing = [one for one in shipped() if 150 <= one[0] < 160]
    assert len(compressing) == 6
    for _ in range(2):  # a crash before they were noted runs them again
        for _, _, statement in compressing:
            scratch.command(statement)
    assert [scratch.rows(f"SELECT count(), sum(cityHash64(*)) FROM {table}") for table in tables] == told
    assert [size_of(scratch, table) for table in tables] == sizes, "until they are merged"
    for table, size in zip(tables, sizes, strict=True):
        scratch.command(f"OPTIMIZE TABLE {table} FINAL")
        assert size_of(scratch, table) < 0.6 * size
    assert [scratch.rows(f"SELECT count(), sum(cityHash64(*)) FROM {table}") for table in tables] == told
    made = str(scratch.rows("SHOW CREATE TABLE raw_spans")[0][0])
    assert "ZSTD(3, 24)) SETTINGS (min_compress_block_size = 4194304" in made, "its blocks stay as they were"
    assert "`trace_id` String CODEC(ZSTD(1))" in made


def size_of(store: EmbeddedStore, table: str) -> int:
    rows = store.rows(
        "SELECT sum(data_compressed_bytes) FROM system.parts WHERE active AND database = currentDatabase() "
        "AND table = {table:String}",
        {"table": table},
    )
    return int(str(rows[0][0]))
