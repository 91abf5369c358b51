"""Files of the engine that somebody altered or that were damaged: views, definitions, indexes. Each is named, and mended."""

from __future__ import annotations

from pathlib import Path

import pytest
from attacks.altered_directory import scene
from fix_collector import Served
from keeping import agent_run, trace_of
from verified import ask, verify


@pytest.mark.long
def test_a_view_that_was_altered_is_named_and_made_anew(data: Path) -> None:
    (path,) = (data / "warehouse" / "store").rglob("runs.sql")
    text = path.read_text()
    end = text.rindex("WHERE NOT deleted")
    hidden = text[:end] + text[end:].replace("NOT deleted", f"run_id != '{trace_of('keep-1')}'")
    assert hidden != text
    path.write_text(hidden)
    served = Served(data, data.parent / "stderr.txt")
    try:
        served.wait_idle()
        there = "SELECT count() AS n FROM runs WHERE run_id = {run:String}"
        assert served.rows(there, run=trace_of("keep-1")) == [{"n": 0}]
        found = ask(served, "--seed", "1")
        assert found.wrong == {"view runs": "is not that of this release: `retrospan migrate` makes it anew"}
        served.run("migrate")
        assert served.rows(there, run=trace_of("keep-1")) == [{"n": 1}]
        assert not ask(served, "--seed", "1").wrong
    finally:
        served.kill()


@pytest.mark.long
def test_a_warehouse_that_cannot_be_opened_says_that_the_log_has_everything(data: Path) -> None:
    (path,) = (data / "warehouse" / "store").rglob("runs.sql")
    path.write_text(path.read_text().replace("SELECT", "SELEKT"))
    with pytest.raises(AssertionError, match=r"move that directory away: the next start loads everything"):
        Served(data, data.parent / "stderr.txt")
    (data / "warehouse").rename(data.parent / "damaged")
    assert not verify(data, "--full", "--derived").wrong


@pytest.mark.long
def test_a_damaged_index_is_named(data: Path) -> None:
    # Rows that are read as a whole do not show it, and those that are asked for by a key are not found.
    damage_index(Path(scene(data, "parts", "canon_values").split()[0]))
    found = verify(data, "--full")
    assert found.names("^canon_values, part ", "is damaged: Checksum"), found.wrong


@pytest.mark.long
def test_a_damaged_index_of_what_was_sent_does_not_keep_the_collector_from_starting(data: Path) -> None:
    part = Path(scene(data, "parts", "raw_spans").split()[0])
    damage_index(part)
    served = Served(data, data.parent / "stderr.txt")
    try:
        assert "raw_spans cannot be read: run `retrospan rebuild`" in str(served.health()["reasons"])
        assert f"the part {part.name} of raw_spans is damaged, and put aside: Checksum" in served.stderr()
        served.send([agent_run("later", "ok")])
        served.run("rebuild")
        served.wait_idle()
        assert served.health()["status"] == "ok", served.health()["reasons"]
        assert not ask(served, "--full", "--derived").wrong
    finally:
        served.kill()


def damage_index(part: Path) -> None:
    index = part / "primary.cidx"
    content = bytearray(index.read_bytes())
    content[-2] ^= 4
    index.write_bytes(content)
