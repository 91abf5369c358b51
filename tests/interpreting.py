"""Rows put in front of an interpreter, and the rows that it made."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import count
from typing import cast

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.load.landing import insert_records
from retrospan.ingest.log.record import encode
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.ingest.warehouse.warehouse import Warehouse

_EXCLUDED = ("generation", "through_sequence", "through", "arrived_at", "arrivals", "interpreted_by")
_SEQUENCES = count(1)


def load(store: EmbeddedStore, traces: Sequence[bytes], logs: Sequence[bytes] = ()) -> tuple[int, int]:
    """Put requests into the raw tables as log records; returns their first and last sequence."""
    sequences = []
    data = bytearray()
    for kind, bodies in (("traces", traces), ("logs", logs)):
        for body in bodies:
            sequence = next(_SEQUENCES)
            sequences.append(sequence)
            sent = {kind: body}
            parts, _ = encode(
                arrived_at=time.time_ns(),
                sequence=sequence,
                tenant="default",
                traces=sent.get("traces"),
                logs=sent.get("logs"),
            )
            data += b"".join(parts)
    insert_records(store, bytes(data), f"test-{sequences[0]}-{time.time_ns()}")
    return sequences[0], sequences[-1]


def canonical(store: EmbeddedStore) -> dict[str, list[list[object]]]:
    """Return the rows that readers see, without what may differ between two readings of the same spans."""
    filled = _filled(store)
    found: dict[str, list[list[object]]] = {}
    for table in TABLES.values():
        if table not in filled:
            found[table] = []
            continue
        columns = ", ".join(name for name in filled[table] if name not in _EXCLUDED)
        pointer = "canon_traces" if table in ("canon_traces", "canon_spans") else "canon_runs"
        key = "trace_id" if pointer == "canon_traces" else "run_id"
        final = "FINAL" if table in ("canon_traces", "canon_runs") else ""
        found[table] = store.rows(
            f"SELECT {columns} FROM {table} {final} WHERE ({key}, generation) IN "
            f"(SELECT {key}, generation FROM {pointer} FINAL) ORDER BY ALL"
        )
    return found


def _filled(store: EmbeddedStore) -> dict[str, list[str]]:
    """The tables that hold anything, with their columns: to ask or to empty one that does not costs as much."""
    rows = store.rows(
        "SELECT table, groupArray(name) FROM (SELECT table, name FROM system.columns "
        "WHERE database = currentDatabase() ORDER BY table, position) WHERE table IN "
        "(SELECT table FROM system.parts WHERE database = currentDatabase() AND active) GROUP BY table"
    )
    return {str(table): [str(name) for name in cast("list[object]", names)] for table, names in rows}


def living(store: EmbeddedStore) -> dict[str, list[list[object]]]:
    """The same, without runs that are part of others by now."""
    rows = canonical(store)
    gone = store.rows("SELECT run_id FROM canon_runs FINAL WHERE deleted")
    rows["canon_runs"] = [row for row in rows["canon_runs"] if [row[1]] not in gone]
    return rows


def emptied(store: EmbeddedStore) -> None:
    """Let go of everything that was sent and read."""
    filled = _filled(store)
    for table in filled.keys() & {*TABLES.values(), "raw_spans", "raw_logs", "arrivals"}:
        store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})


def settled(interpreter: Interpreter) -> None:
    assert interpreter.wait_idle(120)


def read_anew(
    store: EmbeddedStore,
    warehouse: Warehouse,
    bodies: Iterable[bytes],
    processes: int = 1,
    failures: int = 0,
) -> dict[str, list[list[object]]]:
    """Let go of everything, have these requests read by so many processes, 0 is in this one; return the living rows."""
    emptied(store)
    load(store, [*bodies])
    settings = InterpreterSettings(quiet_seconds=0.0, processes=max(1, processes))
    interpreter = Interpreter(warehouse, settings, own_process=processes > 0)
    interpreter.start()
    try:
        settled(interpreter)
        assert (interpreter.counters.failures, interpreter.counters.broken) == (failures, 0)
    finally:
        interpreter.stop()
    return living(store)
