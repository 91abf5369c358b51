"""Several that write one golden run at the same time, threads and processes: each reader finds a whole one, and the last stays."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from golden.agents import golden, suite

from retrospan.schemas.bundle.golden import read_golden, write_golden
from retrospan.schemas.errors import ConfigError

WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from retrospan.schemas.bundle.golden import read_golden, write_golden

folder, who, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
golden, bundle = read_golden(folder, "weather")
run = bundle.run(golden.run_id)
for number in range(times):
    name = f"{who}-{number}"
    write_golden(folder, golden.updated(name), replace(bundle, runs=(replace(run, run_id=name, answer=name),)))
"""


def is_whole(folder: Path) -> str:
    told, bundle = read_golden(folder, "weather")
    run = bundle.run(told.run_id)
    assert run is not None and run.calls == suite("x").runs[0].calls
    assert run.answer == (told.run_id if told.run_id != "run-1" else suite("x").runs[0].answer)
    return told.run_id


def test_processes_that_write_it_at_the_same_time_leave_a_whole_one(tmp_path: Path) -> None:
    write_golden(tmp_path, golden(), suite("run-1"))
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), who, "40"]) for who in ("a", "b", "c")
    ]
    while any(writer.poll() is None for writer in writers):
        is_whole(tmp_path)
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    last = is_whole(tmp_path)
    assert last in ("a-39", "b-39", "c-39")
    assert [run.run_id for run in read_golden(tmp_path, "weather")[1].runs] == [last]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["weather.bundle", "weather.toml"]


def test_threads_that_write_it_at_the_same_time_leave_a_whole_one(tmp_path: Path) -> None:
    write_golden(tmp_path, golden(), suite("run-1"))
    (run,) = suite("run-1").runs
    failed = list[Exception]()

    def write(who: str) -> None:
        try:
            for number in range(25):
                name = f"{who}-{number}"
                made = replace(suite("run-1"), runs=(replace(run, run_id=name, answer=name),))
                write_golden(tmp_path, golden().updated(name), made)
                is_whole(tmp_path)
        except Exception as error:  # noqa: BLE001 - any is too many
            failed.append(error)

    threads = [threading.Thread(target=write, args=(who,)) for who in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert is_whole(tmp_path) in ("a-24", "b-24", "c-24")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["weather.bundle", "weather.toml"]


def test_of_two_that_add_it_one_is_told(tmp_path: Path) -> None:
    write_golden(tmp_path, golden(), suite("run-1"), is_new=True)
    with pytest.raises(ConfigError, match="there is a golden run 'weather' already"):
        write_golden(tmp_path, golden().updated("run-2"), suite("run-2"), is_new=True)
    assert is_whole(tmp_path) == "run-1"
