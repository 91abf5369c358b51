"""How long the disk takes to confirm a write is known while it does, and for a minute after."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.machine.durable_files import Files


class Slow(Files):
    """A disk that confirms nothing until it may."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.may.set()

    def sync(self, descriptor: int) -> None:
        assert self.may.wait(60)
        super().sync(descriptor)


def test_a_sync_under_way_counts_and_the_last_one_for_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Slow()
    log = WriteAheadLog.open(tmp_path / "log", low_water_bytes=0, files=files)
    assert log.pace.seconds == 0.0
    files.may.clear()
    waiting = log.append_later(tenant="default", traces=b"x")
    began = time.monotonic()
    while log.pace.seconds < 0.1:
        assert time.monotonic() < began + 60
    assert not waiting.done(), "nothing is acknowledged before"
    files.may.set()
    waiting.result()
    took = log.pace.seconds
    assert took >= 0.1
    assert log.pace.seconds == took
    later = time.monotonic() + 61
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert log.pace.seconds == 0.0
    monkeypatch.undo()
    log.close()
