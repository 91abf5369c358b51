"""The directory in which requests outlive their process: whole or not at all, in order, each delivered by one."""

from __future__ import annotations

import errno
import os
import re
import time
from pathlib import Path

import pytest
from exporter.conftest import MakePipeline
from exporter.receiver import TAKEN, Receiver, Reply
from exporter.test_delivery import lines, numbered, record

from retrospan.exporter.delivery import notices
from retrospan.exporter.delivery.spool import Damaged, Spool, Spooled, SpoolFull

PLENTY = 1 << 30


def files(directory: Path, ending: str = ".otlp") -> list[Path]:
    return sorted(directory.glob(f"*{ending}"))


def leave_behind(directory: Path, *bodies: bytes) -> None:
    """Write as a process that then dies: its lock goes with it, its files stay."""
    spool = Spool(directory, PLENTY)
    for body in bodies:
        spool.write(body, 1)
    spool.leave_to_parent()


def test_files_of_the_living_are_left_alone_and_of_the_dead_adopted_once_and_in_order(tmp_path: Path) -> None:
    living = Spool(tmp_path, PLENTY)
    living.write(b"living", 1)
    leave_behind(tmp_path, b"a", b"b")
    leave_behind(tmp_path, b"c")
    heir, other = Spool(tmp_path, PLENTY), Spool(tmp_path, PLENTY)
    adopted = heir.adopt()
    assert [heir.read(spooled)[0] for spooled in adopted] == [b"a", b"b", b"c"]
    assert other.adopt() == [] and heir.adopt() == []
    for spooled in adopted:
        heir.remove(spooled)
    for owner in {spooled.owner for spooled in adopted}:
        heir.release(owner)
    heir.close()
    living.close()
    assert [other.read(spooled)[0] for spooled in other.adopt()] == [b"living"]
    assert len(files(tmp_path, ".lock")) == 2


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    spool = Spool(tmp_path, PLENTY)
    spooled = spool.write(b"body" * 1000, 3)
    assert spool.read(spooled) == (b"body" * 1000, 3)
    assert oct(spooled.path.stat().st_mode & 0o777) == "0o600"
    whole = spooled.path.read_bytes()
    for damaged in (whole[:5], whole[:-1], whole[:100] + b"X" + whole[101:], b""):
        spooled.path.write_bytes(damaged)
        with pytest.raises(Damaged):
            spool.read(spooled)
    # Half-written by a process that was killed: nobody takes it for a request.
    spool.close()
    (tmp_path / "1-00000000.part").write_bytes(whole[:50])
    heir = Spool(tmp_path, PLENTY)
    assert len(heir.adopt()) == 1
    assert not files(tmp_path, ".part")


def test_a_full_spool_says_so_and_has_room_again_after_delivery(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 10_000)
    first = spool.write(b"x" * 6_000, 1)
    with pytest.raises(SpoolFull):
        spool.write(b"x" * 6_000, 1)
    spool.remove(first)
    spool.write(b"x" * 6_000, 1)


def test_spans_wait_on_disk_while_the_receiver_is_away_and_arrive_in_order(
    pipeline: MakePipeline, receiver: Receiver, tmp_path: Path
) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    built, provider = pipeline(spool=tmp_path)
    for name in numbered(10):
        record(provider, name)
        built._backlog.wake()
        time.sleep(0.01)
    receiver.until(lambda: built._backlog._used == 0)
    assert files(tmp_path) and built.counts().waiting == 10
    receiver.answer = receiver.answer_logs = lambda body: TAKEN
    assert built.flush(10)
    assert receiver.names() == numbered(10)
    assert files(tmp_path) == []


def test_what_a_shut_down_process_left_the_next_delivers_first(
    pipeline: MakePipeline, receiver: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    gone, provider = pipeline(spool=tmp_path)
    record(provider, "older 1", "older 2")
    assert not gone.shutdown(1)
    assert gone.counts().lost == {} and gone.counts().waiting == 2
    assert any(
        re.search(rf"2 span\(s\) and [23] log record\(s\) are left in {tmp_path}", line)
        for line in lines(caplog)
    )
    receiver.answer = receiver.answer_logs = lambda body: TAKEN
    heir, provider = pipeline(spool=tmp_path)
    record(provider, "newer")
    assert heir.flush(10)
    assert receiver.names() == ["older 1", "older 2", "newer"]
    assert heir.counts().delivered == 1
    assert files(tmp_path) == []


def test_a_damaged_file_is_put_aside_and_does_not_stop_the_others(
    pipeline: MakePipeline, receiver: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    gone, provider = pipeline(spool=tmp_path)
    record(provider, "damaged")
    receiver.until(lambda: len(files(tmp_path)) == 1)
    record(provider, "good")
    receiver.until(lambda: len(files(tmp_path)) == 2)
    gone.shutdown(0)
    damaged = files(tmp_path)[0]
    damaged.write_bytes(damaged.read_bytes()[:-3])
    receiver.answer = receiver.answer_logs = lambda body: TAKEN
    heir, _ = pipeline(spool=tmp_path)
    heir.start()
    receiver.until(lambda: receiver.names() == ["good"])
    receiver.until(lambda: files(tmp_path) == [] and len(files(tmp_path, ".damaged")) == 1)
    assert heir.counts().lost == {notices.DAMAGED: 1}
    assert any(".damaged" in line for line in lines(caplog))


def test_a_file_that_cannot_be_read_for_a_moment_is_neither_lost_nor_in_the_way(
    pipeline: MakePipeline, receiver: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    built, provider = pipeline(spool=tmp_path / "spool")
    for number, name in enumerate(numbered(3), 1):
        record(provider, name)
        receiver.until(lambda number=number: len(files(tmp_path / "spool")) == number)  # type: ignore[misc]
    # The first is being sent; what stands in the second's place cannot be read, as where descriptors have run out.
    second = files(tmp_path / "spool")[1]
    second.rename(tmp_path / "kept")
    second.mkdir()
    receiver.answer = receiver.answer_logs = lambda body: TAKEN
    receiver.until(lambda: receiver.names() == ["span 0", "span 2"])
    second.rmdir()
    (tmp_path / "kept").rename(second)
    assert built.flush(60)
    assert receiver.names() == ["span 0", "span 2", "span 1"]
    assert built.counts().lost == {} and built.counts().delivered == 3
    assert len([line for line in lines(caplog) if "the spool cannot be read" in line]) == 1
    assert files(tmp_path / "spool") == []


def test_a_damaged_file_that_cannot_be_renamed_stays(
    pipeline: MakePipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(spool: Spool, spooled: Spooled) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(Spool, "put_aside", refuse)
    leave_behind(tmp_path, b"damaged")
    (left,) = files(tmp_path)
    left.write_bytes(left.read_bytes()[:-1])
    heir, provider = pipeline(spool=tmp_path)
    record(provider, "newer")
    assert heir.flush(60)
    assert heir.counts().lost == {notices.DAMAGED: 1}
    assert files(tmp_path) == [left]


def test_a_directory_that_cannot_be_listed_for_a_moment_is_adopted_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_behind(tmp_path, b"a")
    heir = Spool(tmp_path, PLENTY)
    listed, listing = [heir._names()], Spool._names

    def short(spool: Spool) -> list[str]:
        if listed:
            return listed.pop()
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Spool, "_names", short)
    assert heir.adopt() == []
    monkeypatch.setattr(Spool, "_names", listing)
    assert [heir.read(spooled)[0] for spooled in heir.adopt()] == [b"a"]


def test_a_spool_that_is_full_or_cannot_be_used_gives_way_to_memory(
    pipeline: MakePipeline, receiver: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    built, provider = pipeline(spool=tmp_path / "full", spool_bytes=3_000)
    for name in numbered(8):
        record(provider, name, payload="x" * 1_000)
        built._backlog.wake()
        receiver.until(lambda: len(built._backlog) == 0)
    (tmp_path / "file").write_bytes(b"")
    other, second = pipeline(spool=tmp_path / "file" / "below")
    record(second, "in memory")
    receiver.answer = receiver.answer_logs = lambda body: TAKEN
    assert built.flush(10) and other.flush(10)
    assert [name for name in receiver.names() if name != "in memory"] == numbered(8)
    assert "in memory" in receiver.names()
    assert any("the spool is full" in line for line in lines(caplog))
    assert any("cannot be used" in line for line in lines(caplog))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written_is_reported(pipeline: MakePipeline, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    built, provider = pipeline(spool=tmp_path)
    record(provider, "one")
    assert built.flush(10)
