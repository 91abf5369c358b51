"""What a damaged log gives back: everything that is whole, and the count of what is not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrospan.ingest.log.record import decode, encode
from retrospan.ingest.log.segment import segment_path
from retrospan.ingest.log.write_ahead_log import WriteAheadLog


def written(directory: Path, bodies: list[bytes], *, segment_bytes: int = 1 << 20) -> list[Path]:
    """A closed log with these bodies; returns its segments."""
    log = WriteAheadLog.open(directory, segment_bytes=segment_bytes, low_water_bytes=0)
    for body in bodies:
        log.append(tenant="default", traces=body)
    log.close()
    return sorted(directory.glob("*.seg"))


def open_log(directory: Path, *, loaded_sequence: int = 0) -> WriteAheadLog:
    return WriteAheadLog.open(directory, low_water_bytes=0, loaded_sequence=loaded_sequence)


def contents(log: WriteAheadLog) -> dict[int, bytes | None]:
    found: dict[int, bytes | None] = {}
    after = 0
    while chunk := log.read(after, max_bytes=1 << 20):
        for frame in chunk.frames():
            record = decode(chunk.data[frame.body : frame.end])
            found[record.sequence] = record.traces
        after = chunk.last_sequence
    return found


def offsets(bodies: list[bytes]) -> list[int]:
    """Where each of these records starts in a segment of its own, and where the last ends."""
    sizes = [
        encode(arrived_at=1, sequence=number, tenant="default", traces=body)[1]
        for number, body in enumerate(bodies, 1)
    ]
    return [sum(sizes[:count]) for count in range(len(sizes) + 1)]


BODIES = [b"first", b"second, somewhat longer", b"third"]


@pytest.mark.requirement("R04")
def test_a_tail_torn_at_any_byte_of_the_last_record_is_cut_and_counted(tmp_path: Path) -> None:
    [segment] = written(tmp_path / "whole", BODIES)
    whole = segment.read_bytes()
    starts = offsets(BODIES)
    for size in range(starts[2] + 1, starts[3]):
        directory = tmp_path / str(size)
        directory.mkdir()
        (directory / segment.name).write_bytes(whole[:size])
        log = open_log(directory)
        assert log.recovery.cut_bytes == size - starts[2]
        assert "torn end" in log.recovery.reason
        assert contents(log) == {1: BODIES[0], 2: BODIES[1]}
        [aside] = directory.glob("*.torn")
        assert aside.read_bytes() == whole[starts[2] : size]
        assert log.append(tenant="default", traces=b"next") == 3
        assert contents(log) == {1: BODIES[0], 2: BODIES[1], 3: b"next"}
        log.close()
        again = open_log(directory)
        assert again.recovery.cut_bytes == 0
        again.close()


@pytest.mark.requirement("R05")
def test_a_bit_flipped_anywhere_in_the_middle_loses_that_record_only(tmp_path: Path) -> None:
    [segment] = written(tmp_path / "whole", BODIES)
    whole = segment.read_bytes()
    starts = offsets(BODIES)
    for position in range(starts[1], starts[2]):
        directory = tmp_path / str(position)
        directory.mkdir()
        damaged = bytearray(whole)
        damaged[position] ^= 0x10
        (directory / segment.name).write_bytes(damaged)
        log = open_log(directory)
        assert contents(log) == {1: BODIES[0], 3: BODIES[2]}, position
        assert log.recovery.lost_records == 1
        assert log.recovery.damaged_bytes == starts[2] - starts[1]
        assert log.recovery.cut_bytes == 0
        assert log.append(tenant="default", traces=b"next") == 4
        assert (directory / segment.name).read_bytes()[: len(damaged)] == damaged
        log.close()


@pytest.mark.requirement("R05")
def test_damage_that_comes_while_the_log_is_open_is_found_by_reading(tmp_path: Path) -> None:
    [segment] = written(tmp_path, BODIES)
    log = open_log(tmp_path)
    starts = offsets(BODIES)
    damaged = bytearray(segment.read_bytes())
    damaged[starts[1] + 30] ^= 1
    segment.write_bytes(damaged)
    assert contents(log) == {1: BODIES[0], 3: BODIES[2]}
    assert log.recovery.damaged_places == 1
    assert contents(log) == {1: BODIES[0], 3: BODIES[2]}
    assert log.recovery.damaged_places == 1
    log.close()


@pytest.mark.requirement("R05")
def test_a_segment_below_the_loaded_sequence_is_verified_when_it_is_read(tmp_path: Path) -> None:
    segments = written(tmp_path, [b"%03d" % number * 100 for number in range(30)], segment_bytes=1000)
    damaged = bytearray(segments[1].read_bytes())
    damaged[100] ^= 1
    segments[1].write_bytes(damaged)
    log = open_log(tmp_path, loaded_sequence=29)
    assert log.recovery.damaged_places == 0
    assert len(contents(log)) == 29
    assert log.recovery.damaged_places == 1
    log.close()


@pytest.mark.requirement("R05")
def test_a_record_inside_a_damaged_record_is_not_taken_for_a_real_one(tmp_path: Path) -> None:
    forged = b"".join(encode(arrived_at=2**62, sequence=2, tenant="admin", traces=b"forged")[0])
    bodies = [b"first", b"harmless" + forged + b"harmless", b"third"]
    [segment] = written(tmp_path, bodies)
    damaged = bytearray(segment.read_bytes())
    damaged[offsets(bodies)[1]] ^= 0x7F  # the length: the end of the record is no longer known
    segment.write_bytes(damaged)
    log = open_log(tmp_path)
    assert contents(log) == {1: b"first", 3: b"third"}
    log.close()


@pytest.mark.requirement("R06")
def test_zeros_at_the_end_are_cut(tmp_path: Path) -> None:
    [segment] = written(tmp_path, BODIES)
    with segment.open("ab") as file:
        file.write(bytes(4096))
    log = open_log(tmp_path)
    assert log.recovery.cut_bytes == 4096
    assert len(contents(log)) == 3
    log.close()


@pytest.mark.requirement("R06")
def test_an_empty_newest_segment_is_taken_away(tmp_path: Path) -> None:
    written(tmp_path, BODIES)
    segment_path(tmp_path, 4).touch()
    log = open_log(tmp_path)
    assert log.recovery.reason == ""
    assert log.append(tenant="default", traces=b"next") == 4
    assert len(contents(log)) == 4
    log.close()


@pytest.mark.requirement("R06")
def test_a_missing_segment_is_counted_and_the_others_are_read(tmp_path: Path) -> None:
    segments = written(tmp_path, [b"%03d" % number * 100 for number in range(30)], segment_bytes=1000)
    gone = int(segments[2].stem) - int(segments[1].stem)
    segments[1].unlink()
    log = open_log(tmp_path)
    assert log.recovery.lost_records == gone
    assert len(contents(log)) == 30 - gone
    assert log.append(tenant="default", traces=b"next") == 31
    log.close()


@pytest.mark.parametrize("place", [0, 3, -1])
@pytest.mark.requirement("R06")
def test_a_missing_segment_is_counted_though_its_records_are_loaded(tmp_path: Path, place: int) -> None:
    segments = written(tmp_path, [b"%03d" % number * 100 for number in range(30)], segment_bytes=1000)
    begins = [*(int(segment.stem) for segment in segments), 31]
    place %= len(segments)
    gone = begins[place + 1] - begins[place]
    segments[place].unlink()
    for _ in range(2):
        log = open_log(tmp_path, loaded_sequence=30)
        assert log.recovery.lost_records == gone, "at each start"
        assert set(contents(log)) == {*range(1, 31)} - {*range(begins[place], begins[place] + gone)}
        log.close()
    log = open_log(tmp_path, loaded_sequence=30)
    assert log.append(tenant="default", traces=b"next") == 31
    log.close()


@pytest.mark.requirement("R06")
def test_no_content_hides_that_a_loaded_segment_is_missing(tmp_path: Path) -> None:
    # The end of a segment is looked for by the bytes that begin a record: here they are what was sent as well.
    whole, size = encode(arrived_at=1, sequence=8, tenant="default", traces=b"x" * 100)
    alike = b"".join(whole)
    assert size == len(alike)
    segments = written(tmp_path, [alike * 3] * 30, segment_bytes=1500)
    begins = [*(int(segment.stem) for segment in segments), 31]
    assert open_and_close(tmp_path, 30) == 0
    place = next(
        place for place, first in enumerate(begins) if first > 8
    )  # behind the one that ends with record 8
    segments[place].unlink()
    assert open_and_close(tmp_path, 30) == begins[place + 1] - begins[place]


def open_and_close(directory: Path, loaded_sequence: int) -> int:
    """How many records a start counts as lost."""
    log = open_log(directory, loaded_sequence=loaded_sequence)
    log.close()
    return log.recovery.lost_records


@pytest.mark.requirement("R06")
def test_a_log_that_is_gone_is_missed_by_who_has_loaded_it(tmp_path: Path) -> None:
    for segment in written(tmp_path, BODIES):
        segment.unlink()
    log = open_log(tmp_path, loaded_sequence=3)
    assert log.recovery.lost_records == 3
    assert "records up to 3 were loaded" in log.recovery.reason
    log.close()


@pytest.mark.requirement("R06")
def test_a_sealed_segment_that_lost_its_end_is_left_alone_and_counted(tmp_path: Path) -> None:
    segments = written(tmp_path, [b"%03d" % number * 100 for number in range(30)], segment_bytes=1000)
    size = segments[1].stat().st_size - 5
    segments[1].write_bytes(segments[1].read_bytes()[:size])
    log = open_log(tmp_path)
    assert log.recovery.lost_records == 1
    assert log.recovery.cut_bytes == 0
    assert segments[1].stat().st_size == size
    assert len(contents(log)) == 29
    log.close()


THIRTY = [b"%03d" % number * 100 for number in range(30)]


@pytest.mark.parametrize("content", [b"", None])
@pytest.mark.requirement("R06")
def test_an_emptied_or_zeroed_segment_costs_only_itself(tmp_path: Path, content: bytes | None) -> None:
    segments = written(tmp_path, THIRTY, segment_bytes=1000)
    gone = int(segments[2].stem) - int(segments[1].stem)
    segments[1].write_bytes(bytes(segments[1].stat().st_size) if content is None else content)
    log = open_log(tmp_path)
    assert len(contents(log)) == 30 - gone
    assert log.recovery.lost_records == gone
    assert log.append(tenant="default", traces=b"next") == 31
    log.close()


@pytest.mark.parametrize("loaded", [0, 29])
@pytest.mark.requirement("R06")
def test_swapped_segments_are_read_in_the_order_of_their_records(tmp_path: Path, loaded: int) -> None:
    segments = written(tmp_path, THIRTY, segment_bytes=1000)
    one, other = segments[1], segments[4]
    aside = tmp_path / "aside"
    one.rename(aside)
    other.rename(one)
    aside.rename(other)
    log = open_log(tmp_path, loaded_sequence=loaded)
    assert contents(log) == dict(enumerate(THIRTY, 1))
    assert log.recovery.lost_records == 0
    assert f"{one.name} holds the records from {int(other.stem)} on" in log.recovery.reason
    assert log.append(tenant="default", traces=b"next") == 31
    log.close()


@pytest.mark.requirement("R06")
def test_a_segment_that_is_there_twice_is_read_once(tmp_path: Path) -> None:
    segments = written(tmp_path, THIRTY, segment_bytes=1000)
    shutil.copy(segments[1], segment_path(tmp_path, 2))
    log = open_log(tmp_path)
    assert contents(log) == dict(enumerate(THIRTY, 1))
    log.close()


@pytest.mark.parametrize("loaded", [0, 5, 29, 30, 500])
@pytest.mark.requirement("R06")
def test_any_cursor_will_do(tmp_path: Path, loaded: int) -> None:
    written(tmp_path, THIRTY, segment_bytes=1000)
    log = open_log(tmp_path, loaded_sequence=loaded)
    assert contents(log) == dict(enumerate(THIRTY, 1))
    assert log.append(tenant="default", traces=b"next") == max(30, loaded) + 1
    log.close()


@settings(max_examples=150, deadline=None)
@given(
    bodies=st.lists(st.binary(max_size=60), min_size=1, max_size=8),
    position=st.integers(0, 10_000),
    replacement=st.binary(max_size=12),
    removed=st.integers(0, 12),
)
@pytest.mark.requirement("R05")
def test_any_damage_to_one_place_never_invents_or_alters_a_record(
    tmp_path_factory: pytest.TempPathFactory,
    bodies: list[bytes],
    position: int,
    replacement: bytes,
    removed: int,
) -> None:
    directory = tmp_path_factory.mktemp("log")
    try:
        [segment] = written(directory, bodies)
        whole = segment.read_bytes()
        at = position % len(whole)
        segment.write_bytes(whole[:at] + replacement + whole[at + removed :])
        starts = offsets(bodies)
        log = open_log(directory)
        found = contents(log)
        expected = dict(enumerate(bodies, 1))
        assert found.items() <= expected.items()
        before = {number for number in expected if starts[number] <= at}
        assert found.keys() >= before
        log.close()
    finally:
        shutil.rmtree(directory)
