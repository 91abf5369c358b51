"""A disk that fails: nothing unwritten is acknowledged, nothing failed is tried again."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from retrospan.ingest.durable_files import Files
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.schemas.errors import LogFailed, LogFull


class Failing(Files):
    """The real disk, until told to fail."""

    def __init__(self) -> None:
        self.fail_sync: int = 0
        self.fail_write: int = 0
        self.fail_create: int = 0
        self.written_before_failing = 0
        self.syncs = 0

    def create(self, path: Path) -> int:
        if self.fail_create:
            raise OSError(self.fail_create, os.strerror(self.fail_create))
        return super().create(path)

    def append(self, descriptor: int, parts: Sequence[bytes]) -> None:
        if self.fail_write:
            super().append(descriptor, [b"".join(parts)[: self.written_before_failing]])
            raise OSError(self.fail_write, os.strerror(self.fail_write))
        super().append(descriptor, parts)

    def sync(self, descriptor: int) -> None:
        self.syncs += 1
        if self.fail_sync:
            raise OSError(self.fail_sync, os.strerror(self.fail_sync))
        super().sync(descriptor)


def sequences(log: WriteAheadLog) -> list[int]:
    found: list[int] = []
    while chunk := log.read(found[-1] if found else 0, max_bytes=1 << 20):
        found += [frame.sequence for frame in chunk.frames()]
    return found


@pytest.mark.requirement("R07")
def test_after_a_failed_sync_nothing_is_acknowledged_until_a_restart(tmp_path: Path) -> None:
    files = Failing()
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0, files=files)
    assert log.append(tenant="default", traces=b"one") == 1
    files.fail_sync = errno.EIO
    with pytest.raises(LogFailed, match="Input/output error"):
        log.append(tenant="default", traces=b"two")
    files.fail_sync = 0
    synced = files.syncs
    with pytest.raises(LogFailed, match="Restart to recover"):
        log.append(tenant="default", traces=b"three")
    assert files.syncs == synced, "a failed sync must not be repeated"
    assert log.durable_sequence == 1
    assert sequences(log) == [1]
    assert "Input/output error" in log.failure
    log.close()
    again = WriteAheadLog.open(tmp_path, low_water_bytes=0)
    assert sequences(again)[0] == 1
    number = again.append(tenant="default", traces=b"four")
    assert sequences(again)[-1] == number
    again.close()


@pytest.mark.requirement("R07")
def test_a_failed_write_ends_the_log_for_all_who_wait(tmp_path: Path) -> None:
    files = Failing()
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0, files=files)
    files.fail_write, files.written_before_failing = errno.EIO, 9
    pending = [log.append_later(tenant="default", traces=b"x") for _ in range(3)]
    for each in pending:
        with pytest.raises(LogFailed):
            each.result(30)
    log.close()
    again = WriteAheadLog.open(tmp_path, low_water_bytes=0)
    assert again.recovery.cut_bytes == 9
    assert again.append(tenant="default", traces=b"y") == 1
    again.close()


@pytest.mark.parametrize("written", [0, 1, 20])
@pytest.mark.requirement("R08")
def test_a_disk_found_full_by_the_write_is_survived_without_a_restart(tmp_path: Path, written: int) -> None:
    files = Failing()
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0, files=files)
    log.append(tenant="default", traces=b"one")
    files.fail_write, files.written_before_failing = errno.ENOSPC, written
    with pytest.raises(LogFull, match="is full"):
        log.append(tenant="default", traces=b"two" * 20)
    files.fail_write = 0
    assert log.append(tenant="default", traces=b"three") == 2
    assert sequences(log) == [1, 2]
    log.close()
    again = WriteAheadLog.open(tmp_path, low_water_bytes=0)
    assert (again.recovery.reason, sequences(again)) == ("", [1, 2])
    again.close()


@pytest.mark.requirement("R08")
def test_no_room_for_a_new_segment_is_survived(tmp_path: Path) -> None:
    files = Failing()
    log = WriteAheadLog.open(tmp_path, segment_bytes=200, low_water_bytes=0, files=files)
    log.append(tenant="default", traces=b"x" * 150)
    files.fail_create = errno.ENOSPC
    with pytest.raises(LogFull):
        log.append(tenant="default", traces=b"x" * 150)
    files.fail_create = 0
    assert log.append(tenant="default", traces=b"x" * 150) == 2
    assert sequences(log) == [1, 2]
    log.close()


@pytest.mark.parametrize("taken", [0, 1, 5, 6, 9])
def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int) -> None:
    def short(descriptor: int, parts: Sequence[bytes]) -> int:
        return os.write(descriptor, b"".join(parts)[:taken])

    monkeypatch.setattr(os, "writev", short)
    files = Files()
    descriptor = files.create(tmp_path / "file")
    files.append(descriptor, [b"abc", b"", b"def", b"ghi"])
    files.close(descriptor)
    assert (tmp_path / "file").read_bytes() == b"abcdefghi"


def test_more_parts_than_one_write_takes_arrive_in_order(tmp_path: Path) -> None:
    files = Files()
    descriptor = files.create(tmp_path / "file")
    files.append(descriptor, [b"%d," % number for number in range(5000)])
    files.close(descriptor)
    assert (tmp_path / "file").read_bytes() == b"".join(b"%d," % number for number in range(5000))
