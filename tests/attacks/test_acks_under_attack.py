"""Acknowledging goes on, and keeps its promise, while queries run away, sockets sit and the warehouse is killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.siege import Outcome, Siege


def besieged(directory: Path, *, seconds: float, kills: int, sockets: int) -> Outcome:
    outcome = Siege(directory, seconds=seconds, kills=kills, sockets=sockets).run()
    assert outcome.broken == [], (directory / "collector.log").read_text()[-2000:]
    assert outcome.kills == kills
    assert outcome.acknowledged == outcome.stored > 0
    assert outcome.live_failures == 0
    return outcome


@pytest.mark.long
def test_nothing_acknowledged_is_lost_or_doubled_in_a_short_siege(tmp_path: Path) -> None:
    besieged(tmp_path, seconds=8, kills=2, sockets=32)


@pytest.mark.soak
def test_nothing_acknowledged_is_lost_or_doubled_in_a_longer_siege(tmp_path: Path) -> None:
    outcome = besieged(tmp_path, seconds=25, kills=5, sockets=256)
    assert outcome.receiving_peak_bytes < 256 << 20
