"""A directory that no collector uses."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from retrospan.ingest.doctor.directory import check_directory
from retrospan.ingest.log.write_ahead_log import WriteAheadLog


@pytest.mark.parametrize(
    ("ahead_ns", "told"), [(0, "later than the last record"), (10**12, "the clock went back")]
)
def test_the_last_record_is_found_where_all_of_the_log_is_archived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead_ns: int, told: str
) -> None:
    log = WriteAheadLog.open(tmp_path / "log", low_water_bytes=0)
    arrived = time.time_ns() + ahead_ns
    with monkeypatch.context() as moved:
        moved.setattr(time, "time_ns", lambda: arrived)
        last = log.append(tenant="default", traces=b"body")
    assert log.seal(last)
    assert log.archive_next(last)
    log.close()
    assert not list((tmp_path / "log").glob("*.seg"))
    tmp_path.chmod(0o700)
    [clock] = [found for found in check_directory(tmp_path, engine=False) if found.check == "clock"]
    assert told in clock.said
