"""A plain program that draws from clocks and chance is recorded, and does the same again out of the warehouse."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fix_collector import Served

pytestmark = pytest.mark.long
PROGRAM = """
import random
import time
import uuid
from time import monotonic

from retrospan.exporter import deterministic, effect, instrument, run
from retrospan.exporter.replay import tool


@tool(effect="write")
def place(order):
    print("placed")
    with effect("place", {"order": order}, effect="write") as placing:
        placing.result({"ok": True})
    return {"ok": True}


instrument()
with run("clerk", input="A cup, please."), deterministic():
    order = f"{uuid.uuid4()} {random.randint(1, 10**9)} {time.time_ns()} {monotonic()}"
    place(order)
print(order)
"""


def test_what_a_program_drew_comes_back_in_a_replay_of_its_run(module_served: Served, tmp_path: Path) -> None:
    (tmp_path / "clerk.py").write_text(PROGRAM)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "RETROSPAN_"))}
    there = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{module_served.http}",
        "RETROSPAN_URL": f"http://{module_served.sql}",
    }

    def done(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words], env={**kept, **there}, cwd=tmp_path, capture_output=True, text=True, check=False
        )  # fmt: skip

    recorded = done("clerk.py")
    assert recorded.returncode == 0, recorded.stderr
    placed, order = recorded.stdout.splitlines()
    assert placed == "placed"
    module_served.wait_idle()
    again = done("-m", "retrospan.ingest.cli.main", "replay", "last", "--", sys.executable, "clerk.py")
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines() == [order], "the tool was answered, and its argument is the recorded one"
    assert "identical: 0 of 0 model calls and 1 of 1 tool calls" in again.stderr
    assert "drawn from outside: 1 deterministic, 3 recorded" in again.stderr
