"""The archive: smaller files that read the same, and no moment at which a record is in neither."""

from __future__ import annotations

import errno
import os
import random
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from retrospan.ingest.load.batches import token_of
from retrospan.ingest.load.ledger import Batch, Ledger
from retrospan.ingest.log import archivist as archivist_module
from retrospan.ingest.log.archive import ArchiveDiffers
from retrospan.ingest.log.archivist import Archivist
from retrospan.ingest.log.record import decode
from retrospan.ingest.log.segment import segment_path
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.machine.durable_files import Files
from retrospan.schemas.errors import LogFull

BODIES = [random.Random(number).randbytes(300) + b"%03d" % number * 200 for number in range(40)]
EXPECTED = dict(enumerate(BODIES, 1))


def open_log(directory: Path, *, loaded_sequence: int = 0, files: Files | None = None) -> WriteAheadLog:
    return WriteAheadLog.open(
        directory, segment_bytes=5000, low_water_bytes=0, loaded_sequence=loaded_sequence, files=files
    )


def filled(directory: Path, files: Files | None = None) -> WriteAheadLog:
    log = open_log(directory, files=files)
    for body in BODIES:
        log.append(tenant="default", traces=body)
    return log


def archive_all(log: WriteAheadLog) -> None:
    while log.archive_next(log.durable_sequence):
        pass


def contents(log: WriteAheadLog, *, max_bytes: int = 1 << 20) -> dict[int, bytes | None]:
    found: dict[int, bytes | None] = {}
    after = 0
    while chunk := log.read(after, max_bytes=max_bytes):
        for frame in chunk.frames():
            record = decode(chunk.data[frame.body : frame.end])
            assert record.sequence > after
            after = record.sequence
            found[after] = record.traces
    return found


@pytest.fixture
def archived(tmp_path: Path) -> Path:
    """The directory of a closed log, everything but its newest segment archived."""
    log = filled(tmp_path / "log")
    archive_all(log)
    log.close()
    return tmp_path / "log"


@pytest.mark.parametrize("max_bytes", [1, 2000, 1 << 20])
def test_archived_records_are_read_as_plain_ones(tmp_path: Path, max_bytes: int) -> None:
    log = filled(tmp_path)
    before, plain = log.bytes_used, sorted(tmp_path.glob("*.seg"))
    archive_all(log)
    assert sorted(tmp_path.glob("*.seg")) == plain[-1:]
    packed = list((tmp_path / "archive").iterdir())
    assert len(packed) == len(plain) - 1 > 5
    assert log.archive_bytes == sum(path.stat().st_size for path in packed)
    assert log.bytes_used == log.archive_bytes + plain[-1].stat().st_size < before
    assert contents(log, max_bytes=max_bytes) == EXPECTED
    assert log.append(tenant="default", traces=b"next") == 41
    log.close()


@pytest.mark.parametrize("loaded", [0, 17, 40])
@pytest.mark.requirement("R06")
def test_an_archived_log_opens_whatever_the_cursor_says(archived: Path, loaded: int) -> None:
    log = open_log(archived, loaded_sequence=loaded)
    assert (log.recovery.reason, log.durable_sequence) == ("", 40)
    assert contents(log) == EXPECTED
    assert log.append(tenant="default", traces=b"next") == 41
    log.close()


@pytest.mark.requirement("R06")
def test_a_lost_ledger_means_that_everything_is_loaded_again(archived: Path) -> None:
    ledger = Ledger.open(archived / "batches.jsonl")
    batch = Batch(first=1, last=40, records=40, items=40, token=token_of(1, b""))
    ledger.begin(batch)
    ledger.finish(batch)
    ledger.close()
    (archived / "batches.jsonl").unlink()
    ledger = Ledger.open(archived / "batches.jsonl")
    assert (ledger.loaded_sequence, ledger.open_batch) == (0, None)
    ledger.close()
    log = open_log(archived, loaded_sequence=0)
    assert contents(log) == EXPECTED
    log.close()


def test_only_what_is_sealed_and_loaded_is_archived(tmp_path: Path) -> None:
    log = filled(tmp_path)
    second = int(sorted(tmp_path.glob("*.seg"))[1].stem)
    assert not log.archive_next(second - 2)
    assert log.archive_next(second - 1)
    assert not log.archive_next(second - 1)
    assert [path.name for path in (tmp_path / "archive").iterdir()] == [f"{1:020d}-{second - 1:020d}.seg.zst"]
    log.close()


def test_archiving_makes_room_below_the_limit(tmp_path: Path) -> None:
    log = WriteAheadLog.open(tmp_path, segment_bytes=5000, limit_bytes=30_000, low_water_bytes=0)
    with pytest.raises(LogFull):
        for _ in range(100):
            log.append(tenant="default", traces=b"x" * 1000)
    archive_all(log)
    assert log.append(tenant="default", traces=b"x" * 1000) == log.durable_sequence
    log.close()


def test_a_segment_that_is_there_twice_is_read_once(archived: Path) -> None:
    log = open_log(archived)
    first = log.read(0, max_bytes=1 << 20)
    assert first is not None
    log.close()
    # As after a crash between the archive's name and the plain file's removal.
    segment_path(archived, 1).write_bytes(first.data)
    log = open_log(archived)
    assert contents(log) == EXPECTED
    archive_all(log)
    assert not segment_path(archived, 1).exists()
    assert contents(log) == EXPECTED
    log.close()


def test_nothing_is_appended_to_an_archived_segment(archived: Path) -> None:
    [newest] = archived.glob("*.seg")
    first = int(newest.stem)
    newest.unlink()  # as when the power goes before its first record is durable
    log = open_log(archived)
    assert log.append(tenant="default", traces=b"") == first
    assert contents(log) == {number: body for number, body in EXPECTED.items() if number < first} | {
        first: b""
    }
    log.close()


def test_what_is_not_read_back_as_it_was_is_not_archived(tmp_path: Path) -> None:
    class Flipping(Files):
        def append(self, descriptor: int, parts: Sequence[bytes]) -> None:
            name = os.readlink(f"/proc/self/fd/{descriptor}")
            if name.endswith(".zst.new"):
                data = bytearray(b"".join(parts))
                data[len(data) // 2] ^= 1
                parts = [bytes(data)]
            super().append(descriptor, parts)

    log = filled(tmp_path, Flipping())
    with pytest.raises(ArchiveDiffers, match="differs from"):
        archive_all(log)
    assert list((tmp_path / "archive").iterdir()) == []
    assert contents(log) == EXPECTED
    assert len(list(tmp_path.glob("*.seg"))) > 5
    log.close()


@pytest.mark.requirement("R08")
def test_a_disk_too_full_to_archive_leaves_the_log_as_it_is(tmp_path: Path) -> None:
    class Full(Files):
        full = True

        def append(self, descriptor: int, parts: Sequence[bytes]) -> None:
            if self.full and os.readlink(f"/proc/self/fd/{descriptor}").endswith(".zst.new"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            super().append(descriptor, parts)

    files = Full()
    log = filled(tmp_path, files)
    with pytest.raises(OSError, match="No space left"):
        archive_all(log)
    assert list((tmp_path / "archive").iterdir()) == []
    assert log.append(tenant="default", traces=b"next") == 41
    files.full = False
    archive_all(log)
    assert contents(log) == EXPECTED | {41: b"next"}
    log.close()


def test_a_damaged_segment_stays_plain(tmp_path: Path) -> None:
    log = filled(tmp_path)
    segment = sorted(tmp_path.glob("*.seg"))[1]
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    archive_all(log)
    assert segment.read_bytes() == data
    assert len(list(tmp_path.glob("*.seg"))) == 2
    assert len(contents(log)) == 39
    assert log.recovery.damaged_places == 1
    log.close()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.requirement("R05")
def test_a_bit_flipped_in_the_archive_costs_no_more_than_its_segment(archived: Path, share: float) -> None:
    victim = sorted((archived / "archive").iterdir())[2]
    first, last = int(victim.name[:20]), int(victim.name[21:41])
    data = bytearray(victim.read_bytes())
    data[int(len(data) * share)] ^= 0x10
    victim.write_bytes(data)
    log = open_log(archived)
    found = contents(log)
    assert found.items() <= EXPECTED.items()
    assert EXPECTED.keys() - found.keys() <= set(range(first, last + 1))
    if len(found) < len(EXPECTED):
        assert log.recovery.reason
    log.close()


@pytest.mark.parametrize("loaded", [0, 40])
@pytest.mark.parametrize("content", [b"", bytes(2000)])
@pytest.mark.requirement("R06")
def test_an_emptied_or_zeroed_archive_is_reported(archived: Path, content: bytes, loaded: int) -> None:
    victim = sorted((archived / "archive").iterdir())[2]
    gone = set(range(int(victim.name[:20]), int(victim.name[21:41]) + 1))
    victim.write_bytes(content)
    log = open_log(archived, loaded_sequence=loaded)
    assert contents(log).keys() == EXPECTED.keys() - gone
    assert log.recovery.lost_records == len(gone)
    assert victim.name in log.recovery.reason
    log.close()


@pytest.mark.parametrize("loaded", [0, 40])
@pytest.mark.requirement("R06")
def test_a_missing_archive_is_counted(archived: Path, loaded: int) -> None:
    victim = sorted((archived / "archive").iterdir())[2]
    gone = set(range(int(victim.name[:20]), int(victim.name[21:41]) + 1))
    victim.unlink()
    log = open_log(archived, loaded_sequence=loaded)
    assert contents(log).keys() == EXPECTED.keys() - gone
    assert log.recovery.lost_records == len(gone)
    log.close()


def test_the_archivist_archives_what_becomes_loaded(tmp_path: Path) -> None:
    log = filled(tmp_path)
    loaded = 0
    archivist = Archivist(log, lambda: loaded)
    archivist.start()
    loaded = 40
    deadline = time.monotonic() + 300
    while len(list(tmp_path.glob("*.seg"))) > 1:
        assert time.monotonic() < deadline, archivist.failure
        time.sleep(0.02)
    archivist.stop()
    archivist.stop()
    assert contents(log) == EXPECTED
    log.close()


def test_the_archivist_waits_while_others_need_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archivist_module, "_LOOK_SECONDS", 0.01)
    log = filled(tmp_path)
    segments = len(list(tmp_path.glob("*.seg")))
    busy = True
    asked = threading.Event()

    def may_wait() -> bool:
        asked.set()
        return busy

    archivist = Archivist(log, lambda: 40, may_wait)
    archivist.start()
    assert asked.wait(60)
    assert len(list(tmp_path.glob("*.seg"))) == segments
    # A flood that does not end gets a segment from time to time; a lull, all of them.
    monkeypatch.setattr(archivist_module, "_PATIENCE_SECONDS", 0.0)
    deadline = time.monotonic() + 300
    while len(list(tmp_path.glob("*.seg"))) == segments:
        assert time.monotonic() < deadline, archivist.failure
        time.sleep(0.01)
    busy = False
    while len(list(tmp_path.glob("*.seg"))) > 1:
        assert time.monotonic() < deadline, archivist.failure
        time.sleep(0.01)
    archivist.stop()
    assert contents(log) == EXPECTED
    log.close()
