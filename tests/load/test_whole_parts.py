"""Parts that the engine could not write whole, because the disk was full, are found: it does not say so."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import otlp_requests as make
import pytest
from fix_collector import Served
from torture.bounds import small_disk

from retrospan.ingest.load.whole_parts import NEARLY_FULL_BYTES, WholeParts, is_whole
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse

#: Of each kind: columns in one file and in their own, an index, values by which parts are left out, a mask of deleted rows.
MAKE = (
    (
        "CREATE OR REPLACE TABLE {name} (a UInt64, b String, c Array(String), INDEX by_b b TYPE bloom_filter GRANULARITY 1) "
        "ENGINE = MergeTree ORDER BY a SETTINGS min_bytes_for_wide_part = {least}, min_rows_for_wide_part = 0, "
        "enable_block_number_column = 1, enable_block_offset_column = 1"
    ),
    "INSERT INTO {name} SELECT number, toString(number), [] FROM numbers(1000)",
    "DELETE FROM {name} WHERE a = 7",
)


def folders(store: EmbeddedStore, table: str) -> list[tuple[Path, int]]:
    rows = store.rows(
        "SELECT path, bytes_on_disk FROM system.parts WHERE active AND database = currentDatabase() AND table = "
        "{table:String} AND rows > 0",
        {"table": table},
    )
    return [(Path(str(path)), int(str(size))) for path, size in rows]


@pytest.mark.parametrize("least", [0, 1 << 30], ids=["wide", "compact"])
def test_a_part_is_whole_until_a_byte_of_any_file_is_missing(
    store: EmbeddedStore, tmp_path: Path, least: int
) -> None:
    for statement in MAKE:
        store.command(statement.format(name="tried", least=least))
    [(found, size)] = folders(store, "tried")
    files = [file for file in found.iterdir() if file.stat().st_size]
    assert len(files) > 8 and is_whole(found, size)
    for file in files:
        part = tmp_path / file.name
        shutil.copytree(found, part)
        os.truncate(part / file.name, 0)
        assert not is_whole(part, size), file.name
        if file.suffix != ".txt":
            shutil.copyfile(file, part / file.name)
            os.truncate(part / file.name, file.stat().st_size - 1)
            assert not is_whole(part, size), file.name
    assert is_whole(tmp_path / "that was removed meanwhile", size)


def test_parts_are_looked_at_as_long_as_the_disk_is_nearly_full_and_once_after(
    warehouse: EmbeddedWarehouse, store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, connected, told = [NEARLY_FULL_BYTES], 0, list[str]()

    def connect() -> EmbeddedStore:
        nonlocal connected
        connected += 1
        return warehouse.connect()

    monkeypatch.setattr("retrospan.ingest.load.whole_parts.free_bytes", lambda path: free[0])
    monkeypatch.setattr("retrospan.ingest.load.whole_parts._PARTS_SECONDS", 0.0)
    looking = WholeParts(connect, warehouse.path, told.append)
    for free[0], expected in (
        (NEARLY_FULL_BYTES, 0),
        (0, 1),
        (0, 2),
        (NEARLY_FULL_BYTES, 3),
        (NEARLY_FULL_BYTES, 3),
    ):
        looking.run_once()
        assert (connected, told) == (expected, [])
    for statement in MAKE:
        store.command(statement.format(name="tried", least=0))
    [(found, _)] = folders(store, "tried")
    os.truncate(found / "b.bin", 0)
    free[0] = 0
    looking.run_once()
    assert told == ["the disk was full, and 1 parts of tried were not written whole"]
    store.command("DROP TABLE tried SYNC")


@pytest.mark.long
@pytest.mark.requirement("R08")
def test_a_part_that_is_not_whole_is_told_and_derived_again(tmp_path: Path) -> None:
    spans = [make.span(f"chat {number}") for number in range(50)]
    with small_disk(tmp_path / "data", "size=250m"):
        settings = tmp_path / "settings.toml"
        settings.write_text('[limits]\nlow_water_bytes = "8 MiB"\n')
        collector = Served(tmp_path / "data", tmp_path / "stderr.txt", "--config", str(settings))
        try:
            collector.send(traces=[make.traces(*spans).SerializeToString()])
            collector.wait_idle()
            calls = collector.rows("SELECT run_id, ordinal FROM model_calls ORDER BY ALL")
            assert len(calls) == 50
            rows = collector.rows(
                "SELECT path FROM system.parts WHERE active AND table = 'canon_model_calls' AND rows > 0"
            )
            for row in rows:  # as the engine leaves it
                for file in Path(str(row["path"])).iterdir():
                    os.truncate(file, 0)
            unread = "parts of canon_model_calls cannot be read: run `retrospan rebuild`"
            collector.until(lambda: unread in " ".join(collector.health()["reasons"]), 120.0)
            assert collector.health()["status"] == "failing"
            assert "parts of canon_model_calls were not written whole" in collector.stderr()
            collector.run("rebuild")
            collector.wait_idle()
            assert collector.rows("SELECT run_id, ordinal FROM model_calls ORDER BY ALL") == calls
            collector.until(lambda: not collector.health()["detached_parts"], 60.0)
            assert collector.stop() == 0
        finally:
            collector.kill()
