"""A warehouse that holds recordings, each framework a service of its own, and runs that were told, behind the SQL port.

Prints its port and, as JSON, which runs came of which recording; ends when its input ends. A process of its own, because
chDB opens one directory per process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path

from fix_recordings import OTHERS, Recording, load_recording, manifest, taken
from spans import rows_of_recording
from story import tell
from why_found_scenes import found_scenes
from why_healthy_scenes import healthy_scenes
from why_scenes import why_scenes

from retrospan.ingest.answer.admin import Admin
from retrospan.ingest.answer.sql_port import SqlPort
from retrospan.ingest.http.site import Site
from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.service.dispatch import write_rows
from retrospan.ingest.settings.config import Limits
from retrospan.ingest.settings.setting_values import Address
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.ingest.warehouse.new_warehouse import lay_out


def everything() -> dict[str, Recording]:
    """Every recording but those that are held back, by name."""
    return {name: load_recording(name) for name in sorted(manifest())} | taken(OTHERS) | taken()


def told(recordings: Iterable[Recording]) -> tuple[Rows, dict[str, list[str]]]:
    """Return the rows of recordings, and the ids of the runs of each."""
    every, runs = Rows(), dict[str, list[str]]()
    for recording in recordings:
        service = recording.name.partition("/")[0]
        for rows in rows_of_recording(recording):
            runs.setdefault(recording.name, []).append(rows.runs[0].run_id)
            for each in fields(Rows):
                of_table = getattr(rows, each.name)
                if each.name == "runs":
                    of_table = [replace(run, service_name=service) for run in of_table]
                getattr(every, each.name).extend(of_table)
    return every, runs


def main() -> None:
    place = Path(sys.argv[1]) / "warehouse"
    lay_out(place)
    warehouse = EmbeddedWarehouse(place)
    store = warehouse.connect()
    wanted = sys.argv[2:]
    rows, runs = told(
        recording
        for name, recording in everything().items()
        if not wanted or name in wanted or name.partition("/")[0] in wanted
    )
    write_rows(store, rows)
    tell(store, *why_scenes(), *healthy_scenes(), *found_scenes())
    port = SqlPort(
        warehouse,
        Site(Address("127.0.0.1", 0)),
        limits=Limits(),
        admin=Admin({}),
        health=lambda: {"status": "ok"},
        metrics=lambda: "",
    )
    print(port.start(), json.dumps(runs), flush=True)
    sys.stdin.read()
    port.stop(1.0)
    store.close()
    warehouse.close()


if __name__ == "__main__":
    main()
