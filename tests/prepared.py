"""A warehouse with every table and view and nothing in them, made once for all tests: a collector takes seconds to make one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from retrospan.queries import catalogue
from retrospan.schemas.migrate import shipped

_MAKE = """
import os
import sys
from pathlib import Path
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.queries import catalogue
from retrospan.schemas.migrate import Migrations

os.umask(0o077)
warehouse = EmbeddedWarehouse(Path(sys.argv[1]))
store = warehouse.connect()
Migrations(store).apply()
catalogue.install(store)
store.close()
warehouse.close()
"""


def prepare(warehouse: Path) -> None:
    """Make a warehouse in this place, where nothing is."""
    warehouse.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copytree(_made(), warehouse, symlinks=True)


@cache
def _made() -> Path:
    """Return where it is. It is made anew when anything that it is made of has changed."""
    digest = sha256(version("chdb-core").encode())
    for number, name, statement in shipped():
        digest.update(f"{number} {name} {statement}".encode())
    for view in catalogue.views():
        digest.update(view.definition.encode())
    place = Path(tempfile.gettempdir()) / f"retrospan-tests-{os.getuid()}-{digest.hexdigest()[:16]}"
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=place.parent) as directory:
            new = Path(directory) / "warehouse"
            subprocess.run([sys.executable, "-c", _MAKE, str(new)], check=True)
            try:
                new.rename(place)
            except OSError:
                # Another process of the tests was first.
                assert place.exists()
    return place
