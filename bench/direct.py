"""The same bytes without a collector: `python -m bench.direct DIRECTORY INTERPRETED TAKEN [LONGER]`.

Opens a warehouse in a fresh directory and inserts two loads into the landing table, each with one statement; the
second is timed. Then it reads the raw rows of the first back, interprets them, and writes the rows, each step on its
own clock; of a third load, of longer runs, only the interpreting. Nothing else runs in this process, so these are the costs of the steps themselves. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

from bench.load import read_load
from retrospan.ingest.interpret.conversations import Conversations
from retrospan.ingest.interpret.dialects.vocabulary import EVERY_FAMILY
from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.interpret.service.batch import interpret_traces
from retrospan.ingest.interpret.service.dispatch import BATCH_TRACES
from retrospan.ingest.interpret.spans.decoded_traces import decode_traces
from retrospan.ingest.load.landing import insert_records
from retrospan.ingest.load.raw_row_reader import read_logs, read_spans
from retrospan.ingest.log.record import encode
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.ingest.warehouse.rows import insert_rows
from retrospan.schemas.migrate import Migrations
from retrospan.schemas.sequences import Newest
from retrospan.schemas.store import Store

_TENANT = "default"


def main(directory: str, interpreted: str, taken: str, longer: str = "") -> None:
    """Measure one load."""
    warehouse = EmbeddedWarehouse(Path(directory), memory_bytes=8 << 30, query_memory_bytes=6 << 30)
    store = warehouse.connect()
    try:
        Migrations(store).apply()
        first, records = _records(Path(interpreted), 1)
        second, taken_records = _records(Path(taken), 1 + records)
        insert_records(store, first, token="interpreted")
        began = time.perf_counter()
        insert_records(store, second, token="taken")
        inserted = time.perf_counter() - began
        seen = store.rows("SELECT uniqExact(trace_id, span_id) FROM raw_spans")[0][0]
        spent = _interpret(store, 1, records)
        if longer:
            began_at = 1 + records + taken_records
            third, longer_records = _records(Path(longer), began_at)
            insert_records(store, third, token="longer")
            spent["longer"] = _interpret(store, began_at, began_at + longer_records - 1)["core"]
    finally:
        store.close()
        warehouse.close()
    print(json.dumps({"seen": seen, "insert": inserted, **spent}))


def _records(path: Path, first: int) -> tuple[bytes, int]:
    """Return the load as the write-ahead log would hold it, and its number of records."""
    parts: list[bytes] = []
    requests = read_load(path)
    arrived_at = time.time_ns()
    for offset, request in enumerate(requests):
        record, _ = encode(
            arrived_at=arrived_at + offset, sequence=first + offset, tenant=_TENANT, traces=request.body
        )
        parts += record
    return b"".join(parts), len(requests)


def _interpret(store: Store, first: int, last: int) -> dict[str, float]:
    """Interpret every trace that came with these records, as the collector's interpreter does."""
    rows = store.rows(
        "SELECT trace_id, max(sequence) FROM arrivals WHERE sequence BETWEEN {first:UInt64} AND {last:UInt64} "
        "GROUP BY trace_id ORDER BY trace_id",
        {"first": first, "last": last},
    )
    newest = {str(trace_id): (int(str(sequence)),) for trace_id, sequence in rows}
    generations = count(1)
    spent = {"read": 0.0, "core": 0.0, "write": 0.0, "runs": 0.0}
    for traces in _batches(newest):
        began = time.perf_counter()
        raw_spans = read_spans(store, _TENANT, list(traces))
        raw_logs = read_logs(store, _TENANT, list(traces))
        spent["read"] += time.perf_counter() - began
        # This thread's processor time: the core is one thread, and waits for nothing.
        began = time.thread_time()
        batch = interpret_traces(
            _TENANT,
            traces,
            decode_traces(traces, raw_spans, raw_logs, EVERY_FAMILY.response_ids),
            lambda: next(generations),
            Conversations(store, _TENANT),
        )
        spent["core"] += time.thread_time() - began
        began = time.perf_counter()
        for name, table in TABLES.items():
            insert_rows(store, table, getattr(batch.rows, name))
        spent["write"] += time.perf_counter() - began
        spent["runs"] += len(batch.rows.runs)
    return spent


def _batches(newest: Mapping[str, Newest]) -> Iterator[dict[str, Newest]]:
    pairs = list(newest.items())
    for start in range(0, len(pairs), BATCH_TRACES):
        yield dict(pairs[start : start + BATCH_TRACES])


if __name__ == "__main__":
    main(*sys.argv[1:])
