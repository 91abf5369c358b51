"""The ledger survives what can happen to a file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from retrospan.ingest.load.chain import Chains
from retrospan.ingest.load.ledger import Batch, Ledger
from retrospan.ingest.machine.durable_files import Files

BATCH = Batch(first=1, last=10, records=10, items=100, token="t1")
NEXT = Batch(first=11, last=12, records=2, items=2, token="t2")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log" / "batches.jsonl"


def written(path: Path) -> bytes:
    """A ledger with one batch loaded and one open."""
    ledger = Ledger.open(path)
    ledger.begin(BATCH)
    ledger.quarantine(7, "unreadable")
    ledger.finish(BATCH)
    ledger.count({"raw_spans": 99})
    ledger.begin(NEXT)
    ledger.close()
    return path.read_bytes()


def test_what_was_written_is_read_again(path: Path) -> None:
    written(path)
    for _ in range(2):  # the second time from the summary that opening leaves behind
        ledger = Ledger.open(path)
        assert (ledger.epoch, ledger.loaded_sequence, ledger.open_batch) == (1, 10, NEXT)
        assert list(ledger.quarantined) == [7]
        assert ledger.counted == {"raw_spans": 99}
        ledger.close()


def test_a_torn_last_line_is_cut_at_every_byte(path: Path) -> None:
    data = written(path)
    before_last = data[:-1].rfind(b"\n") + 1
    for size in range(before_last, len(data)):
        path.write_bytes(data[:size])
        ledger = Ledger.open(path)
        assert (ledger.epoch, ledger.loaded_sequence, ledger.open_batch) == (1, 10, None)
        ledger.begin(NEXT)
        ledger.close()
        assert Ledger.open(path).open_batch == NEXT


def test_damage_in_the_middle_begins_a_new_epoch(path: Path) -> None:
    data = bytearray(written(path))
    data[data.index(b'"last":10')] ^= 1
    path.write_bytes(data)
    ledger = Ledger.open(path)
    assert (ledger.epoch, ledger.loaded_sequence, ledger.open_batch) == (2, 0, None)
    assert ledger.damaged_lines == 1
    assert Chains(ledger).complaint.startswith("log/batches.jsonl: a line could not be read")
    ledger.close()
    assert Chains(Ledger.open(path)).complaint == "", "what is written since is whole"


def test_a_new_epoch_forgets_what_was_loaded(path: Path) -> None:
    written(path)
    ledger = Ledger.open(path)
    ledger.begin_epoch()
    ledger.close()
    again = Ledger.open(path)
    assert (again.epoch, again.loaded_sequence, again.open_batch) == (2, 0, None)
    assert (again.quarantined, again.counted) == ({}, {})


def test_the_file_stays_small(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrospan.ingest.load.ledger._COMPACT_BYTES", 10_000)
    ledger = Ledger.open(path)
    for number in range(1, 1000):
        batch = Batch(first=number, last=number, records=1, items=1, token="t" * 64)
        ledger.begin(batch)
        ledger.finish(batch)
        assert path.stat().st_size < 11_000
    ledger.close()
    assert Ledger.open(path).loaded_sequence == 999


def test_looking_writes_nothing(path: Path) -> None:
    assert Ledger.look(path).loaded_sequence == 0
    assert not path.exists()
    ledger = Ledger.open(path)
    ledger.quarantine(3, "why")
    ledger.count({"raw_spans": 5})
    ledger.close()
    before = path.read_bytes() + b"half a line"
    path.write_bytes(before)
    seen = Ledger.look(path)
    assert (list(seen.quarantined), seen.counted) == ([3], {"raw_spans": 5})
    assert path.read_bytes() == before


class Full(Files):
    """A disk that takes no file as long as it `is_full`."""

    is_full = True

    def replace(self, path: Path, content: bytes) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        super().replace(path, content)


@pytest.mark.requirement("R08")
def test_on_a_full_disk_it_goes_on_with_what_is_there_and_tries_again(path: Path) -> None:
    before, files = written(path), Full()
    ledger = Ledger.open(path, files)
    assert (ledger.loaded_sequence, ledger.open_batch, path.read_bytes()) == (10, NEXT, before)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            ledger.quarantine(11, "why")
    assert (list(ledger.quarantined), path.read_bytes()) == ([7], before)
    files.is_full = False
    ledger.quarantine(11, "why")
    ledger.finish(NEXT)
    ledger.close()
    again = Ledger.look(path)
    assert (again.loaded_sequence, again.open_batch, list(again.quarantined)) == (12, None, [7, 11])


class Refusing(Files):
    """A disk on which nothing can be put in place, for this reason."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.settled: list[Path] = []

    def replace(self, path: Path, content: bytes) -> None:
        raise OSError(self.number, os.strerror(self.number))

    def settle(self, path: Path) -> None:
        self.settled.append(path)
        super().settle(path)


@pytest.mark.requirement("R08")
def test_what_is_read_where_a_summary_has_no_room_is_made_durable(path: Path) -> None:
    files, before = Refusing(errno.ENOSPC), written(path)
    again = Ledger.open(path, files)
    assert ([*again.quarantined], files.settled, path.read_bytes()) == ([7], [path], before)
    again.close()


def test_a_disk_that_fails_is_no_full_disk(path: Path) -> None:
    written(path)
    with pytest.raises(OSError, match="Input/output error"):
        Ledger.open(path, Refusing(errno.EIO))
