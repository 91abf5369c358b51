"""A collector that holds the runs of the demo, at a time that stays the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fix_collector import Served

from retrospan.ingest.demo.recordings import load_requests, move_times

#: The last run of the demo ends here: 2026-06-01 12:00 UTC.
ENDED_NS = 1_780_315_200 * 10**9


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """It is read only."""
    directory = tmp_path_factory.mktemp("demo")
    collector = Served(directory / "data", directory / "stderr.txt")
    requests = load_requests()
    move_times(requests, ENDED_NS, 47 * 10**9)
    for signal in ("traces", "logs"):
        collector.send(**{signal: [one.message.SerializeToString() for one in requests if one.signal == signal]})
    collector.wait_idle()
    yield collector
    collector.kill()
