"""The loader against a real log and a real engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from odd_requests import unreadable, wrong_wire_type
from otlp_values import Log, Origin, Span, Value, request

from retrospan.ingest.load import burst
from retrospan.ingest.load.ledger import Ledger
from retrospan.ingest.load.loader import Loader
from retrospan.ingest.log.record import Reject
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.settings.config import LoaderSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse

SETTINGS = LoaderSettings(batch_spans=20, wait_seconds=0.05)
PATIENCE = 60.0


def traces(number: int, spans: int = 5) -> bytes:
    """A request with a trace of its own."""
    return request(
        Origin(scope_name=b"test"),
        [Span(trace_id=number.to_bytes(16, "big"), span_id=(i + 1).to_bytes(8, "big")) for i in range(spans)],
    )


class Scene:
    """A log, a ledger and loaders over them, one after the other as after restarts."""

    def __init__(self, directory: Path, warehouse: EmbeddedWarehouse) -> None:
        self.ledger_path = directory / "log" / "batches.jsonl"
        self.warehouse = warehouse
        self.log = WriteAheadLog.open(directory / "log", low_water_bytes=0)
        self.loaders: list[Loader] = []

    def loader(
        self,
        settings: LoaderSettings = SETTINGS,
        on_loaded: Callable[[int, int], None] = lambda first, last: None,
    ) -> Loader:
        loader = Loader(
            self.log, self.warehouse.connect, Ledger.open(self.ledger_path), settings, on_loaded=on_loaded
        )
        self.loaders.append(loader)
        return loader

    def close(self) -> None:
        for loader in self.loaders:
            loader.stop()
        self.log.close()


@pytest.fixture
def scene(tmp_path: Path, warehouse: EmbeddedWarehouse) -> Iterator[Scene]:
    scene = Scene(tmp_path, warehouse)
    yield scene
    scene.close()


def count(store: EmbeddedStore, table: str) -> int:
    """Rows with their duplicates: an exact loader leaves none."""
    ((rows,),) = store.rows("SELECT count() FROM {table:Identifier}", {"table": table})
    return int(str(rows))


@pytest.mark.long
def test_what_is_durable_is_loaded_in_batches_and_told(scene: Scene, store: EmbeddedStore) -> None:
    told: list[tuple[int, int]] = []
    for number in range(1, 11):
        scene.log.append(tenant="default", traces=traces(number), items=5)
    loader = scene.loader(on_loaded=lambda first, last: told.append((first, last)))
    loader.start()
    assert loader.wait_loaded(10, PATIENCE)
    last = scene.log.append(tenant="default", logs=request(Origin(), [Log(trace_id=b"l" * 16)]), items=1)
    assert loader.wait_loaded(last, PATIENCE)
    assert loader.stop(PATIENCE)
    # 20 spans a batch, 5 spans a record.
    assert told == [(1, 4), (5, 8), (9, 10), (11, 11)]
    assert (count(store, "raw_spans"), count(store, "raw_logs"), count(store, "arrivals")) == (50, 1, 11)
    assert (loader.lag_records, loader.failure, loader.quarantined) == (0, "", 0)


def test_a_record_larger_than_a_batch_is_a_batch(scene: Scene, store: EmbeddedStore) -> None:
    scene.log.append(tenant="default", traces=traces(1, spans=100), items=100)
    loader = scene.loader(replace(SETTINGS, batch_bytes=100))
    loader.prepare()
    assert loader.load_next()
    assert not loader.load_next()
    assert count(store, "raw_spans") == 100


@pytest.mark.parametrize("wait_seconds", [0.05, pytest.param(0.0, marks=pytest.mark.long)])
def test_loading_begins_once_a_burst_is_over(
    scene: Scene, store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch, wait_seconds: float
) -> None:
    left, found, beyond = [4], list[tuple[int, int]](), scene.log.bytes_beyond

    def receive() -> None:
        scene.log.append(tenant="default", traces=traces(scene.log.durable_sequence + 1), items=5)

    def receive_and_tell(sequence: int) -> int:
        """More is received whenever somebody looks how much waits, four times."""
        if left[0]:
            left[0] -= 1
            for _ in range(20):
                receive()
        return beyond(sequence)

    monkeypatch.setattr(burst, "_LONGEST_SECONDS", 600.0)
    monkeypatch.setattr(scene.log, "bytes_beyond", receive_and_tell)
    receive()
    loader = scene.loader(
        replace(SETTINGS, wait_seconds=wait_seconds), lambda first, last: found.append((first, left[0]))
    )
    loader.prepare()
    while loader.load_next():
        pass
    # Who does not wait for more records does not wait for a burst; then one look at a time is for what to read next.
    assert found[0] == (1, 0 if wait_seconds else 3)
    assert (loader.lag_records, count(store, "raw_spans")) == (0, 5 * 81)


def test_a_flood_is_over_when_less_than_a_batch_is_left(scene: Scene, store: EmbeddedStore) -> None:
    for number in range(1, 11):
        scene.log.append(tenant="default", traces=traces(number), items=5)
    loader = scene.loader()
    loader.prepare()
    assert not loader.is_flooded, "nothing is known yet"
    found: list[tuple[int, bool]] = []
    while loader.load_next():
        found.append((loader.loaded_sequence, loader.is_flooded))
    assert found == [(4, True), (8, False), (10, False)]
    scene.log.append(tenant="default", traces=traces(11, spans=1), items=1)
    assert loader.load_next()
    for number in range(12, 18):
        scene.log.append(tenant="default", traces=traces(number), items=5)
    assert not loader.is_flooded, "what follows a small batch is one"


def test_an_open_batch_is_repeated_exactly(scene: Scene, store: EmbeddedStore) -> None:
    for number in range(1, 9):
        scene.log.append(tenant="default", traces=traces(number), items=5)
    first = scene.loader()
    first.prepare()
    assert first.load_next()
    first.stop()
    # As if the process had died between insert and mark: the mark, the last line, is gone.
    lines = scene.ledger_path.read_bytes().splitlines(keepends=True)
    assert b'"loaded":4' in lines[-1]
    scene.ledger_path.write_bytes(b"".join(lines[:-1]))
    again = scene.loader(replace(SETTINGS, batch_spans=7))  # other limits do not move the boundaries
    again.prepare()
    assert again.load_next()
    assert (again.counters.repeated, again.loaded_sequence) == (1, 4)
    assert count(store, "raw_spans") == 20


@pytest.mark.long
def test_a_poison_record_is_set_aside_and_all_others_are_stored(scene: Scene, store: EmbeddedStore) -> None:
    earlier = Reject(signal="traces", spans=1, reason="invalid id")
    for number in range(1, 7):
        scene.log.append(tenant="default", traces=traces(number, spans=1), items=1)
    poison = scene.log.append(tenant="default", traces=unreadable(), rejects=[earlier], items=1)
    odd = scene.log.append(tenant="default", traces=wrong_wire_type(99), items=1)
    for number in range(10, 17):
        scene.log.append(tenant="default", traces=traces(number, spans=1), items=1)
    loader = scene.loader()
    loader.start()
    assert loader.wait_loaded(scene.log.durable_sequence, PATIENCE)
    assert loader.quarantined == 1
    assert count(store, "raw_spans") == 6 + 7 + 1
    assert store.rows("SELECT sequence FROM raw_spans WHERE name = 'odd'") == [[odd]]
    assert store.rows(
        "SELECT sequence, signal, startsWith(reason, 'quarantined: ') FROM raw_rejects ORDER BY position"
    ) == [
        [poison, "traces", 0],
        [poison, "traces", 1],
    ]
    # A new epoch tries again, comes to the same end and doubles nothing.
    assert loader.reload_all() == scene.log.durable_sequence
    assert loader.quarantined == 1
    ((spans, rejects),) = store.rows(
        "SELECT (SELECT count() FROM raw_spans FINAL), (SELECT count() FROM raw_rejects FINAL)"
    )
    assert (spans, rejects) == (14, 2)


@pytest.mark.long
def test_a_batch_that_does_not_fit_the_engines_memory_is_halved_until_it_does(
    tmp_path: Path, store: EmbeddedStore, warehouse: EmbeddedWarehouse
) -> None:
    log = WriteAheadLog.open(tmp_path / "log", low_water_bytes=0)
    ledger = Ledger.open(tmp_path / "log" / "batches.jsonl")
    loader = Loader(
        log,
        lambda: warehouse.connect({"max_memory_usage": 64 << 20}),
        ledger,
        LoaderSettings(wait_seconds=1.0),
    )
    try:
        for number in range(1, 33):
            text = (b"text", Value("string", b"x" * 1_000_000))
            span = Span(trace_id=number.to_bytes(16, "big"), span_id=b"s" * 8, attributes=[text])
            log.append(tenant="default", traces=request(Origin(), [span]), items=1)
        loader.start()
        assert loader.wait_loaded(32, PATIENCE)
        assert (loader.failure, loader.quarantined) == ("", 0)
        assert loader.counters.failures == 1, "the first time is taken for a passing shortage"
        assert count(store, "raw_spans") == 32
    finally:
        loader.stop()
        log.close()


@pytest.mark.parametrize("table", ["raw_logs", "landing_spans"])
def test_a_fault_of_the_warehouse_sets_nothing_aside(scene: Scene, store: EmbeddedStore, table: str) -> None:
    loader = scene.loader()
    loader.start()
    # As it is now, not as it was first made: other tests have this table after this one.
    ((definition,),) = store.rows(
        "SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = {table:String}",
        {"table": table},
    )
    store.command("DROP TABLE {table:Identifier} SYNC", {"table": table})
    try:
        if table == "raw_logs":
            logs = request(Origin(), [Log(trace_id=b"l" * 16)])
            last = scene.log.append(tenant="default", logs=logs, items=1)
        else:
            last = scene.log.append(tenant="default", traces=traces(1), items=5)
        deadline = time.monotonic() + PATIENCE
        while not loader.failure and time.monotonic() < deadline:
            time.sleep(0.02)
        assert "takes no records at all" in loader.failure
        assert loader.lag_seconds > 0
    finally:
        store.command(str(definition))
    assert loader.wait_loaded(last, PATIENCE)
    assert (loader.quarantined, loader.failure) == (0, "")
    assert (count(store, "raw_spans"), count(store, "raw_logs")) == (
        (0, 1) if table == "raw_logs" else (5, 0)
    )


def test_empty_tables_are_filled_from_the_log_again(scene: Scene, store: EmbeddedStore) -> None:
    for number in range(1, 5):
        scene.log.append(tenant="default", traces=traces(number), items=5)
    first = scene.loader()
    first.start()
    assert first.wait_loaded(4, PATIENCE)
    first.stop(PATIENCE)
    for table in ("raw_spans", "arrivals"):
        store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})
    again = scene.loader()
    again.start()
    assert again.wait_loaded(4, PATIENCE)
    assert again.check.complaint == ""
    assert again.stop(PATIENCE)
    assert count(store, "raw_spans") == 20


def test_rows_that_vanished_are_noticed_at_start_and_a_reload_brings_them_back(
    scene: Scene, store: EmbeddedStore
) -> None:
    for number in range(1, 5):
        scene.log.append(tenant="default", traces=traces(number), items=5)
    first = scene.loader()
    first.start()
    assert first.wait_loaded(4, PATIENCE)
    assert first.stop(PATIENCE)
    trace_id = (2).to_bytes(16, "big").hex()
    store.command(
        "ALTER TABLE raw_spans DELETE WHERE trace_id = {trace_id:String}",
        {"trace_id": trace_id},
        {"mutations_sync": 2},
    )
    again = scene.loader()
    again.start()
    assert again.check.missing == {"raw_spans": 5}
    assert "5 rows of raw_spans" in again.check.complaint
    assert "retrospan rebuild" in again.check.complaint
    seen: list[tuple[int, int]] = []
    assert again.reload_all(lambda loaded, target: seen.append((loaded, target))) == 4
    assert seen[-1] == (4, 4)
    assert again.missing_rows() == {}
    ((spans,),) = store.rows("SELECT count() FROM raw_spans FINAL")
    assert spans == 20


def test_new_rows_do_not_hide_that_others_are_gone(scene: Scene, store: EmbeddedStore) -> None:
    for number in range(1, 5):
        scene.log.append(tenant="default", traces=traces(number), items=5)
    first = scene.loader()
    first.start()
    assert first.wait_loaded(4, PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while first.counted.get("raw_spans") != 20 and time.monotonic() < deadline:
        time.sleep(0.02)
    store.command(
        "ALTER TABLE raw_spans DELETE WHERE trace_id = {trace_id:String}",
        {"trace_id": (2).to_bytes(16, "big").hex()},
        {"mutations_sync": 2},
    )
    assert first.missing_rows() == {"raw_spans": 5}
    for number in range(5, 9):  # four times as many come as were lost
        scene.log.append(tenant="default", traces=traces(number), items=5)
    assert first.wait_loaded(8, PATIENCE)
    assert first.stop(PATIENCE)  # counts once more
    assert first.check.missing == {"raw_spans": 5}
    assert (first.counted["raw_spans"], count(store, "raw_spans")) == (40, 35)
    again = scene.loader()
    again.prepare()
    assert again.check.missing == {"raw_spans": 5}


def test_what_was_stored_already_is_counted(scene: Scene, store: EmbeddedStore) -> None:
    for number in (1, 2):
        scene.log.append(tenant="default", traces=traces(number), items=5)
    first = scene.loader()
    first.start()
    assert first.wait_loaded(2, PATIENCE)
    assert first.stop(PATIENCE)
    assert (first.counters.items, first.counters.duplicates) == (10, 0)
    again = scene.loader()
    again.start()
    for number in (2, 3, 3):
        scene.log.append(tenant="default", traces=traces(number), items=5)
    assert again.wait_loaded(5, PATIENCE)
    assert again.stop(PATIENCE)
    assert (again.counters.items, again.counters.duplicates) == (15, 10)
    ((spans,),) = store.rows("SELECT count() FROM raw_spans FINAL")
    assert spans == 15
