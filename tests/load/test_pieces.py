"""A large batch is read once more while it is inserted: the same bytes, or nothing of it."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from otlp_values import Origin, Span, request

from retrospan.ingest.load import batch_insertion, batches
from retrospan.ingest.load.batches import Content, content_of, next_content
from retrospan.ingest.load.landing import insert_content, insert_records
from retrospan.ingest.load.ledger import Ledger
from retrospan.ingest.load.loader import Loader
from retrospan.ingest.log import segment_reader
from retrospan.ingest.log.archive import unpack
from retrospan.ingest.log.hashes import KnownHashes
from retrospan.ingest.log.segment import Segment
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.machine.durable_files import Files
from retrospan.ingest.machine.operating_system import descriptors
from retrospan.ingest.settings.config import LoaderSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.errors import LogFailed, SqlError
from retrospan.schemas.store import Store

RECORDS = 12


def spans_of(number: int) -> bytes:
    """A request of one span with a name of its own."""
    span = Span(trace_id=number.to_bytes(16, "big"), span_id=b"s" * 8, name=b"name %d " % number * number)
    return request(Origin(), [span])


@pytest.fixture
def log(tmp_path: Path) -> Iterator[WriteAheadLog]:
    made = WriteAheadLog.open(tmp_path / "log", low_water_bytes=0)
    for number in range(1, RECORDS + 1):
        made.append(tenant="ab"[number % 2], traces=spans_of(number), items=1)
    yield made
    made.close()


@pytest.fixture
def always_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size of a batch, nothing of it is held."""
    monkeypatch.setattr(batches, "_HELD_BYTES", 0)
    monkeypatch.setattr(batches, "_PIECE_BYTES", 1)


def whole(log: WriteAheadLog) -> Content:
    return next_content(log, 0, most_items=1000, most_bytes=1 << 20, wait_seconds=0.0)


def change_on_disk(directory: Path, text: bytes) -> None:
    """Change one byte of the log's file, as a failing disk does."""
    (segment,) = (directory / "log").glob("*.seg")
    at = segment.read_bytes().index(text)
    with segment.open("r+b") as file:
        file.seek(at)
        file.write(b"X")


class Eager:
    """A log that always has a batch more."""

    def __init__(self, log: WriteAheadLog) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def bytes_beyond(self, sequence: int) -> int:
        return 1 << 30


def pipes() -> int:
    """Ends of pipes that this process has open."""
    found = 0
    for number in descriptors():
        with suppress(OSError):  # that of the list itself
            found += stat.S_ISFIFO(os.fstat(number).st_mode)
    return found


def stored(store: EmbeddedStore) -> list[list[object]]:
    return store.rows("SELECT tenant, trace_id, name, sequence FROM raw_spans ORDER BY sequence")


@given(held=st.integers(0, 3000), piece=st.integers(1, 2000), most=st.integers(1, RECORDS))
def test_what_is_read_in_pieces_is_what_is_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, held: int, piece: int, most: int
) -> None:
    log = WriteAheadLog.open(tmp_path_factory.mktemp("log") / "log", low_water_bytes=0)
    for number in range(1, RECORDS + 1):
        log.append(tenant="ab"[number % 2], traces=spans_of(number), items=1)
    at_once = next_content(log, 0, most_items=most, most_bytes=1 << 20, wait_seconds=0.0)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(batches, "_HELD_BYTES", held)
        patched.setattr(batches, "_PIECE_BYTES", piece)
        in_pieces = next_content(log, 0, most_items=most, most_bytes=1 << 20, wait_seconds=0.0)
        assert in_pieces == at_once
        assert in_pieces.data == at_once.data == b"".join(in_pieces.pieces()), "as often as it is wanted"
        assert content_of(log, in_pieces.batch(1)) == at_once
    assert len(at_once.frames) == at_once.items == most
    assert at_once == Content.of(at_once.data, at_once.frames)
    log.close()


@pytest.mark.usefixtures("always_again")
def test_a_batch_leaves_the_same_rows_in_pieces_and_at_once(
    log: WriteAheadLog, warehouse: EmbeddedWarehouse
) -> None:
    store = warehouse.connect()
    content = whole(log)
    insert_records(store, content.data, "at once")
    at_once = stored(store)
    store.command("TRUNCATE TABLE raw_spans")
    insert_content(store, content, "in pieces")
    assert stored(store) == at_once and len(at_once) == RECORDS
    insert_content(store, content, "in pieces")
    assert stored(store) == at_once, "a token counts once"


@pytest.mark.usefixtures("always_again")
def test_what_changes_on_disk_after_it_was_hashed_is_not_inserted(
    log: WriteAheadLog, warehouse: EmbeddedWarehouse, tmp_path: Path
) -> None:
    store = warehouse.connect()
    content = whole(log)
    change_on_disk(tmp_path, b"name 12 name 12")
    with pytest.raises(LogFailed, match="records 1 to 12 of the log are not what they were"):
        insert_content(store, content, content.hash)
    assert stored(store) == []
    # The token is not used up: a prefix that the engine took for the whole would hide the rest for ever.
    again = whole(log)
    assert len(again.frames) == RECORDS - 1
    insert_content(store, again, content.hash)
    assert [row[3] for row in stored(store)] == list(range(1, RECORDS))


@pytest.mark.usefixtures("always_again")
def test_the_loader_reads_again_what_has_changed_under_it(
    log: WriteAheadLog, warehouse: EmbeddedWarehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def changing(store: Store, content: Content, token: str) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            change_on_disk(tmp_path, b"name 7 name 7")
        insert_content(store, content, token)

    monkeypatch.setattr(batch_insertion, "insert_content", changing)
    running = Loader(
        log,
        warehouse.connect,
        Ledger.open(tmp_path / "log" / "batches.jsonl"),
        LoaderSettings(batch_spans=1000, wait_seconds=0.0),
    )
    running.start()
    assert running.wait_loaded(RECORDS, 60.0)
    assert running.stop(60.0)
    assert (calls, running.counters.failures, running.quarantined) == (2, 1, 0)
    found = [row[3] for row in stored(warehouse.connect())]
    assert found == [number for number in range(1, RECORDS + 1) if number != 7]
    assert log.recovery.damaged_bytes > 0, "and the log says that something is lost"


@pytest.mark.usefixtures("always_again")
def test_an_archived_segment_is_unpacked_once_for_two_readers(
    log: WriteAheadLog, warehouse: EmbeddedWarehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for last in range(RECORDS, RECORDS + 40, 10):
        for number in range(last + 1, last + 11):
            log.append(tenant="a", traces=spans_of(number), items=1)
        log.seal(last + 10)
    log.append(tenant="a", traces=spans_of(RECORDS + 41), items=1)
    segments = 0
    while log.archive_next(RECORDS + 40):
        segments += 1
    unpacked: list[int] = []

    def noted(segment: Segment) -> int:
        unpacked.append(segment.first)
        return unpack(segment)

    monkeypatch.setattr(segment_reader, "unpack", noted)
    settings = LoaderSettings(batch_bytes=1 << 20, wait_seconds=0.0)
    running = Loader(log, warehouse.connect, Ledger.open(tmp_path / "log" / "batches.jsonl"), settings)
    # Whatever follows is read while a batch is inserted.
    monkeypatch.setattr(running, "_log", Eager(log))
    running.start()
    assert running.wait_loaded(RECORDS + 41, 60.0)
    assert running.stop(60.0)
    # Who reads ahead to the end lets go of all that is unpacked, maybe of the last one too soon.
    assert segments == 4 and unpacked[:4] == sorted(set(unpacked)) and len(unpacked) <= 5, unpacked
    assert len(stored(warehouse.connect())) == RECORDS + 41


def test_pieces_that_fail_leave_no_rows(log: WriteAheadLog, warehouse: EmbeddedWarehouse) -> None:
    store = warehouse.connect()
    content = whole(log)
    threads, before = threading.active_count(), pipes()

    def failing() -> Iterator[bytes]:
        yield content.data
        raise OSError("the disk does not answer")

    for _ in range(2):
        with pytest.raises(OSError, match="the disk does not answer"):
            insert_content(store, replace(content, pieces=failing), content.hash)
    assert stored(store) == []
    insert_content(store, content, content.hash)
    assert len(stored(store)) == RECORDS
    assert (threading.active_count(), pipes()) == (threads, before)


@pytest.mark.long
def test_nothing_of_a_full_batch_is_left_when_its_last_piece_fails(
    tmp_path: Path, warehouse: EmbeddedWarehouse
) -> None:
    """As large as batches get, and held by nobody: the engine must not have made a block of it by then."""
    log, store = WriteAheadLog.open(tmp_path / "log", low_water_bytes=0), warehouse.connect()
    for number in range(1, 65):
        span = Span(
            trace_id=number.to_bytes(16, "big"), span_id=b"s" * 8, name=os.urandom(500_000).hex().encode()
        )
        log.append(tenant="a", traces=request(Origin(), [span]), items=1)
    content = next_content(log, 0, most_items=1000, most_bytes=64 << 20, wait_seconds=0.0)
    assert len(content.frames) > 60 and content.size > 60 << 20

    def failing() -> Iterator[bytes]:
        yield from content.pieces()
        raise OSError("the disk does not answer")

    with pytest.raises(OSError, match="the disk does not answer"):
        insert_content(store, replace(content, pieces=failing), content.hash)
    assert store.rows("SELECT count() FROM raw_spans") == [[0]]
    insert_content(store, content, content.hash)
    assert store.rows("SELECT count() FROM raw_spans") == [[len(content.frames)]]
    log.close()


def test_whoever_feeds_a_statement_that_is_refused_is_not_left_behind(warehouse: EmbeddedWarehouse) -> None:
    store = warehouse.connect()
    threads, before = threading.active_count(), pipes()
    for place in ("nowhere", "FUNCTION null('number UInt8')"):
        taken: list[bytes] = []

        def endless(taken: list[bytes] = taken) -> Iterator[bytes]:
            while True:
                taken.append(b"not a number\n" * 5_000)
                yield taken[-1]

        with pytest.raises(SqlError):
            store.insert(f"INSERT INTO {place}", endless(), "TabSeparated")
        assert len(taken) < 1000, "it was told that nobody reads"
    assert (threading.active_count(), pipes()) == (threads, before)


@pytest.mark.usefixtures("always_again")
def test_a_hash_is_that_of_the_records_that_have_none(log: WriteAheadLog, tmp_path: Path) -> None:
    content = whole(log)
    parts = [
        next_content(log, after, most_items=most, most_bytes=1 << 20, wait_seconds=0.0)
        for after, most in ((0, 5), (5, 1000))
    ]
    hashes = KnownHashes(tmp_path / "hashes", Files())
    hashes.begin()
    hashes.note(parts[0], 5)
    hashes.note(content, RECORDS)  # cut otherwise, as after a rebuild: the first five have theirs
    hashes.close()
    assert [(each.last, each.records, each.hash) for each in hashes.read()] == [
        (5, 5, parts[0].hash),
        (RECORDS, RECORDS - 5, parts[1].hash),
    ]
