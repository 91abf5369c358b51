"""uvloop lets out what it does in C, so that its loop has to ask: in an environment of its own, as the tests have none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from recordings.record.framework import Framework
from recordings.replayed import environment

pytestmark = pytest.mark.soak
PROGRAM = Path(__file__).with_name("on_uvloop.py")
TOP = PROGRAM.parents[2]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no uvloop")
def test_nothing_gets_out_of_uvloop() -> None:
    try:
        python = environment("uvloop", Framework(("uvloop", "httpx"), driver=""), {})
    except (OSError, RuntimeError) as error:
        pytest.skip(f"it cannot be installed here: {error}")
    roots = os.pathsep.join(str(TOP / root) for root in ("exporter", "schemas"))
    done = subprocess.run(
        [str(python), str(PROGRAM)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": roots},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "answered: Snow.",
        "refused: a connection to 127.0.0.1:PORT",
        "refused: a connection to the socket /run/nobody.sock",
        "refused: a connection to 127.0.0.1:PORT",
        "refused: a connection to any host:0",
        "refused: looking up the host example.com",
        "refused: looking up the address 192.0.2.1",
        "refused: starting the program true",
        "refused: starting the program true",
        "identical, nobody came",
        "after it: connected",
    ]
