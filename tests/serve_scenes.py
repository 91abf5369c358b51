"""A warehouse that holds the scenes, behind the real SQL port; prints its port, ends when its input ends.

A process of its own, because chDB opens one directory per process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from populations import Kind, made, write
from scene import Scene
from scenes import scenes

from retrospan.ingest.answer.admin import Admin, Report
from retrospan.ingest.answer.sql_port import SqlPort
from retrospan.ingest.config import Limits
from retrospan.ingest.setting_values import Address
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.queries import catalogue
from retrospan.schemas.errors import LogFailed
from retrospan.schemas.migrate import Migrations
from retrospan.schemas.store import Store

TIMES = {
    *("started_at", "ended_at", "at", "newest_ended_at", "arrived_at"),
    *("valid_from", "known_from", "said_at"),
}


def line(row: Any) -> bytes:
    values = {
        name: f"{value // 10**9}.{value % 10**9:09d}" if name in TIMES and value is not None else value
        for name, value in asdict(row).items()
    }
    return json.dumps(values).encode() + b"\n"


def fill(store: Store, found: list[Scene]) -> None:
    for scene in found:
        tables: dict[str, list[Any]] = {
            "canon_values": list(scene.values),
            "canon_model_calls": list(scene.models),
            "canon_tool_calls": list(scene.tools),
            "canon_steps": list(scene.steps),
            "canon_state_changes": list(scene.changes),
            "canon_edges": list(scene.edges),
            "canon_observations": list(scene.observations),
            "canon_problems": list(scene.problems),
            "canon_runs": [scene.run()],
        }
        for table, rows in tables.items():
            if rows:
                names = ", ".join(column.name for column in fields(rows[0]))
                store.insert(
                    f"INSERT INTO {table} ({names})", b"".join(line(row) for row in rows), "JSONEachRow"
                )


def main() -> None:
    warehouse = EmbeddedWarehouse(Path(sys.argv[1]))
    store = warehouse.connect()
    Migrations(store).apply()
    catalogue.install(store)
    if "--populations" in sys.argv:
        write(store, "default", "1.4.1", made("before", 120))
        write(store, "default", "1.4.2", made("after", 120, Kind(shares=(0.2, 0.2, 0.15, 0.4, 0.05))))
        write(store, "default", "1.4.3", made("few", 7))
    elif "--empty" not in sys.argv:
        fill(store, scenes())

    def rebuild(arguments: Mapping[str, object], report: Report) -> None:
        for done in range(0, 101, 20):
            report({"phase": "interpreting", "done": done, "total": 100, "unit": "runs"})
        report({"runs": 100, "asked": dict(arguments)})
        if "--empty" in sys.argv:
            raise LogFailed("the log is damaged: \x1b[31m")

    port = SqlPort(
        warehouse,
        Address("127.0.0.1", 0),
        limits=Limits(),
        admin=Admin({"rebuild": rebuild}),
        health=lambda: {"status": "ok"},
        metrics=lambda: "",
    )
    print(port.start(), flush=True)
    sys.stdin.read()
    port.stop(1.0)
    # Open until here: the engine stops with its last connection and takes 100 ms to start again.
    store.close()
    warehouse.close()


if __name__ == "__main__":
    main()
