"""Appending and reading: order, group commit, limits, segments."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from retrospan.ingest.log.disk_budget import FOR_NOTES
from retrospan.ingest.log.record import Note, Record, Reject, decode
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.machine.durable_files import Files
from retrospan.schemas.errors import LogFailed, LogFull


@pytest.fixture
def log(tmp_path: Path) -> Iterator[WriteAheadLog]:
    log = WriteAheadLog.open(tmp_path / "log", low_water_bytes=0)
    yield log
    log.close()


def read_all(log: WriteAheadLog, *, max_bytes: int = 1 << 20) -> list[Record]:
    records: list[Record] = []
    after = 0
    while chunk := log.read(after, max_bytes=max_bytes):
        found = [decode(chunk.data[frame.body : frame.end]) for frame in chunk.frames()]
        assert len(found) == chunk.records
        assert (found[0].sequence, found[-1].sequence) == (chunk.first_sequence, chunk.last_sequence)
        records += found
        after = chunk.last_sequence
    return records


def test_what_is_appended_is_read_back_as_it_was(log: WriteAheadLog) -> None:
    reject = Reject(signal="traces", spans=3, reason="why", request_hash=b"h" * 32, sample=b"\x00\xff" * 400)
    assert log.append(tenant="default", traces=b"\x00raw\xff", rejects=[reject]) == 1
    assert log.append(tenant="Ünicode", logs=b"logs") == 2
    assert log.append(tenant="default", rejects=[Reject(signal="logs", spans=0, reason="")]) == 3
    first, second, third = read_all(log)
    assert (first.traces, first.logs, second.traces, second.logs) == (b"\x00raw\xff", None, None, b"logs")
    assert second.tenant == "Ünicode"
    assert first.rejects[0].sample == reject.sample[:512]
    assert (first.rejects[0].spans, first.rejects[0].reason, first.rejects[0].request_hash) == (
        3,
        "why",
        b"h" * 32,
    )
    assert third.rejects == [Reject(signal="logs", spans=0, reason="")]
    assert first.arrived_at < second.arrived_at < third.arrived_at


def test_arrivals_grow_also_when_the_clock_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are told apart and put in order by arrival: none is earlier than, or equal to, one before it."""
    clock = iter([1_000, 1_000, 400, 2_000, 5, 7])
    monkeypatch.setattr("retrospan.ingest.log.write_ahead_log.time.time_ns", lambda: next(clock))
    for expected in ([1_000, 1_001, 1_002, 2_000], [1_000, 1_001, 1_002, 2_000, 2_001, 2_002]):
        log = WriteAheadLog.open(tmp_path / "log", low_water_bytes=0)
        while len(read_all(log)) < len(expected):
            log.append(tenant="default", traces=b"spans")
        assert [record.arrived_at for record in read_all(log)] == expected
        log.close()


def test_many_threads_share_commits_and_every_record_has_its_own_sequence(tmp_path: Path) -> None:
    class Counting(Files):
        syncs = 0

        def sync(self, descriptor: int) -> None:
            self.syncs += 1
            super().sync(descriptor)

    files = Counting()
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0, files=files)
    threads, each = 16, 50
    together = threading.Barrier(threads)

    def work(number: int) -> list[tuple[int, bytes]]:
        together.wait()
        done: list[tuple[int, bytes]] = []
        for index in range(each):
            body = b"%d/%d" % (number, index)
            done.append((log.append(tenant="default", traces=body), body))
        return done

    with ThreadPoolExecutor(threads) as pool:
        acknowledged = dict(itertools.chain.from_iterable(pool.map(work, range(threads))))
    assert sorted(acknowledged) == list(range(1, threads * each + 1))
    assert {record.sequence: record.traces for record in read_all(log)} == acknowledged
    assert files.syncs < threads * each
    log.close()


def test_everything_that_waits_goes_out_with_one_sync(tmp_path: Path) -> None:
    class Holding(Files):
        def __init__(self) -> None:
            self.go = threading.Event()
            self.syncs = 0

        def sync(self, descriptor: int) -> None:
            self.go.wait(300)
            self.syncs += 1
            super().sync(descriptor)

    files = Holding()
    files.go.set()
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0, files=files)
    files.go.clear()
    before = files.syncs
    pending = [log.append_later(tenant="default", traces=b"%d" % number) for number in range(100)]
    assert log.durable_sequence == 0
    assert not any(each.done() for each in pending)
    assert log.read(0, max_bytes=1000) is None
    files.go.set()
    assert [each.result(30) for each in pending] == list(range(1, 101))
    # One for the new segment's name, one for what the writer found first, one for all that came meanwhile.
    assert files.syncs - before <= 3
    log.close()


def test_a_reader_wakes_when_something_becomes_durable(log: WriteAheadLog) -> None:
    assert not log.wait_beyond(0, timeout=0)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(log.wait_beyond, 0, 30)
        log.append(tenant="default", traces=b"x")
        assert waiting.result(30)
    assert log.wait_beyond(0, timeout=0)
    assert not log.wait_beyond(1, timeout=0)


def test_segments_are_named_by_their_first_sequence_and_read_as_one_log(tmp_path: Path) -> None:
    log = WriteAheadLog.open(tmp_path, segment_bytes=1000, low_water_bytes=0)
    bodies = [bytes([number]) * 300 for number in range(20)]
    for body in bodies:
        log.append(tenant="default", traces=body)
    segments = sorted(tmp_path.glob("*.seg"))
    assert len(segments) > 5
    assert all(segment.stat().st_size <= 1000 for segment in segments)
    assert [record.traces for record in read_all(log)] == bodies
    for segment in segments:
        chunk = log.read(int(segment.stem) - 1, max_bytes=1)
        assert chunk is not None
        assert (chunk.first_sequence, chunk.records) == (int(segment.stem), 1)
    log.close()


def test_bytes_beyond_a_record_are_those_of_the_records_that_follow(tmp_path: Path) -> None:
    log = WriteAheadLog.open(tmp_path / "log", low_water_bytes=0, segment_bytes=2000)
    assert log.bytes_beyond(0) == 0
    for _ in range(20):
        log.append(tenant="default", traces=b"x" * 400)
    assert log.bytes_beyond(0) == log.bytes_used
    assert log.bytes_beyond(20) == 0
    beyond = [log.bytes_beyond(sequence) for sequence in range(21)]
    assert beyond == sorted(beyond, reverse=True) and len(set(beyond)) == 21
    record = log.bytes_used // 20
    assert all(abs(found - (20 - sequence) * record) <= 20 for sequence, found in enumerate(beyond))
    log.close()


def test_a_record_larger_than_the_reader_wants_is_read_whole(log: WriteAheadLog) -> None:
    log.append(tenant="default", traces=b"a")
    log.append(tenant="default", traces=b"x" * 100_000)
    log.append(tenant="default", traces=b"b")
    assert [len(record.traces or b"") for record in read_all(log, max_bytes=10)] == [1, 100_000, 1]


def test_a_read_can_end_at_a_sequence(log: WriteAheadLog) -> None:
    for _ in range(10):
        log.append(tenant="default", traces=b"x")
    chunk = log.read(3, max_bytes=1 << 20, until=7)
    assert chunk is not None
    assert (chunk.first_sequence, chunk.last_sequence, chunk.records) == (4, 7, 4)
    assert log.read(7, max_bytes=1 << 20, until=7) is None


def test_reopening_goes_on_where_it_was(tmp_path: Path) -> None:
    for number in range(1, 6):
        log = WriteAheadLog.open(tmp_path, low_water_bytes=0)
        assert log.append(tenant="default", traces=b"%d" % number) == number
        assert log.recovery.reason == ""
        log.close()
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0)
    assert [record.traces for record in read_all(log)] == [b"1", b"2", b"3", b"4", b"5"]
    arrivals = [record.arrived_at for record in read_all(log)]
    assert arrivals == sorted(set(arrivals))
    assert len(list(tmp_path.glob("*.seg"))) == 1
    log.close()


def test_sequences_the_warehouse_has_are_never_given_out_again(tmp_path: Path) -> None:
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0)
    log.append(tenant="default", traces=b"one")
    log.close()
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0, loaded_sequence=40)
    assert log.append(tenant="default", traces=b"two") == 41
    assert [record.sequence for record in read_all(log)] == [1, 41]
    log.close()
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0)
    assert [record.sequence for record in read_all(log)] == [1, 41]
    assert log.recovery.lost_records == 39
    log.close()


@pytest.mark.requirement("R08")
def test_a_full_log_refuses_and_keeps_what_it_has(tmp_path: Path) -> None:
    log = WriteAheadLog.open(tmp_path, limit_bytes=1000, low_water_bytes=0)
    log.append(tenant="default", traces=b"x" * 700)
    with pytest.raises(LogFull, match="its limit is 1000"):
        log.append(tenant="default", traces=b"x" * 700)
    assert log.append(tenant="default", traces=b"small") == 2
    receipt = Note("receipt", b"r" * 700)
    assert log.append(tenant="default", notes=[receipt]) == 3, "what makes room is taken beyond the limit"
    with pytest.raises(LogFull, match="delete runs"):
        log.append(tenant="default", traces=b"x", notes=[receipt])
    with pytest.raises(LogFull, match="its limit is 1000"):
        log.append(tenant="default", notes=[Note("receipt", b"r" * FOR_NOTES)])
    assert log.bytes_used == sum(path.stat().st_size for path in tmp_path.glob("*.seg"))
    log.close()


@pytest.mark.requirement("R08")
def test_below_the_low_water_mark_nothing_is_taken_until_there_is_room_again(tmp_path: Path) -> None:
    class Shrinking(Files):
        free = 10_000

        def free_bytes(self, directory: Path) -> int:
            return self.free

    files = Shrinking()
    log = WriteAheadLog.open(tmp_path, low_water_bytes=5_000, files=files)
    log.append(tenant="default", traces=b"x")
    files.free = 5_010
    log.append(tenant="default", traces=b"this one notices how little is left")
    with pytest.raises(LogFull, match="free some space"):
        log.append(tenant="default", traces=b"x" * 100)
    assert log.append(tenant="default", notes=[Note("receipt", b"r" * 100)]) == 3
    files.free = 10_000
    assert log.append(tenant="default", traces=b"x" * 100) == 4
    log.close()


def test_a_closed_log_takes_nothing(tmp_path: Path) -> None:
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0)
    pending = log.append_later(tenant="default", traces=b"accepted before")
    log.close()
    log.close()
    assert pending.result(0) == 1
    with pytest.raises(LogFailed, match="closed"):
        log.append(tenant="default", traces=b"too late")
