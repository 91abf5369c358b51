"""A stopped directory with runs, and what alters it as the engine itself would."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCENE = Path(__file__).with_name("evidence_scene.py")


def scene(data: Path, command: str, given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, str(SCENE), str(data), command],
        check=False,
        capture_output=True,
        text=True,
        input=given,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def alter(data: Path, *statements: str) -> None:
    """Run statements in the stopped directory."""
    scene(data, "sql", json.dumps(statements))
