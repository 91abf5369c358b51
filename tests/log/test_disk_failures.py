"""A disk that fails: nothing unwritten is acknowledged, nothing failed is tried again."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.machine.durable_files import Files
from retrospan.ingest.machine.system_errors import worded
from retrospan.schemas.errors import LogFailed, LogFull


class Failing(Files):
    """The real disk, until told to fail."""

    def __init__(self) -> None:
        self.fail_sync: int = 0
        self.fail_write: int = 0
        self.fail_create: int = 0
        self.fail_names: int = 0
        self.written_before_failing = 0
        self.syncs = 0

    def create(self, path: Path) -> int:
        if self.fail_create:
            raise OSError(self.fail_create, os.strerror(self.fail_create))
        return super().create(path)

    def sync_directory(self, directory: Path) -> None:
        if self.fail_names:
            raise OSError(self.fail_names, os.strerror(self.fail_names))
        super().sync_directory(directory)

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


@pytest.mark.parametrize("failing", ["fail_create", "fail_names"])
@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "is full: free some space"),
        (errno.EMFILE, "Too many open files.*LimitNOFILE"),
        (errno.ENFILE, "Too many open files in system"),
        (errno.EACCES, "Permission denied. It must belong to the user.* It goes on by itself"),
    ],
)
@pytest.mark.requirement("R08")
def test_a_segment_that_cannot_be_begun_is_survived(
    tmp_path: Path, failing: str, number: int, said: str
) -> None:
    files = Failing()
    log = WriteAheadLog.open(tmp_path, segment_bytes=200, low_water_bytes=0, files=files)
    log.append(tenant="default", traces=b"x" * 150)
    setattr(files, failing, number)
    for _ in range(2):
        with pytest.raises(LogFull, match=said) as refused:
            log.append(tenant="default", traces=b"x" * 150)
        assert (log.obstacle, log.failure) == (str(refused.value), "")
    assert len(list(tmp_path.glob("*.seg"))) == 1, "half a segment was left"
    setattr(files, failing, 0)
    assert log.append(tenant="default", traces=b"x" * 150) == 2
    assert (log.obstacle, sequences(log)) == ("", [1, 2])
    log.close()
    again = WriteAheadLog.open(tmp_path, low_water_bytes=0)
    assert (again.recovery.reason, sequences(again)) == ("", [1, 2])
    again.close()


@pytest.mark.requirement("R07")
def test_a_name_that_the_disk_refuses_to_sync_ends_the_log(tmp_path: Path) -> None:
    files = Failing()
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0, files=files)
    files.fail_names = errno.EIO
    with pytest.raises(LogFailed, match="Restart to recover"):
        log.append(tenant="default", traces=b"one")
    files.fail_names = 0
    with pytest.raises(LogFailed):
        log.append(tenant="default", traces=b"two")
    log.close()


def test_an_error_of_a_write_names_the_file_and_a_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, parts: Sequence[bytes]) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "writev", full)
    with pytest.raises(OSError, match="No space left on device") as refused:
        Files().replace(tmp_path / "file", b"content")
    assert worded(refused.value) == (
        f"No space left on device ({tmp_path / 'file'}.new). Free some space on this disk, or use a directory on "
        "another one"
    )


@pytest.mark.parametrize(
    ("number", "cure"),
    [
        (errno.EACCES, "It must belong to the user"),
        (errno.EPERM, "It must belong to the user"),
        (errno.EEXIST, "a link by this name leads nowhere"),  # a log on a disk that is not mounted
        (errno.ENOTDIR, "Something else has this name"),
        (errno.EISDIR, "Something else has this name"),
        (errno.ELOOP, "Something else has this name"),
    ],
)
def test_what_cannot_be_used_is_told_with_what_to_do(number: int, cure: str) -> None:
    said = worded(OSError(number, os.strerror(number), "data/log"))
    assert said.startswith(f"{os.strerror(number)} (data/log). ") and cure in said


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
