"""A plain program that draws from clocks and chance is recorded, and does the same again out of the warehouse."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fix_collector import Served

from retrospan.exporter.replay.drawn import drawn_in
from retrospan.schemas.bundle.form import RunRecord

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
with BLOCKS:
    order = f"{uuid.uuid4()} {random.randint(1, 10**9)} {time.time_ns()} {monotonic()}"
    place(order)
print(order)
"""


RUN = 'run("clerk", input="A cup, please.")'


@pytest.mark.long
@pytest.mark.parametrize(
    "blocks",
    [
        f"{RUN}, deterministic()",
        # Then the run has an id of its own, and the block's span is of no run.
        f"deterministic(), {RUN}",
    ],
)
def test_what_a_program_drew_comes_back_in_a_replay_of_its_run(
    module_served: Served, tmp_path: Path, blocks: str
) -> None:
    (tmp_path / "clerk.py").write_text(PROGRAM.replace("BLOCKS", blocks))
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


def test_a_block_around_several_runs_is_given_back_once_and_each_in_its_order() -> None:
    around, last = {"seed": 1, "values": {}}, {"seed": 2, "values": {}}
    runs = [
        RunRecord(run_id="third", started_at=3, draws=(last,)),
        RunRecord(run_id="first", started_at=1, draws=(around,)),
        RunRecord(run_id="second", started_at=2, draws=(around,)),
    ]
    assert drawn_in(runs) == [around, last]
