"""A directory of the release before is opened: nothing it holds changes, and what is new is filled from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from retrospan.schemas.migrate import shipped

SCENE = Path(__file__).with_name("older_scene.py")
NEWER = 100


def _run(*words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(SCENE), *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(SCENE.parents[1])},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.long
def test_an_older_directory_keeps_its_rows_and_gets_what_is_new(tmp_path: Path) -> None:
    directory = str(tmp_path / "warehouse")
    before = _run("fill", directory)
    assert before["indexes"] == [[0]] and before["again"] and len(before["canon_values"]) > 20
    after = _run("open", directory)
    assert after["applied"] == [number for number, _, _ in shipped() if number >= NEWER]
    for told in set(before) - {"indexes"}:
        assert after[told] == before[told], told
    assert len(before["again"]) < len({trace for trace, *_ in before["spans"]})
    assert after["spans_as_sent"] == before["spans"]
    assert after["is narrowed"]
    assert after["by attribute"] and after["by attribute"] == after["by attribute, plainly"]
    assert after["services"] and after["services"] == after["services, plainly"]
    assert _run("open", directory)["applied"] == []
