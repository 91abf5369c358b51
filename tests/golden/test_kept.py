"""A golden run that is held stays in the warehouse, with the run that it continues, when retention is applied."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fix_collector import Served
from keeping import agent_run, linked_run, trace_of

pytestmark = [pytest.mark.engine, pytest.mark.long]
SCENE = Path(__file__).parents[1] / "retention" / "keep_scene.py"
#: Runs that went well are kept for seven days.
TEN_DAYS = 10 * 86_400 * 10**9


def test_retention_leaves_a_held_golden_run_and_what_it_rests_on(served: Served, tmp_path: Path) -> None:
    served.send([agent_run(name, "ok") for name in ("first", "other", "unheld")])
    served.send([linked_run("second", "first", "resumes")])
    served.wait_idle()
    folder = str(tmp_path / "golden")
    assert "is held" not in served.run("golden", "add", trace_of("unheld"), "unheld", "--dir", folder)
    said = served.run("golden", "add", trace_of("second"), "resumed", "--dir", folder, "--hold")
    assert said.startswith("golden run resumed: ")
    (held,) = served.rows("SELECT run_id FROM runs WHERE held")
    assert held["run_id"] == trace_of("second")

    served.stop()
    assert left_after(served.data, time.time_ns() + TEN_DAYS) == {trace_of("first"), trace_of("second")}
    # The files do not need the warehouse.
    assert sorted(path.name for path in Path(folder).glob("*.bundle")) == ["resumed.bundle", "unheld.bundle"]


def left_after(data: Path, now: int) -> set[str]:
    """Apply retention at that time, and return the runs that are left."""
    for words in (["apply", str(now), "never", "1"], ["state"]):
        done = subprocess.run(
            [sys.executable, str(SCENE), str(data), *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout)["runs"])
