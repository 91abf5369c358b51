"""What new_warehouse.json would be, and what a warehouse laid out from it lacks.

python new_warehouse_scene.py made DIRECTORY      makes every table statement by statement, prints what is told of it
python new_warehouse_scene.py lacks DIRECTORY     opens one that was laid out, prints what a start would do to it
python new_warehouse_scene.py killed DIRECTORY N  lays one out and is killed when N of its parts have their place
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from retrospan.ingest.machine.durable_files import Files
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.ingest.warehouse.new_warehouse import build, lay_out, told_of
from retrospan.queries import catalogue
from retrospan.schemas.migrate import Migrations


def made(directory: Path) -> None:
    warehouse = EmbeddedWarehouse(directory)
    part = build(warehouse.connect())
    warehouse.close()
    print(json.dumps(told_of(directory, part)))


def lacks(directory: Path) -> None:
    warehouse = EmbeddedWarehouse(directory)
    store = warehouse.connect()
    said = {
        str(name): str(comment)
        for name, comment in store.rows(
            "SELECT name, comment FROM system.tables WHERE database = 'retrospan' AND engine = 'View'"
        )
    }
    found = {
        "migrations": [migration.name for migration in Migrations(store).pending()],
        "views": [view.name for view in catalogue.views() if said.get(view.name) != view.comment],
        "hashes": store.rows("SELECT name, statement_hash FROM schema_migrations FINAL ORDER BY number"),
    }
    store.close()
    warehouse.close()
    print(json.dumps(found))


def killed(directory: Path) -> None:
    left = [int(sys.argv[3])]
    rename, rmdir = Files.rename, Path.rmdir

    def rename_or_die(disk: Files, source: Path, target: Path) -> None:
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        rename(disk, source, target)

    def rmdir_or_die(path: Path) -> None:
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        rmdir(path)

    setattr(Files, "rename", rename_or_die)  # noqa: B010
    setattr(Path, "rmdir", rmdir_or_die)  # noqa: B010
    lay_out(directory)


if __name__ == "__main__":
    {"made": made, "lacks": lacks, "killed": killed}[sys.argv[1]](Path(sys.argv[2]))
