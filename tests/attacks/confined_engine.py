"""A process that confines itself and then gives an engine, with no guard before it, what it reads from its input.

    python confined_engine.py DIRECTORY        one JSON list of statements in, one JSON list of answers out

The first answer says how it is confined, the last what is left of its environment. The directory is the one place it
may write in. `--free` in front leaves out the confinement, to show that an attack would succeed without.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from retrospan.ingest.machine.confinement import (
    DEVICES,
    SYSTEM_PLACES,
    confine,
    python_places,
    python_programs,
)
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.errors import RetrospanError


def main(words: list[str]) -> None:
    directory = Path(words[-1])
    statements: list[str] = json.load(sys.stdin)
    answers: list[str] = []
    if "--free" not in words:
        kept = confine(
            readable=[*python_places(), *SYSTEM_PLACES],
            writable=[directory, *DEVICES],
            executable=python_programs(),
        )
        answers.append(str(kept))
    warehouse = EmbeddedWarehouse(directory / "warehouse")
    store = warehouse.connect()
    for statement in statements:
        try:
            answers.append(
                "ok " + store.query(statement, output_format="TabSeparated").decode(errors="replace")
            )
        except RetrospanError as error:
            answers.append(f"error {error}")
    warehouse.close()
    answers.append(json.dumps(sorted(os.environ)))
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
