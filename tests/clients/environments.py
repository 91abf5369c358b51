"""Clients at pinned versions, each in an environment of its own, which is made once and kept."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
KEPT = Path.home() / ".cache" / "retrospan-tests" / "clients"


def python_with(packages: Sequence[str]) -> Path:
    """The Python of an environment with these packages. Skips the test where it cannot be made."""
    uv = shutil.which("uv") or str(TOP / ".uv/bin/uv")
    if not Path(uv).exists():
        pytest.skip("uv, which makes the clients' environments, is not here")
    name = hashlib.sha256("\n".join([sys.version, *packages]).encode()).hexdigest()[:16]
    place = KEPT / name
    if not (place / "done").exists():
        making = KEPT / f"{name}.{os.getpid()}"
        for words in (
            [uv, "venv", "--quiet", "--relocatable", "--python", sys.executable, str(making)],
            [uv, "pip", "install", "--quiet", "--python", str(making / "bin/python"), *packages],
        ):
            done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode:
                shutil.rmtree(making, ignore_errors=True)
                pytest.skip(f"{', '.join(packages)} cannot be installed: {done.stderr.strip()[-200:]}")
        (making / "done").touch()
        try:
            making.rename(place)
        except OSError:
            shutil.rmtree(making, ignore_errors=True)  # another process was first
    return place / "bin/python"


def said(packages: Sequence[str], code: str, **environ: str) -> str:
    """What a program says that uses the packages."""
    done = subprocess.run(
        [str(python_with(packages)), "-c", code],
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
