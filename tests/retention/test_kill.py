"""kill -9 at any point of `apply`: whoever goes on comes to the same end."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from keeping import DAY

from retrospan.torture.failpoints import RETENTION_FAILPOINTS

SCENE = Path(__file__).with_name("keep_scene.py")


def play(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, str(SCENE), str(data), *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done


def state(data: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(play(data, "state").stdout.splitlines()[-1])
    return found


def same_end(tmp_path: Path, number: int, points: list[tuple[str, int]]) -> None:
    """Apply once without a kill and once with all of them; compare what is left."""
    data, control = tmp_path / "killed", tmp_path / "control"
    assert play(data, "fill", str(number)).returncode == 0
    shutil.copytree(data, control, symlinks=True)
    now = str(time.time_ns() + 31 * DAY)
    for point, times in points:
        assert play(data, "apply", now, point, str(times)).returncode == -signal.SIGKILL, (point, times)
    for directory in (control, data):
        assert play(directory, "apply", now, "never", "0").returncode == 0
    end = state(control)
    assert state(data) == end
    assert (end["wrong"], end["missing"], end["lost"]) == ([], {}, 0)
    assert {receipt[0] for receipt in end["receipts"]} == {"run", "trace", "segment"}
    assert len(end["runs"]) == 2 * number + 2, "flagged and golden ones"


@pytest.mark.long
def test_the_end_is_the_same_after_kills(tmp_path: Path) -> None:
    same_end(tmp_path, 3, [("receipt written", 1), ("spans deleted", 1), ("archive not removed", 1)])


@pytest.mark.soak
def test_the_end_is_the_same_after_a_kill_at_each_of_ten_points(tmp_path: Path) -> None:
    points = [(point, 1) for point in RETENTION_FAILPOINTS]
    assert len(points) >= 10
    same_end(tmp_path, 6, points)
