"""What the engine's allocator is told: to give back soon what was freed, as long as nobody else has told it anything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Sees what the engine's library sees when it is loaded; then has a statement take a lot, and waits without another one.
CHILD = """
import json, os, sys, time
from importlib.abc import MetaPathFinder
from pathlib import Path

class Seen(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "chdb":
            told.append(os.environ.get("JE_MALLOC_CONF"))
        return None

told = []
sys.meta_path.insert(0, Seen())

from retrospan.ingest.machine.operating_system import resident_bytes
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse

warehouse = EmbeddedWarehouse(Path(sys.argv[1]))
store = warehouse.connect()
store.command("CREATE TABLE kept (a String) ENGINE = Memory")
before = resident_bytes()
store.command("INSERT INTO kept SELECT randomString(1000) FROM numbers(400000)")
full = resident_bytes()
store.command("DROP TABLE kept SYNC")
deadline = time.monotonic() + 60
while (left := resident_bytes()) - before > (full - before) / 2 and time.monotonic() < deadline:
    time.sleep(0.1)
warehouse.close()
print(json.dumps([told, os.environ.get("JE_MALLOC_CONF"), full - before, left - before]))
"""


@pytest.mark.parametrize("of_user", [None, "dirty_decay_ms:400"])
def test_what_a_statement_took_is_given_back_without_another(tmp_path: Path, of_user: str | None) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "JE_MALLOC_CONF"}
    if of_user is not None:
        environ["JE_MALLOC_CONF"] = of_user
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path / "warehouse")],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
    )
    told, after, full, left = json.loads(done.stdout)
    assert told[0] == (of_user or "dirty_decay_ms:200,muzzy_decay_ms:0")
    assert after == of_user, "what is set for the library alone is not left to this process's children"
    assert full > 300 << 20
    assert left <= full / 2
