"""R03: whatever a power cut leaves of unsynced writes and names, what was promised is found again."""

from __future__ import annotations

from pathlib import Path

import pytest
from sampling import one_in

from retrospan.torture.power_cuts import play_lives

SEEDS = 1000


@pytest.mark.parametrize("block", [0, *one_in(4, range(1, 10))])
@pytest.mark.requirement("R03")
def test_what_was_promised_survives_power_cuts(tmp_path: Path, block: int) -> None:
    total = play_lives(tmp_path / "disk", range(block * SEEDS // 10, (block + 1) * SEEDS // 10))
    assert not total.broken, total.broken
    assert total.acknowledged > 500
    assert min(total.cuts, total.kills, total.archived) > 10
