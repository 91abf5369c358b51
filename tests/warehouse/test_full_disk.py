"""A disk that is nearly full: the engine would write empty files and say nothing, so it is not asked to write."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from torture.bounds import small_disk

from retrospan.ingest.warehouse.disk_room import LEFT_BYTES, require_room
from retrospan.schemas.errors import WarehouseUnavailable

#: A process can open one path only.
SCENE = """
import sys
from contextlib import closing
from pathlib import Path

from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse

warehouse = EmbeddedWarehouse(Path(sys.argv[1]) / "warehouse")
store = warehouse.connect()
for statement in sys.argv[2:]:
    try:
        store.command(statement)
        print("done")
    except Exception as error:
        print(type(error).__name__, error)
print(store.rows("SELECT name FROM system.tables WHERE database = 'retrospan' ORDER BY name"))
store.close()
"""
MAKE = (
    "CREATE TABLE IF NOT EXISTS one (a UInt64) ENGINE = MergeTree ORDER BY a",
    "INSERT INTO one SELECT 7",
    "CREATE OR REPLACE VIEW seen AS SELECT a FROM one",
)
CHANGE = (
    "-- title: a column\nALTER TABLE one ADD COLUMN b String",
    "CREATE OR REPLACE VIEW seen AS SELECT a, b FROM one",
    "CREATE TABLE IF NOT EXISTS two (a UInt64) ENGINE = MergeTree ORDER BY a",
    "INSERT INTO one (a) SELECT 8",
)


def run(disk: Path, *statements: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCENE, str(disk), *statements],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def fill(disk: Path, left: int) -> None:
    with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while filler.write(bytes(4096)):
            pass
    os.truncate(disk / "filler", (disk / "filler").stat().st_size - left)


@pytest.mark.requirement("R08")
def test_definitions_on_a_full_disk_are_left_as_they_are(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "size=128m"):
        assert run(disk, *MAKE) == ["done"] * 3 + ["[['one'], ['seen']]"]
        # None at all, and so little that the engine takes it for enough.
        for left in (0, 8 << 20):
            fill(disk, left)
            told = run(disk, *CHANGE)
            assert all(each.startswith("WarehouseUnavailable the disk of ") for each in told[:-1]), told
            assert told[-1] == "[['one'], ['seen']]"
        (disk / "filler").unlink()
        assert run(disk, *CHANGE) == ["done"] * 4 + ["[['one'], ['seen'], ['two']]"]


def test_what_reads_or_drops_needs_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrospan.ingest.warehouse.disk_room.free_bytes", lambda path: LEFT_BYTES - 1)
    for statement in ("SELECT 1", "SET a = 1", "-- drops\nDROP TABLE IF EXISTS one SYNC"):
        require_room(tmp_path, statement)
    with pytest.raises(WarehouseUnavailable, match="free some space"):
        require_room(tmp_path, "-- title: rows\ninsert into one select 1")


def test_the_engine_leaves_as_much_by_itself() -> None:
    text = Path(require_room.__code__.co_filename).with_name("engine.xml").read_text()
    assert f"<keep_free_space_bytes>{LEFT_BYTES}</keep_free_space_bytes>" in text
