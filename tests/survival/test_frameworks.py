"""Agents of a framework with its own instrumentation are killed; every span that had begun is known, and the run."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from bench.processes import Served
from bench.survival_frameworks import WAYS, Story, examine, survive


@pytest.mark.parametrize(
    "way", [pytest.param(WAYS[0], marks=pytest.mark.long), pytest.param(WAYS[1], marks=pytest.mark.soak)]
)
def test_what_a_framework_had_begun_survives_its_death(way: str, tmp_path: Path) -> None:
    with Served(tmp_path / "data", tmp_path / "errors.txt") as served:
        python = Path(sys.executable)
        # The promise is 0.1 s on a machine that has time for the agent: measured by bench/, not here.
        # Each lives longer than its grace, so that its first span must be there whatever the machine does.
        found = survive(
            "pydantic-ai", way, python, 3, random.Random(5), served, tmp_path, grace=1.0, lives=(1.5, 3.0)
        )
        assert (found.kills, found.begun >= 3) == (3, True)
        assert found.broken == []
        (told,) = served.rows(
            "SELECT trace_id, span_id FROM logs WHERE event_name = 'retrospan.begun' LIMIT 1"
        )
        trace = str(told[0])
        unheard = Story(killed_at=10**18, begun={f"{trace}/{told[1]}": 1, f"{trace}/{'f' * 16}": 1})
        assert f"{trace}/{'f' * 16} begun and is lost" in examine(
            served, unheard, {"running", "killed", "lost"}
        )
