"""Rows that a newer reading has replaced are deleted after a while, of many runs together, and nobody waits for it."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast
from urllib.parse import urlencode

import pytest

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.interpret.service import stale_generations
from retrospan.ingest.interpret.service.stale_generations import (
    COLLECT_SECONDS,
    GENERATIONAL,
    KEEP_SECONDS,
    StaleGenerations,
)
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.ingest.warehouse.error_codes import ACCESS_DENIED
from retrospan.ingest.warehouse.server import ServerStore
from retrospan.schemas.engines import Form
from retrospan.schemas.errors import SqlError, WarehouseUnavailable
from retrospan.schemas.store import Parameters, Settings, Store
from retrospan.schemas.typed_rows import typed_column

#: The tables whose rows go by their run; those of `canon_spans` go by their trace.
OF_RUNS = tuple(name for name in GENERATIONAL if name != "spans")


class _Store:
    longest_parameter = Store.longest_parameter

    def __init__(self) -> None:
        self.deleted: list[Parameters] = []
        self.is_away = self.is_blind = False
        self.failed: list[tuple[str, str]] = []

    def rows(self, statement: str, parameters: Parameters) -> Iterator[tuple[object, ...]]:
        if self.is_blind:
            raise SqlError("not enough privileges", code=ACCESS_DENIED)
        return iter(self.failed)

    def command(self, statement: str, parameters: Parameters, settings: Settings) -> None:
        if self.is_away and len(self.deleted) % 3 == 2:
            raise WarehouseUnavailable("away")
        self.deleted.append(parameters)


class _Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    clock = _Clock()
    monkeypatch.setattr("time.monotonic", clock)
    return clock


@pytest.fixture
def stale() -> StaleGenerations:
    return StaleGenerations()


@pytest.fixture
def made() -> _Store:
    return _Store()


@pytest.fixture
def deleted(made: _Store, stale: StaleGenerations) -> Callable[[], list[Parameters]]:
    def collect() -> list[Parameters]:
        before = len(made.deleted)
        collect_all(stale, cast(Store, made))
        return made.deleted[before:]

    return collect


def collect_all(stale: StaleGenerations, store: Store) -> None:
    """Have it look, and then ask one table after the other."""
    for _ in range(1 + len(GENERATIONAL)):
        stale.collect(store, Form())


def names(asked: Parameters) -> list[list[str]]:
    return cast("list[list[str]]", json.loads(str(asked["names"])))


def generations(asked: Parameters) -> list[int]:
    return cast("list[int]", json.loads(str(asked["generations"])))


def test_rows_of_many_runs_are_deleted_together(
    clock: _Clock, stale: StaleGenerations, deleted: Callable[[], list[Parameters]]
) -> None:
    stale.note("default", "first", 1)
    clock.now += KEEP_SECONDS - 1
    assert deleted() == []
    clock.now += 1
    assert [names(each) for each in deleted()] == [[["default", "first"]]] * len(OF_RUNS)
    for number in range(10):
        stale.note("default", f"run {number}", number)
        stale.note("other", f"run {number}", number + 50)
        stale.note("default", f"run {number}", number + 100)
    clock.now += COLLECT_SECONDS
    assert deleted() == []
    clock.now += KEEP_SECONDS
    last = deleted()
    assert len(last) == len(OF_RUNS), "of all tenants in one statement"
    assert names(last[0]) == [
        [("default", "other")[number % 2], f"run {number // 2}"] for number in range(20)
    ]
    assert generations(last[0]) == [number // 2 + (50 if number % 2 else 100) for number in range(20)]
    stale.note("default", "late", 7)
    clock.now += COLLECT_SECONDS - 1
    assert deleted() == []


def test_after_a_rebuild_they_go_a_part_at_a_time(
    clock: _Clock,
    stale: StaleGenerations,
    deleted: Callable[[], list[Parameters]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stale_generations, "MOST_AT_ONCE", 4)
    for number in range(10):
        stale.note("default", f"run {number}", number)
    clock.now += KEEP_SECONDS
    parts = list[object]()
    for _ in range(4):
        asked = deleted()
        parts.append(generations(asked[0]) if asked else None)
        clock.now += COLLECT_SECONDS
    assert parts == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9], None]


def test_what_could_not_be_deleted_is_asked_for_again(
    clock: _Clock, stale: StaleGenerations, made: _Store, deleted: Callable[[], list[Parameters]]
) -> None:
    stale.note("default", "run", 1)
    clock.now += KEEP_SECONDS
    made.is_away = True
    with pytest.raises(WarehouseUnavailable):
        deleted()
    assert deleted() == [], "whatever is done meanwhile does not fail with it"
    made.is_away = False
    clock.now += COLLECT_SECONDS
    deleted()
    tables = [str(asked["table"]) for asked in made.deleted]
    assert tables == [TABLES[name] for name in OF_RUNS], "each once"
    clock.now += COLLECT_SECONDS
    assert deleted() == []


def test_an_account_that_may_not_look_what_failed_deletes_all_the_same(
    clock: _Clock, stale: StaleGenerations, made: _Store, deleted: Callable[[], list[Parameters]]
) -> None:
    stale.note("default", "run", 1)
    clock.now += KEEP_SECONDS
    made.is_blind = True
    assert len(deleted()) == len(OF_RUNS)


def test_while_the_engine_fails_it_is_not_asked_for_more_and_the_log_says_why(
    store: EmbeddedStore,
    stale: StaleGenerations,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(stale_generations, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(stale_generations, "COLLECT_SECONDS", 0.0)
    rows = [{"tenant": "a", "run_id": "r", "generation": generation} for generation in (1, 2)]
    data = "\n".join(map(json.dumps, rows)).encode()
    store.insert("INSERT INTO canon_steps (tenant, run_id, generation)", data, "JSONEachRow")
    fails = "ALTER TABLE canon_steps UPDATE name = 'x' WHERE throwIf(generation = 1, 'no luck') = 0"
    store.command(fails, settings={"mutations_sync": 0})

    # What fails elsewhere holds nothing up.
    store.insert("INSERT INTO loaded_batches", b"{}", "JSONEachRow")
    elsewhere = "ALTER TABLE loaded_batches DELETE WHERE throwIf(1, 'not here')"
    store.command(elsewhere, settings={"mutations_sync": 0})
    _await(store, "SELECT count() FROM system.mutations WHERE latest_fail_reason != ''", 2)

    stale.note("a", "r", 2)
    with caplog.at_level(logging.WARNING, "retrospan.interpret"):
        collect_all(stale, store)
        collect_all(stale, store)
    (said,) = caplog.messages
    assert "canon_steps" in said
    assert "no luck" in said
    asked = "SELECT count() FROM system.mutations WHERE command LIKE '%_row_exists%'"
    assert typed_column(store, int, asked) == [0]

    store.command("KILL MUTATION WHERE table = 'canon_steps' SYNC")
    collect_all(stale, store)
    _await(store, "SELECT count() FROM canon_steps", 1)
    assert typed_column(store, int, "SELECT generation FROM canon_steps") == [2]
    assert typed_column(store, int, asked) == [len(OF_RUNS)]
    store.command("KILL MUTATION WHERE table = 'loaded_batches' SYNC")


def test_what_waits_is_bounded_while_nothing_can_be_deleted(
    clock: _Clock,
    stale: StaleGenerations,
    made: _Store,
    deleted: Callable[[], list[Parameters]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stale_generations, "MOST_WAITING", 10)

    def note(first: int) -> list[str]:
        runs = [str(number) for number in range(first, first + 15)]
        for run_id in runs:
            stale.note("default", run_id, 1)
        clock.now += KEEP_SECONDS
        return runs

    note(0)
    made.failed = [("canon_steps", "no luck")]
    assert deleted() == []
    more = note(15)
    made.failed = []
    clock.now += COLLECT_SECONDS
    assert names(deleted()[0]) == [["default", run_id] for run_id in more[-10:]]

    runs = note(30)
    assert names(deleted()[0]) == [["default", run_id] for run_id in runs], "not once it goes on"

    note(45)
    made.is_away, made.deleted = True, made.deleted[:2]
    with pytest.raises(WarehouseUnavailable):
        deleted()
    more = note(60)
    made.is_away = False
    deleted()
    clock.now += COLLECT_SECONDS
    assert names(deleted()[0]) == [["default", run_id] for run_id in more[-10:]], "nor while it refuses"


def test_one_table_is_asked_at_a_time(clock: _Clock, stale: StaleGenerations, made: _Store) -> None:
    stale.note("default", "run", 1)
    stale.note_trace("default", "trace", 1)
    clock.now += KEEP_SECONDS
    counts = list[int]()
    for _ in range(len(GENERATIONAL) + 2):
        stale.collect(cast(Store, made), Form())
        counts.append(len(made.deleted))
    assert counts == [*range(len(GENERATIONAL) + 1), len(GENERATIONAL)]


def test_what_a_server_is_asked_fits_into_the_address_that_it_reads(
    clock: _Clock, stale: StaleGenerations, made: _Store, deleted: Callable[[], list[Parameters]]
) -> None:
    made.longest_parameter = ServerStore.longest_parameter
    runs = [f"a run of somebody's: {number:032x}" for number in range(stale_generations.MOST_AT_ONCE)]
    for run_id in runs:
        stale.note("a tenant: ü", run_id, 10**18)
    clock.now += KEEP_SECONDS
    told = list[str]()
    while asked := deleted():
        assert max(len(urlencode(each)) for each in asked) < 1 << 20
        told += [name for _, name in names(asked[0])]
        clock.now += COLLECT_SECONDS
    assert told == runs
    stale.note("a", "r" * made.longest_parameter, 1)
    clock.now += KEEP_SECONDS
    assert len(deleted()) == len(OF_RUNS), "one that is too long by itself holds up no others"


def test_names_of_any_kind_are_told_as_they_are(
    store: EmbeddedStore, stale: StaleGenerations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stale_generations, "KEEP_SECONDS", 0.0)
    odd = ["a\nb", "\\n", '"', "'", "\0", "{names:String}", "\U0001f600", "\\u0041", "]", "é", " ", "%"]
    rows = [{"tenant": "a", "run_id": name, "generation": number} for name in odd for number in (1, 2)]
    insert(store, "canon_steps", rows)
    for name in odd[::2]:
        stale.note("a", name, 2)
    collect_all(stale, store)
    _await(store, "SELECT count() FROM canon_steps", len(rows) - len(odd[::2]))
    left = store.rows("SELECT run_id, generation FROM canon_steps ORDER BY ALL")
    assert sorted(map(tuple, left)) == sorted(
        (row["run_id"], row["generation"])
        for row in rows
        if row["generation"] == 2 or row["run_id"] in odd[1::2]
    )


def _await(store: EmbeddedStore, asked: str, expected: int) -> None:
    deadline = time.monotonic() + 60
    while typed_column(store, int, asked) != [expected]:
        assert time.monotonic() < deadline, asked
        time.sleep(0.05)


def test_only_older_generations_of_that_tenants_run_go_and_nobody_waits(
    store: EmbeddedStore, stale: StaleGenerations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stale_generations, "KEEP_SECONDS", 0.0)
    rows = [
        {"tenant": tenant, "run_id": run_id, "generation": generation}
        for tenant in ("a", "b", "a.b", "c")
        for run_id in ("r", "b.r", "s")
        for generation in (1, 2, 3)
    ]
    data = "\n".join(map(json.dumps, rows)).encode()
    for name in OF_RUNS:
        table = TABLES[name]
        store.insert(f"INSERT INTO {table} (tenant, run_id, generation)", data, "JSONEachRow")
        store.command("SYSTEM STOP MERGES {table:Identifier}", {"table": table})
    stale.note("a", "r", 2)
    stale.note("a", "r", 3)
    stale.note("b", "r", 2)
    stale.note("a.b", "s", 1)
    try:
        # While the engine can do nothing of it: whoever waited would wait for ever.
        collect_all(stale, store)
    finally:
        for name in OF_RUNS:
            store.command("SYSTEM START MERGES {table:Identifier}", {"table": TABLES[name]})
    gone = {("a", "r", 1), ("a", "r", 2), ("b", "r", 1)}
    expected = sorted({(*row.values(),) for row in rows} - gone)
    deadline = time.monotonic() + 60
    for name in OF_RUNS:
        asked = f"SELECT tenant, run_id, generation FROM {TABLES[name]} ORDER BY ALL"
        while (left := [tuple(row) for row in store.rows(asked)]) != expected and time.monotonic() < deadline:
            time.sleep(0.05)
        assert left == expected, name


def test_readings_of_a_span_go_by_the_generation_of_its_trace(
    store: EmbeddedStore, stale: StaleGenerations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stale_generations, "KEEP_SECONDS", 0.0)
    rows = [
        {"tenant": tenant, "trace_id": trace_id, "span_id": span_id, "generation": generation}
        for tenant in ("a", "b")
        for trace_id in ("t", "u")
        for span_id in ("1", "2")
        for generation in (1, 2)
    ]
    insert(store, "canon_spans", rows)
    store.command("OPTIMIZE TABLE canon_spans FINAL")
    assert typed_column(store, int, "SELECT count() FROM canon_spans") == [len(rows)], "a merge leaves both"
    stale.note("a", "u", 2)  # a run of that name
    stale.note_trace("a", "t", 2)
    collect_all(stale, store)
    _await(store, "SELECT count() FROM canon_spans", len(rows) - 2)
    left = store.rows("SELECT tenant, trace_id, span_id, generation FROM canon_spans ORDER BY ALL")
    gone = {("a", "t", "1", 1), ("a", "t", "2", 1)}
    assert [tuple(row) for row in left] == sorted({(*row.values(),) for row in rows} - gone)


def test_what_the_process_before_had_no_time_to_delete_goes_once(
    store: EmbeddedStore, stale: StaleGenerations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stale_generations, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(stale_generations, "COLLECT_SECONDS", 0.0)
    now = 10**18
    long_ago = now - int(stale_generations.LEFT_SECONDS * 1e9)
    runs = [("old", long_ago), ("new", now), ("new", now - 5)]
    insert(
        store, "canon_runs", [{"tenant": "a", "run_id": run, "generation": number} for run, number in runs]
    )
    traces = {"t": (now, ["new"]), "o": (long_ago, ["old"]), "once": (now - 7, ["read once"])}
    insert(
        store,
        "canon_traces",
        [
            {"tenant": "a", "trace_id": name, "generation": number, "run_ids": of_trace}
            for name, (number, of_trace) in traces.items()
        ],
    )
    read = [("old", long_ago - 1), ("old", long_ago), ("new", now - 5), ("new", now)]
    insert(
        store, "canon_steps", [{"tenant": "a", "run_id": run, "generation": number} for run, number in read]
    )
    of_spans = [("t", now), ("t", now - 5), ("o", long_ago), ("o", long_ago - 1), ("once", now - 7)]
    spans = [{"tenant": "a", "trace_id": t, "span_id": "s", "generation": number} for t, number in of_spans]
    insert(store, "canon_spans", spans)

    asked = "SELECT count() FROM system.mutations WHERE command LIKE '%_row_exists%'"
    (before,) = typed_column(store, int, asked)
    stale.begin(store)
    stale.begin(store)
    collect_all(stale, store)
    collect_all(stale, store)
    _await(store, "SELECT count() FROM canon_steps", len(read) - 1)
    _await(store, "SELECT count() FROM canon_spans", len(spans) - 1)
    left = store.rows("SELECT run_id, generation FROM canon_steps ORDER BY ALL")
    assert left == [["new", now], ["old", long_ago - 1], ["old", long_ago]]
    left = store.rows("SELECT trace_id, generation FROM canon_spans ORDER BY ALL")
    assert left == sorted([t, number] for t, number in of_spans if (t, number) != ("t", now - 5))
    assert typed_column(store, int, asked) == [before + len(GENERATIONAL)], "looked for once"


def insert(store: EmbeddedStore, table: str, rows: Sequence[Mapping[str, object]]) -> None:
    columns = ", ".join(rows[0])
    store.insert(f"INSERT INTO {table} ({columns})", "\n".join(map(json.dumps, rows)).encode(), "JSONEachRow")
