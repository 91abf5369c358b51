"""The log as another process follows it: it reads what it was told is durable, archives, and tells what became of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrospan.ingest.log.follower import LogFollower
from retrospan.ingest.log.rewrite import rewrite
from retrospan.ingest.log.segment import Segment
from retrospan.ingest.log.segment_messages import archived_path, segment_message, segments_of
from retrospan.ingest.log.write_ahead_log import WriteAheadLog


@pytest.fixture
def log(tmp_path: Path) -> Iterator[WriteAheadLog]:
    opened = WriteAheadLog.open(tmp_path / "log", segment_bytes=2_000, low_water_bytes=0)
    yield opened
    opened.close()


def follow(log: WriteAheadLog) -> LogFollower:
    """A follower that knows what a new process is told, over the same words; what it moves is told back."""

    def moved(segment: Segment, there: bool) -> None:
        told = segment_message(segment, log.directory)
        path = archived_path(told["path"] if there else None, log.directory)
        log.note_archived(segment.first, path, segment.size, segment.packed)

    told = [segment_message(segment, log.directory) for segment in log.segments()]
    return LogFollower(log.directory, segments_of(told, log.directory), lambda **_: 0, moved)


def grow(follower: LogFollower, log: WriteAheadLog, first: int = 0) -> None:
    told = [segment_message(segment, log.directory) for segment in log.segments(first)]
    follower.grow(segments_of(told, log.directory))


def fill(log: WriteAheadLog, records: int, size: int = 300) -> None:
    for number in range(records):
        log.append(tenant="default", traces=bytes([number % 256]) * size, items=1)


def sequences(log: LogFollower | WriteAheadLog) -> list[int]:
    found: list[int] = []
    while chunk := log.read(found[-1] if found else 0, max_bytes=700):
        found += [frame.sequence for frame in chunk.frames()]
    return found


def test_it_reads_what_it_was_told_is_durable_and_no_byte_beyond(log: WriteAheadLog) -> None:
    fill(log, 20)
    follower = follow(log)
    assert sequences(follower) == list(range(1, 21))
    fill(log, 15)
    assert sequences(follower) == list(range(1, 21))
    assert not follower.wait_beyond(20, 0.0)
    grow(follower, log)
    assert follower.durable_sequence == 35
    assert sequences(follower) == list(range(1, 36))
    follower.close()


def test_a_follower_of_an_empty_log_hears_of_its_first_record(log: WriteAheadLog) -> None:
    follower = follow(log)
    assert follower.read(0, max_bytes=100) is None
    assert (follower.durable_sequence, follower.bytes_beyond(0)) == (0, 0)
    fill(log, 1)
    grow(follower, log)
    assert sequences(follower) == [1]
    follower.close()


@settings(max_examples=40, deadline=None)
@given(
    growths=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    told=st.lists(st.integers(0, 20), max_size=20),
)
def test_however_often_and_late_it_is_told_it_reads_all(
    tmp_path_factory: pytest.TempPathFactory, growths: list[int], told: list[int]
) -> None:
    log = WriteAheadLog.open(tmp_path_factory.mktemp("log"), segment_bytes=1_000, low_water_bytes=0)
    follower = follow(log)
    words: list[list[dict[str, object]]] = []
    for records in growths:
        fill(log, records, 150)
        words.append([segment_message(segment, log.directory) for segment in log.segments()])
    # Words may be repeated and come late; an old one takes nothing back.
    for number in [*told, len(words) - 1]:
        before = follower.durable_sequence
        follower.grow(segments_of(words[min(number, len(words) - 1)], log.directory))
        assert follower.durable_sequence >= before
        assert len(sequences(follower)) == follower.durable_sequence
    total = sum(growths)
    assert follower.durable_sequence == total
    assert sequences(follower) == list(range(1, total + 1))
    follower.close()
    log.close()


def test_what_it_archives_counts_in_the_log_of_the_writer(log: WriteAheadLog) -> None:
    fill(log, 60)
    before = log.bytes_used
    follower = follow(log)
    while follower.archive_next(60):
        pass
    on_disk = sum(path.stat().st_size for path in log.directory.rglob("*.seg*"))
    assert log.bytes_used == follower.disk_bytes == on_disk < before
    assert sequences(follower) == sequences(log) == list(range(1, 61))
    follower.close()


def test_what_it_removes_and_rewrites_counts_too(log: WriteAheadLog) -> None:
    fill(log, 60)
    follower = follow(log)
    while follower.archive_next(60):
        pass
    gone, shorter = follower.archived(60)[:2]
    follower.put_back(rewrite(gone, lambda record: None, log._files))
    keep = iter([b"", None, *[b""] * 100])
    follower.put_back(rewrite(shorter, lambda record: next(keep), log._files))
    kept = [s for s in range(1, 61) if not gone.first <= s <= gone.last and s != shorter.first + 1]
    assert sequences(follower) == sequences(log) == kept
    on_disk = sum(path.stat().st_size for path in log.directory.rglob("*.seg*"))
    assert log.bytes_used == on_disk
    follower.close()


def test_a_follower_that_was_killed_before_it_could_tell_loses_nothing(log: WriteAheadLog) -> None:
    fill(log, 60)
    silent = LogFollower(
        log.directory,
        segments_of([segment_message(s, log.directory) for s in log.segments()], log.directory),
        lambda **_: 0,
        lambda segment, there: None,
    )
    for _ in range(3):
        silent.archive_next(60)
    silent.close()
    log.look_again()
    follower = follow(log)
    assert sequences(follower) == sequences(log) == list(range(1, 61))
    on_disk = sum(path.stat().st_size for path in log.directory.rglob("*.seg*"))
    assert log.bytes_used == on_disk
    follower.close()


def test_both_forms_of_a_segment_are_told_apart(log: WriteAheadLog, tmp_path: Path) -> None:
    fill(log, 60)
    first = log.segments()[0]
    shutil.copy(first.path, tmp_path / "plain")
    silent = follow(log)
    silent._moved = lambda segment, there: None
    silent.archive_next(60)
    shutil.copy(tmp_path / "plain", first.path)
    log.look_again()
    follower = follow(log)
    assert sequences(follower) == list(range(1, 61))
    assert first.first not in {segment.first for segment in follower.archived(60)}
    silent.close()
    follower.close()


@pytest.mark.parametrize("name", ["/etc/passwd", "../lock", "archive/../../lock", "a/b/c"])
def test_a_name_outside_the_log_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not a segment of the log"):
        archived_path(name, tmp_path)


def test_a_follower_seals_by_the_writer_and_both_go_on(tmp_path: Path) -> None:
    log = WriteAheadLog.open(tmp_path / "log", segment_bytes=2_000, low_water_bytes=0)
    fill(log, 20)
    follower = follow(log)
    follower._ask_to_seal = log.seal
    fill(log, 1)
    assert not follower.seal(20), "the writer has one more"
    grow(follower, log)
    assert follower.seal(21)
    while follower.archive_next(21):
        pass
    assert not list(log.directory.glob("*.seg"))
    assert sequences(follower) == sequences(log) == list(range(1, 22))
    fill(log, 9)
    grow(follower, log)
    assert sequences(follower) == sequences(log) == list(range(1, 31))
    assert log.bytes_used == sum(path.stat().st_size for path in log.directory.rglob("*.seg*"))
    follower.close()
    log.close()


def test_a_follower_that_was_killed_while_it_archived_the_newest_loses_nothing(tmp_path: Path) -> None:
    log = WriteAheadLog.open(tmp_path / "log", segment_bytes=2_000, low_water_bytes=0)
    fill(log, 20)
    silent = follow(log)

    def say_nothing(segment: Segment, there: bool) -> None:
        """Killed before it could tell."""

    silent._moved = say_nothing
    silent._ask_to_seal = log.seal
    assert silent.seal(20)
    while silent.archive_next(20):
        pass
    silent.close()
    log.look_again()
    follower = follow(log)
    assert sequences(follower) == sequences(log) == list(range(1, 21))
    fill(log, 5)
    grow(follower, log)
    assert sequences(follower) == sequences(log) == list(range(1, 26))
    follower.close()
    log.close()
