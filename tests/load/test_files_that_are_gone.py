"""A file of the log that is gone while the collector runs: a rebuild ends, says which one, and loses nothing by it."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_collector import Served
from keeping import Keeper, agent_run, trace_of

from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.errors import SegmentUnreadable


@pytest.fixture
def keeper(warehouse: EmbeddedWarehouse, tmp_path: Path) -> Iterator[Keeper]:
    """Six runs in segments of two or three records, all archived but the newest."""
    made = Keeper(warehouse, tmp_path, segment_bytes=20_000, interprets=False)
    made.send([agent_run(f"run-{number}", "ok", payload=9000) for number in range(6)])
    assert made.loader.wait_loaded(6, 60.0)
    assert made.archive() == 2
    yield made
    made.log.close()


@pytest.mark.long
@pytest.mark.parametrize("how", ["missing", "a directory"])
def test_loading_again_ends_at_a_file_that_cannot_be_read_and_goes_on_once_it_is_back(
    keeper: Keeper, how: str
) -> None:
    _, gone = sorted((keeper.log.directory / "archive").glob("*.zst"))
    content = gone.read_bytes()
    gone.unlink()
    if how == "a directory":
        gone.mkdir()
    with pytest.raises(SegmentUnreadable) as told:
        keeper.loader.reload_all()
    assert f"log/archive/{gone.name}" in str(told.value)
    found = {"missing": "is missing", "a directory": "cannot be read (Is a directory)"}[how]
    assert f"{found}: it holds records 3-4" in str(told.value)
    assert "Records up to 0 of 6 were loaded again" in str(told.value)
    assert f"log/archive/{gone.name}" in keeper.loader.failure
    assert keeper.rows("SELECT uniqExact(trace_id) FROM raw_spans") == [[6]], "what is there stays there"
    if how == "a directory":
        gone.rmdir()
    gone.write_bytes(content)
    assert keeper.loader.wait_loaded(6, 60.0), keeper.loader.failure
    assert keeper.loader.failure == ""
    assert keeper.loader.stop(30.0)


@pytest.mark.parametrize("left", [pytest.param(0.0, marks=pytest.mark.long), 0.5])
def test_a_segment_that_was_truncated_while_it_is_read_costs_only_what_is_gone(
    keeper: Keeper, left: float
) -> None:
    (newest,) = keeper.log.directory.glob("*.seg")
    size = newest.stat().st_size
    os.truncate(newest, int(size * left))
    assert keeper.loader.reload_all() == 6
    assert keeper.log.recovery.damaged_bytes > 0
    assert keeper.log.recovery.reason.startswith(f"{newest.name}: bytes ")
    damaged = keeper.log.recovery.damaged_bytes
    keeper.send([agent_run("later", "ok")])
    assert keeper.loader.wait_loaded(7, 60.0), keeper.loader.failure
    assert keeper.rows("SELECT count() FROM raw_spans WHERE trace_id = {t:String}", t=trace_of("later")) == [
        [2]
    ]
    assert keeper.log.recovery.damaged_bytes == damaged, "it is counted once"
    assert keeper.rows("SELECT uniqExact(trace_id) FROM raw_spans") == [[7]], "rows that are there stay there"
    assert keeper.loader.stop(30.0)


def rebuild(served: Served) -> list[dict[str, object]]:
    """What the collector tells of a rebuild, to its end."""
    request = urllib.request.Request(f"http://{served.sql}/admin/v1/rebuild", b"{}", method="POST")
    with urllib.request.urlopen(request, timeout=120) as reply:
        return [json.loads(line) for line in reply]


@pytest.mark.long
def test_a_rebuild_without_one_of_the_files_changes_nothing_and_after_a_restart_says_what_is_missing(
    tmp_path: Path,
) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("[limits]\nsegment_bytes = 20000\n")
    served = Served(tmp_path / "data", tmp_path / "stderr.txt", "--config", str(settings))
    archive = tmp_path / "data" / "log" / "archive"
    try:
        for number in range(8):
            served.send(traces=[agent_run(f"run-{number}", "ok", payload=9000)])
        served.wait_idle()
        served.until(lambda: len(list(archive.glob("*.zst"))) >= 3)
        _, gone, *_ = sorted(archive.glob("*.zst"))
        gone.unlink()
        (told,) = rebuild(served)
        assert f"log/archive/{gone.name} is missing from the log, with 2 records" in str(told["error"])
        # What comes is loaded as before.
        served.send(traces=[agent_run("later", "ok")])
        served.wait_idle()
        asked = "SELECT count() AS spans, uniqExact(run_id) AS runs, countIf(run_id = {later:String}) AS later FROM spans"
        before = served.rows(asked, later=trace_of("later"))
        assert before == [{"spans": 18, "runs": 9, "later": 2}]
        assert served.stop() == 0
        served.start()
        served.wait_idle()
        assert served.health()["recovery_lost_records"] == 2
        *_, counted, done = rebuild(served)
        assert (counted["records"], counted["absent"], done) == (7, 2, {"done": True})
        assert served.rows(asked, later=trace_of("later")) == before
        assert "  2 records missing from the log: rows of them stay as they were" in served.run("rebuild")
    finally:
        served.kill()
