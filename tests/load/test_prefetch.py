"""The batch that is read while another is inserted: used in its place, and nowhere else."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from otlp_values import Origin, Span, request

from retrospan.ingest.load import batches
from retrospan.ingest.load import loader as loading
from retrospan.ingest.load.batches import Content, Frame
from retrospan.ingest.load.ledger import Ledger
from retrospan.ingest.load.loader import Loader
from retrospan.ingest.load.prefetch import Prefetcher
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.settings.config import LoaderSettings
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse


def batch_after(sequence: int) -> Content:
    return Content.of(f"record {sequence + 1}".encode(), [Frame(sequence + 1, 0, 0, 1)])


def test_what_was_read_is_taken_once_and_only_in_its_place() -> None:
    ahead = Prefetcher(batch_after)
    assert ahead.take(0) is None, "nothing was begun"
    ahead.begin(7)
    assert ahead.take(7) == batch_after(7)
    assert ahead.take(7) is None
    ahead.begin(7)
    assert ahead.take(0) is None, "the loader went back to the beginning"
    assert ahead.take(7) is None, "and what was read is forgotten"


def test_a_batch_that_is_tried_again_is_not_read_again() -> None:
    read: list[int] = []

    def reading(after: int) -> Content:
        read.append(after)
        return batch_after(after)

    ahead = Prefetcher(reading)
    ahead.begin(3)
    ahead.begin(3)
    assert ahead.take(3) == batch_after(3) and read == [3]
    ahead.begin(3)
    ahead.begin(4)
    assert ahead.take(4) == batch_after(4) and read == [3, 3, 4]


def test_what_cannot_be_read_is_left_to_the_loader() -> None:
    def refusing(after: int) -> Content:
        raise OSError("the disk does not answer")

    ahead = Prefetcher(refusing)
    ahead.begin(1)
    assert ahead.take(1) is None
    damaged = Prefetcher(lambda after: Content.of(b"", []))
    damaged.begin(1)
    assert damaged.take(1) is None


@pytest.mark.long
def test_the_loader_reads_while_the_engine_inserts(
    tmp_path: Path, warehouse: EmbeddedWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = WriteAheadLog.open(tmp_path / "log", low_water_bytes=0)
    for number in range(1, 31):
        body = request(
            Origin(), [Span(trace_id=number.to_bytes(16, "big"), span_id=b"s" * 8, name=b"n" * 100)]
        )
        log.append(tenant="default", traces=body, items=1)
    readers: list[str] = []
    real = batches.next_content

    def noted(*arguments: Any, **named: Any) -> Content:
        readers.append(threading.current_thread().name)
        return real(*arguments, **named)

    monkeypatch.setattr(loading, "next_content", noted)
    told: list[tuple[int, int]] = []
    settings = LoaderSettings(batch_spans=1000, batch_bytes=1500, wait_seconds=0.0)
    loader = Loader(
        log,
        warehouse.connect,
        Ledger.open(tmp_path / "log" / "batches.jsonl"),
        settings,
        on_loaded=lambda first, last: told.append((first, last)),
    )
    loader.start()
    assert loader.wait_loaded(30, 60.0)
    assert loader.reload_all() == 30, "and from the beginning"
    assert loader.stop(60.0)
    log.close()
    assert "retrospan-ahead" in readers
    once, again = told[: len(told) // 2], told[len(told) // 2 :]
    assert once == again and len(once) > 2
    assert [first for first, _ in once] == [1, *(last + 1 for _, last in once[:-1])]
    assert once[-1][1] == 30
    found = warehouse.connect().rows("SELECT count(), uniqExact(trace_id) FROM raw_spans FINAL")
    assert found == [[30, 30]]
