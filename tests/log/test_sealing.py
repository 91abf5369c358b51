"""A log at rest is compressed too: its newest segment is sealed, archived, and never appended to again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from retrospan.ingest.log import archivist as archivist_module
from retrospan.ingest.log.archivist import Archivist
from retrospan.ingest.log.record import decode
from retrospan.ingest.log.write_ahead_log import WriteAheadLog

EXPECTED = {number: b"%03d" % number * 200 for number in range(1, 41)}

# Appends, seals and archives from three threads without end, and prints each sequence once it is acknowledged.
SEALER = """
import sys, threading
from pathlib import Path
from retrospan.ingest.log.write_ahead_log import WriteAheadLog

log = WriteAheadLog.open(Path(sys.argv[1]), segment_bytes=20_000, low_water_bytes=0)

def archive():
    while True:
        log.seal(log.durable_sequence)
        log.archive_next(log.durable_sequence)

def read():
    while True:
        assert log.read(0, max_bytes=1 << 20) or not log.durable_sequence

for work in (archive, read):
    threading.Thread(target=work, daemon=True).start()
while True:
    print(log.append(tenant="default", traces=b"body" * 500), flush=True)
"""


def open_log(directory: Path, loaded_sequence: int = 0) -> WriteAheadLog:
    return WriteAheadLog.open(
        directory, segment_bytes=5_000, low_water_bytes=0, loaded_sequence=loaded_sequence
    )


def filled(directory: Path) -> WriteAheadLog:
    log = open_log(directory)
    for body in EXPECTED.values():
        log.append(tenant="default", traces=body)
    return log


def archive_all(log: WriteAheadLog) -> None:
    while log.archive_next(log.durable_sequence):
        pass


def contents(log: WriteAheadLog) -> dict[int, bytes | None]:
    found: dict[int, bytes | None] = {}
    while chunk := log.read(max(found, default=0), max_bytes=1 << 20):
        for frame in chunk.frames():
            record = decode(chunk.data[frame.body : frame.end])
            assert record.sequence not in found
            found[record.sequence] = record.traces
    return found


def test_a_sealed_segment_is_archived_and_the_next_record_begins_another(tmp_path: Path) -> None:
    log = filled(tmp_path)
    archive_all(log)
    [newest] = tmp_path.glob("*.seg")
    assert log.growing() == (40, newest.stat().st_size)
    assert log.seal(40)
    assert log.growing() == (0, 0)
    archive_all(log)
    assert list(tmp_path.glob("*.seg")) == []
    assert contents(log) == EXPECTED
    assert log.append(tenant="default", traces=b"next") == 41
    assert [path.name for path in tmp_path.glob("*.seg")] == [f"{41:020d}.seg"]
    assert contents(log) == EXPECTED | {41: b"next"}
    assert log.bytes_used == sum(path.stat().st_size for path in tmp_path.rglob("*.seg*"))
    log.close()


def test_a_sealed_segment_grows_no_more_even_before_it_is_archived(tmp_path: Path) -> None:
    log = filled(tmp_path)
    newest = max(tmp_path.glob("*.seg"))
    size = newest.stat().st_size
    assert log.seal(40)
    log.append(tenant="default", traces=b"")
    assert newest.stat().st_size == size
    assert max(tmp_path.glob("*.seg")).name == f"{41:020d}.seg"
    log.close()


def test_nothing_is_sealed_behind_which_something_came(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert not log.seal(39)
    assert not log.seal(41)
    log.append(tenant="default", traces=b"next")
    assert not log.seal(40)
    assert log.growing()[0] == 41
    log.close()
    assert not log.seal(41), "a closed log is left as it is"


def test_no_file_stays_open_that_the_archive_has_replaced(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.seal(40)
    archive_all(log)
    opened = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert not [name for name in opened if name.startswith(str(tmp_path)) and name.endswith("(deleted)")]
    log.close()


@pytest.mark.parametrize("loaded", [0, 17, 40])
@pytest.mark.requirement("R06")
def test_a_log_whose_every_segment_is_archived_opens_whatever_the_cursor_says(
    tmp_path: Path, loaded: int
) -> None:
    log = filled(tmp_path)
    log.seal(40)
    archive_all(log)
    before = log._arrived_at
    log.close()
    log = open_log(tmp_path, loaded_sequence=loaded)
    assert (log.recovery.reason, log.durable_sequence, log._arrived_at) == ("", 40, before)
    assert log.append(tenant="default", traces=b"next") == 41
    assert contents(log) == EXPECTED | {41: b"next"}
    log.close()


def test_the_archivist_seals_what_rests_and_leaves_what_is_small_or_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archivist_module, "_QUIET_SECONDS", 0.0)
    log = filled(tmp_path)
    size = log.growing()[1]
    loaded = 0
    archivist = Archivist(log, lambda: loaded)
    for worth, up_to, sealed in ((size, 39, False), (size + 1, 40, False), (size, 40, True)):
        loaded = up_to
        monkeypatch.setattr(archivist_module, "_WORTH_BYTES", worth)
        for _ in range(3):
            archivist.run_once()
        assert (log.growing() == (0, 0)) is sealed
    assert list(tmp_path.glob("*.seg")) == []
    assert contents(log) == EXPECTED
    log.close()


def test_the_archivist_waits_until_nothing_comes_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(archivist_module, "_WORTH_BYTES", 1)
    log = filled(tmp_path)
    archivist = Archivist(log, lambda: log.durable_sequence)
    for _ in range(5):
        now += archivist_module._QUIET_SECONDS - 1
        archivist.run_once()
        assert log.growing()[0] == log.durable_sequence
        log.append(tenant="default", traces=b"x")
    archivist.run_once()
    now += archivist_module._QUIET_SECONDS
    archivist.run_once()
    assert log.growing() == (0, 0)
    log.close()


def test_whoever_has_read_to_the_end_keeps_nothing_unpacked(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.seal(40)
    archive_all(log)
    assert log.read(39, max_bytes=1) is not None
    assert log._reader._unpacked
    assert log.read(40, max_bytes=1) is None
    assert not log._reader._unpacked
    log.close()


@pytest.mark.requirement("R01")
def test_kill_9_while_segments_are_sealed_and_compressed_loses_nothing(tmp_path: Path) -> None:
    acknowledged: set[int] = set()
    for round_number in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", SEALER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for _ in range(30 + 17 * round_number):
            acknowledged.add(int(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read()
        acknowledged.update(int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n"))
        process.wait(30)
        process.stdout.close()
        log = WriteAheadLog.open(tmp_path, low_water_bytes=0)
        found = list(contents(log))
        assert log.recovery.lost_records == 0
        log.close()
        assert acknowledged <= set(found)
        assert found == list(range(1, len(found) + 1)), "no gap, no repetition"
    assert len(list((tmp_path / "archive").glob("*.zst"))) > 10
