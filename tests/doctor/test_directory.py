"""A directory that no collector uses."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import NoReturn

import pytest

from retrospan.ingest.doctor import directory
from retrospan.ingest.doctor.directory import check_directory
from retrospan.ingest.doctor.machine import check_sync
from retrospan.ingest.load.ledger import Batch, Ledger
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.machine.durable_files import Files


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


@pytest.mark.parametrize(
    ("gone", "removed", "missing"),
    [
        ("", "", 0),
        ("*", "", 3),
        ("archive/*-*1.seg.zst", "", 1),
        ("archive/*-*2.seg.zst", "", 1),
        ("*.seg", "", 1),
        ("archive/*-*2.seg.zst", "2 2\n", 0),
    ],
)
def test_files_of_the_log_that_are_gone_are_missed(
    tmp_path: Path, gone: str, removed: str, missing: int
) -> None:
    folder = tmp_path / "log"
    log = WriteAheadLog.open(folder, low_water_bytes=0)
    for number in range(1, 4):
        log.append(tenant="default", traces=b"body")
        if number < 3:
            assert log.seal(number) and log.archive_next(number)
    log.close()
    ledger = Ledger.open(folder / "batches.jsonl")
    ledger.finish(Batch(first=1, last=3, records=3, items=3, token="t"))
    ledger.close()
    for path in folder.glob(f"**/{gone}") if gone == "*" else folder.glob(gone or "none"):
        if ".seg" in path.name:
            path.unlink()
    if removed:
        (folder / "archive" / "removed").write_text(removed)
    tmp_path.chmod(0o700)
    said = [found.said for found in check_directory(tmp_path, engine=False) if found.result == "failed"]
    assert said == ([f"{missing} records are missing that were there once; 3 were loaded"] if missing else [])


@pytest.mark.parametrize("archived", [False, True])
def test_a_damaged_segment_is_named_archived_or_not(tmp_path: Path, archived: bool) -> None:
    folder = tmp_path / "log"
    log = WriteAheadLog.open(folder, low_water_bytes=0)
    for number in range(1, 7):
        log.append(tenant="default", traces=f"{number}".encode() * 500)
        if number % 2 == 0:
            assert log.seal(number)
    while archived and log.archive_next(6):
        pass
    log.close()
    tmp_path.chmod(0o700)
    pattern = "archive/*.zst" if archived else "*.seg"
    _, damaged, _ = sorted(folder.glob(pattern))
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    [finding] = [found for found in check_directory(tmp_path, engine=False) if found.check == "log"]
    assert finding.result == "warning"
    assert "3 of 3 segments read" in finding.said
    assert f" log/{'archive/' if archived else ''}{damaged.name} from byte " in finding.said
    assert "back from a backup" in finding.todo


def test_a_segment_that_cannot_be_read_is_named_and_the_others_are_looked_at(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    log = WriteAheadLog.open(folder, low_water_bytes=0)
    for number in range(1, 4):
        log.append(tenant="default", traces=b"body")
        assert log.seal(number)
    log.close()
    tmp_path.chmod(0o700)
    first, *_ = sorted(folder.glob("*.seg"))
    first.unlink()
    first.mkdir()
    found = [found for found in check_directory(tmp_path, engine=False) if found.check == "log"]
    assert [each.result for each in found] == ["failed", "ok"]
    assert found[0].said.startswith(f"log/{first.name} cannot be read: ")
    assert found[1].said == "2 of 3 segments read, 2 records; 0 in the archive"


@pytest.mark.parametrize(
    ("number", "way_out"),
    [
        (errno.EROFS, "mount the disk for writing, or have the doctor look at a copy"),
        (errno.ENOSPC, "free some of the disk"),
        (errno.EACCES, "run doctor as the collector's user"),
    ],
)
def test_where_the_doctor_may_not_write_it_says_what_would_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, way_out: str
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    WriteAheadLog.open(tmp_path / "log", low_water_bytes=0).close()
    tmp_path.chmod(0o700)
    monkeypatch.setattr(directory, "claim", refuse)
    [found] = check_directory(tmp_path, engine=False)
    assert (found.result, found.todo) == ("failed", way_out)
    monkeypatch.setattr(Files, "create", refuse)
    assert check_sync(tmp_path).todo == way_out
