"""A collector's loader in a process of its own, which kills itself with SIGKILL at a named point.

    python kill_scene.py DATA POINT

Loads what the log of DATA holds. Points: `never`; `torn` half-way through the ledger's line of a batch; `noted`
with the batch in the ledger; `inserted` after the insert; `marked` after the mark. Each at the second batch. Prints
the rows as JSON when it lives to the end.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from retrospan.ingest.load import batches
from retrospan.ingest.load.ledger import Ledger
from retrospan.ingest.load.loader import Loader
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.machine.durable_files import Files
from retrospan.ingest.settings.config import LoaderSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.ingest.warehouse.new_warehouse import lay_out
from retrospan.schemas.store import Settings, Store

COUNTS = """
SELECT
    (SELECT count() FROM raw_spans),
    (SELECT count() FROM raw_spans FINAL),
    (SELECT uniqExact(trace_id, span_id) FROM raw_spans),
    (SELECT count() FROM arrivals)
"""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DeadlyFiles(Files):
    """Dies while a line of the ledger is written, or just after."""

    def __init__(self, point: str) -> None:
        self._point = point
        self._batches = 0

    def append(self, descriptor: int, parts: Sequence[bytes]) -> None:
        opens, marks = b'{"open"' in parts[0], b'{"loaded"' in parts[0]
        self._batches += opens
        at_last = self._batches == 2
        if at_last and opens and self._point == "torn":
            super().append(descriptor, [parts[0][: len(parts[0]) // 2]])
            die()
        super().append(descriptor, parts)
        if at_last and ((opens and self._point == "noted") or (marks and self._point == "marked")):
            die()


class DeadlyStore(EmbeddedStore):
    """Dies after an insert, before anybody knows that it went well."""

    inserts = 0

    def insert(
        self,
        statement: str,
        data: bytes | Iterable[bytes],
        input_format: str,
        settings: Settings | None = None,
    ) -> None:
        super().insert(statement, data, input_format, settings)
        DeadlyStore.inserts += "landing" in statement
        if DeadlyStore.inserts == 2:
            die()


def main(data: Path, point: str) -> None:
    batches._HELD_BYTES = 0  # every batch is read again while it is inserted
    lay_out(data / "warehouse")
    warehouse = EmbeddedWarehouse(data / "warehouse")
    log = WriteAheadLog.open(data / "log", low_water_bytes=0)

    def connect() -> Store:
        store = warehouse.connect()
        if point == "inserted":
            store.__class__ = DeadlyStore
        return store

    ledger = Ledger.open(data / "log" / "batches.jsonl", DeadlyFiles(point))
    loader = Loader(log, connect, ledger, LoaderSettings(batch_spans=20, wait_seconds=0.0))
    loader.start()
    print("loading", flush=True)
    assert loader.wait_loaded(log.durable_sequence, 60.0), loader.failure
    store = warehouse.connect()
    print(json.dumps(store.rows(COUNTS)[0]), flush=True)
    assert loader.stop(10.0)
    log.close()
    warehouse.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
