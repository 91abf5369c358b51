"""An interpreter in a process of its own, which kills itself with SIGKILL at a named point of writing rows.

    python kill_scene.py DATA PART POINT

PART: `first` and `second` send that half of each run's spans, and read them; `rest` reads what is unread; `none` reads
nothing. Points: `never`; `first` as the first insert of canonical rows begins; `amid` when five have ended and another
is under way, at the latest as a pointer's begins; the name of a table, as its insert begins; `written` after the last.
Prints the rows that readers see as JSON when it lives to the end.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from bench.long_run import LongRun, requests_of
from interpreting import living, settled
from watched_store import WatchedStore

from retrospan.ingest.interpret.rows.lists import POINTERS, TABLES
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.load.landing import insert_records
from retrospan.ingest.log.record import encode
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.ingest.warehouse.new_warehouse import lay_out
from retrospan.queries.catalogue import install
from retrospan.schemas.migrate import Migrations
from retrospan.schemas.store import Settings, Store

Rows = dict[str, list[list[object]]]

RUNS, SPANS = 6, 13
PARTS = ("first", "second")
_CANONICAL = frozenset(TABLES.values())


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DeadlyStore(WatchedStore):
    """Dies at the point."""

    point = "never"
    _lock = threading.Lock()
    _begun = _ended = 0

    def begins(self, table: str) -> None:
        if table not in _CANONICAL:
            return
        if self.point in ("first", table) or (self.point == "amid" and table in POINTERS):
            die()
        with self._lock:
            DeadlyStore._begun += 1

    def ended(self, table: str) -> None:
        if table not in _CANONICAL:
            return
        with self._lock:
            DeadlyStore._ended += 1
            is_amid = DeadlyStore._begun > DeadlyStore._ended >= 5
        if (self.point == "amid" and is_amid) or (self.point == "written" and table == POINTERS[-1]):
            die()


class DeadlyWarehouse(EmbeddedWarehouse):
    """Gives connections that are deadly."""

    def connect(self, limits: Settings | None = None) -> EmbeddedStore:
        store = super().connect(limits)
        store.__class__ = DeadlyStore
        return store


def send(store: Store, part: str) -> None:
    """Put one half of the spans of each run into the raw tables."""
    half = SPANS // 2
    sent = bytearray()
    for seed in range(RUNS):
        spans = [*LongRun(SPANS, seed).spans()]
        for body in requests_of(spans[:half] if part == PARTS[0] else spans[half:], 500):
            sequence = 1 + seed + RUNS * PARTS.index(part)
            pieces, _ = encode(
                arrived_at=time.time_ns(), sequence=sequence, tenant="default", traces=body, logs=None
            )
            sent += b"".join(pieces)
    insert_records(store, bytes(sent), part)


def seen(store: EmbeddedStore) -> Rows:
    """Return what readers see: of spans by the view, of everything else by the pointers."""
    rows = living(store)
    rows["canon_spans"] = store.rows(
        "SELECT trace_id, span_id, run_id, operation, dialect FROM spans WHERE run_id != '' ORDER BY ALL"
    )
    return rows


def main(data: Path, part: str, point: str) -> None:
    DeadlyStore.point = point
    lay_out(data / "warehouse")
    warehouse = DeadlyWarehouse(data / "warehouse")
    store = warehouse.connect()
    Migrations(store).apply()
    install(store)
    if part in PARTS:
        send(store, part)
    if part != "none":
        interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
        interpreter.start()
        settled(interpreter)
        assert (interpreter.counters.failures, interpreter.counters.broken) == (0, 0), interpreter.failure
        assert interpreter.stop(60.0)
    # Whatever merges do meanwhile or will do.
    for table in sorted(_CANONICAL):
        store.command(f"OPTIMIZE TABLE {table} FINAL")
    print(json.dumps(seen(store), default=str), flush=True)
    warehouse.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
