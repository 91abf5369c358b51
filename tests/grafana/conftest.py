"""A collector that holds the runs of the demo, at a time that stays the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_collector import Served

from retrospan.ingest.demo.recordings import load_requests, move_times

#: The last run of the demo ends here: 2026-06-01 12:00 UTC.
ENDED_NS = 1_780_315_200 * 10**9


def play(directory: Path) -> Served:
    """Start a collector and send it the demo's runs."""
    collector = Served(directory / "data", directory / "stderr.txt")
    requests = load_requests()
    move_times(requests, ENDED_NS, 47 * 10**9)
    sent: dict[str, list[bytes]] = {"traces": [], "logs": []}
    for one in requests:
        sent[one.signal].append(one.message.SerializeToString())
    collector.send(sent["traces"], sent["logs"])
    collector.wait_idle()
    return collector


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """It is read only."""
    collector = play(tmp_path_factory.mktemp("demo"))
    yield collector
    collector.kill()
