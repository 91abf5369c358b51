"""kill -9 while rows of runs go in over two connections: readers have all of the old rows, and in the end all of the new."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from retrospan.ingest.interpret.rows.lists import POINTERS

SCRIPT = Path(__file__).with_name("kill_scene.py")
RUNS = 6
#: What the pointer of traces tells readers, which is written before that of runs.
OF_TRACES = ("canon_spans", "canon_traces")

Rows = dict[str, list[list[object]]]


def run(data: Path, part: str, point: str = "never") -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(data), part, point],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )


def rows(data: Path, part: str) -> Rows:
    finished = run(data, part)
    assert finished.returncode == 0, finished.stderr
    found: Rows = json.loads(finished.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, Rows]:
    """The rows of the first half of each run, and of all of it."""
    data = tmp_path_factory.mktemp("undisturbed")
    return rows(data, "first"), rows(data, "second")


@pytest.mark.long
@pytest.mark.parametrize(
    ("point", "flipped"),
    [("first", ()), ("amid", ()), (POINTERS[0], ()), (POINTERS[1], OF_TRACES), ("written", None)],
)
def test_readers_have_the_rows_of_one_reading_whenever_it_is_killed(
    tmp_path: Path, undisturbed: tuple[Rows, Rows], point: str, flipped: tuple[str, ...] | None
) -> None:
    half, whole = undisturbed
    assert len(half["canon_runs"]) == len(whole["canon_runs"]) == RUNS
    assert half["canon_steps"] != whole["canon_steps"]
    assert rows(tmp_path, "first") == half
    assert run(tmp_path, "second", point).returncode == -signal.SIGKILL
    seen = rows(tmp_path, "none")
    for table, found in seen.items():
        is_new = flipped is None or table in flipped
        assert found == (whole if is_new else half)[table], table
    assert rows(tmp_path, "rest") == whole
