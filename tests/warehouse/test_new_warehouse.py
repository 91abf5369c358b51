"""A new warehouse is laid out as the engine would have made it, whole or not at all."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from retrospan.ingest.warehouse.new_warehouse import lay_out
from retrospan.schemas.migrate import Migration, shipped

_SCENE = Path(__file__).with_name("new_warehouse_scene.py")


def _scene(what: str, directory: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(_SCENE), what, str(directory)], check=True, capture_output=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _texts(told: dict[str, Any]) -> dict[str, str]:
    return {name: content for name, content in told["files"].items() if name.endswith(".sql")}


def test_it_is_what_the_statements_of_this_release_make(tmp_path: Path) -> None:
    made = _scene("made", tmp_path / "made")
    kept = json.loads((files("retrospan.ingest.warehouse") / "new_warehouse.json").read_text("utf-8"))
    assert kept["links"] == made["links"]
    assert _texts(kept) == _texts(made), "python -m retrospan.ingest.warehouse.new_warehouse"


def test_a_start_has_nothing_to_add(tmp_path: Path) -> None:
    assert lay_out(tmp_path / "warehouse")
    hashes = [
        [name, Migration(number, name, statement, "applied", 0).statement_hash]
        for number, name, statement in shipped()
    ]
    assert _scene("lacks", tmp_path / "warehouse") == {"migrations": [], "views": [], "hashes": hashes}


def test_what_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    there = tmp_path / "warehouse"
    there.mkdir()
    (there / "status").write_text("PID: 1")
    assert not lay_out(there)
    assert [each.name for each in tmp_path.rglob("*")] == ["warehouse", "status"]


def test_a_directory_with_nothing_in_it_is_a_new_warehouse_too(tmp_path: Path) -> None:
    (tmp_path / "warehouse").mkdir()
    assert lay_out(tmp_path / "warehouse")
    assert (tmp_path / "warehouse" / "metadata").is_dir()


@pytest.mark.parametrize("renamed", range(4))
def test_one_that_was_killed_begins_anew(tmp_path: Path, renamed: int) -> None:
    place = tmp_path / "data" / "warehouse"
    ended = subprocess.run([sys.executable, str(_SCENE), "killed", str(place), str(renamed)], check=False)
    assert ended.returncode == -signal.SIGKILL
    there = {each.name for each in place.iterdir()}
    assert ("metadata" in there) == (renamed == 3)
    assert "laying-out" in there
    for half in place.glob("laying-out/metadata/*.sql"):
        half.write_text("half of it")
    assert lay_out(place)
    assert {each.name for each in place.iterdir()} == {"metadata", "store", "user_defined"}
    assert not lay_out(place)
    if renamed in (0, 3):
        assert _scene("lacks", place)["migrations"] == []


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    place = tmp_path / "data" / "warehouse"
    lay_out(place)
    made = [place.parent, place, *place.rglob("*")]
    assert {each.stat().st_mode & 0o777 for each in made if each.is_file()} == {0o600}
    assert {each.stat().st_mode & 0o777 for each in made if each.is_dir()} == {0o700}


def test_a_disk_that_does_not_take_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(OSError, match="data"):
        lay_out(tmp_path / "data" / "warehouse")
