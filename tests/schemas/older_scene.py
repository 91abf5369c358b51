"""A directory as the release before laid it out, and the same after this one opened it.

python older_scene.py fill DIRECTORY      stores recordings and interprets them, then takes away what is newer
python older_scene.py open DIRECTORY      opens it as the collector does, prints what it holds
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from fix_recordings import load_recording

from retrospan.ingest.answer.rewriting.narrowing import narrowed
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.load.landing import insert_records
from retrospan.ingest.log.record import encode
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.queries import catalogue
from retrospan.schemas.migrate import Migrations, shipped

RECORDINGS = ("langgraph-openinference/multiturn", "pydantic-ai/normal")
#: The first migration that the release before did not have.
NEWER = 100
#: What the interpreter of this release writes and that one did not have: tables, and columns of tables.
_TABLES = {130: "canon_loops", 132: "canon_habits", 180: "canon_costs", 200: "canon_findings"}
_COLUMNS = {
    181: "canon_model_calls",
    182: "canon_steps",
    183: "canon_agents",
    184: "canon_runs",
    280: "canon_edges",
    320: "canon_traces",
    321: "canon_traces",
}
_ADDED = re.compile(r"ADD COLUMN IF NOT EXISTS (\w+)")
_ANEW = re.compile(r"^CREATE OR REPLACE TABLE (\w+)", re.MULTILINE)


def fill(directory: Path) -> None:
    warehouse = EmbeddedWarehouse(directory)
    store = warehouse.connect()
    older = [one for one in shipped() if one[0] < NEWER]
    Migrations(store, older).apply()
    sequence = 0
    for turn in (1, 2):  # everything is sent again: each span lies in two rows, on two sequences
        data = bytearray()
        for name in RECORDINGS:
            for request in load_recording(name).traces:
                sequence += 1
                parts, _ = encode(
                    arrived_at=time.time_ns(), sequence=sequence, tenant="default", traces=request, logs=None
                )
                data += b"".join(parts)
            if turn == 2:
                break  # only the first recording
        store.command("SYSTEM STOP MERGES raw_spans")
        # With a record that holds nothing they enter where everything entered before.
        insert_records(store, bytes(data + b"\0"), f"scene {turn}")
    # They are taken away afterwards.
    for number, _, statement in shipped():
        if number in {*_TABLES, *_COLUMNS}:
            store.command(statement)
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0), own_process=False)
    # It looks for what is unread itself. Noticed as well, a run would be read twice on a slow machine.
    interpreter.start()
    assert interpreter.wait_idle(60)
    interpreter.stop()
    for table, columns in added().items():
        store.command(f"ALTER TABLE {table} {', '.join(f'DROP COLUMN {column}' for column in columns)}")
    found = kept(store)
    found["loops"] = store.rows("SELECT count() FROM canon_loops")
    found["again"] = _traces(
        store, "SELECT trace_id FROM raw_spans GROUP BY trace_id, span_id HAVING count() > 1"
    )
    found["spans"] = store.rows(
        "SELECT trace_id, span_id, argMax(name, sequence), uniqExact(content_hash) FROM raw_spans "
        "GROUP BY trace_id, span_id ORDER BY ALL"
    )
    for table in _TABLES.values():
        store.command(f"DROP TABLE {table} SYNC")
    found["indexes"] = store.rows(
        "SELECT count() FROM system.data_skipping_indices WHERE table = 'raw_spans'"
    )
    print(json.dumps(found))
    store.close()
    warehouse.close()


def added() -> dict[str, list[str]]:
    """Return the columns that tables have gained, by table."""
    found: dict[str, list[str]] = {}
    for number, _, statement in shipped():
        if number in _COLUMNS:
            found.setdefault(_COLUMNS[number], []).extend(_ADDED.findall(statement))
    return found


def kept(store: EmbeddedStore) -> dict[str, Any]:
    """Return the rows of what is laid out anew, without the columns that were added since."""
    found: dict[str, Any] = {}
    for table in (*anew(), "canon_habits"):
        left_out = added().get(table, [])
        columns = f"* EXCEPT ({', '.join(left_out)})" if left_out and _has(store, table, left_out[0]) else "*"
        found[table] = store.rows(f"SELECT {columns} FROM {table} ORDER BY ALL")
    return found


def _has(store: EmbeddedStore, table: str, column: str) -> bool:
    return bool(
        store.rows(
            "SELECT 1 FROM system.columns WHERE database = currentDatabase() AND table = {table:String} "
            "AND name = {column:String}",
            {"table": table, "column": column},
        )
    )


def anew() -> list[str]:
    """Return the tables that are laid out anew."""
    return [found[1] for _, _, statement in shipped() if (found := _ANEW.search(statement))]


def opened(directory: Path) -> None:
    warehouse = EmbeddedWarehouse(directory)
    store = warehouse.connect()
    applied = [migration.number for migration in Migrations(store).apply()]
    catalogue.install(store)
    found = kept(store)
    found["applied"] = applied
    found["loops"] = store.rows("SELECT count() FROM canon_loops")
    found["again"] = _traces(store, "SELECT trace_id FROM raw_resent")
    columns = "SELECT trace_id, span_id, name, variants FROM"
    found["spans"] = store.rows(f"{columns} spans ORDER BY ALL")
    found["spans_as_sent"] = store.rows(f"{columns} spans_as_sent ORDER BY ALL")
    key, value = store.rows(
        "SELECT pair.key, pair.value FROM raw_spans ARRAY JOIN attributes AS pair "
        "WHERE pair.kind = 'string' AND match(pair.value, '^[a-z]{3,60}$') ORDER BY ALL LIMIT 1"
    )[0]
    asked = f"SELECT trace_id, span_id, attributes FROM spans WHERE attributes['{key}'] = {{v:String}} ORDER BY ALL"
    written = narrowed(asked, {"v": str(value)})
    found["is narrowed"] = written != asked
    found["by attribute"] = store.rows(written, {"v": str(value)})
    found["by attribute, plainly"] = store.rows(asked, {"v": str(value)})
    found["services"] = store.rows("SELECT service_name, count() FROM spans GROUP BY ALL ORDER BY ALL")
    found["services, plainly"] = store.rows(
        "SELECT nullIf(arrayLast(a -> a.key = 'service.name', resource_attributes).value, '') AS service, "
        "uniqExact(trace_id, span_id) FROM raw_spans GROUP BY ALL ORDER BY ALL"
    )
    print(json.dumps(found))
    store.close()
    warehouse.close()


def _traces(store: EmbeddedStore, query: str) -> list[str]:
    return sorted({str(row[0]) for row in store.rows(query)})


if __name__ == "__main__":
    {"fill": fill, "open": opened}[sys.argv[1]](Path(sys.argv[2]))
