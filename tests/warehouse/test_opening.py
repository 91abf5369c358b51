"""What an embedded warehouse does until its tables are there: once, ahead of who asks, and with what went wrong told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: A process can open one path only, so each scene has its own.
SCENE = """
import sys
from contextlib import closing
from pathlib import Path

from retrospan.ingest.config import Config
from retrospan.ingest.open_warehouse import open_warehouse
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas.errors import SchemaTooNew

done = []
command = EmbeddedStore.command
def noting(store, statement, *arguments, **named):
    done.append(statement)
    command(store, statement, *arguments, **named)
EmbeddedStore.command = noting

def opened():
    return open_warehouse(Config(data=Path(sys.argv[1])), 1 << 30, guarded=False)
"""
MADE_ONCE = """
warehouse = opened()
warehouse.begin()
warehouse.prepare()
made = [statement for statement in done if "CREATE" in statement and "DATABASE" not in statement]
assert len(made) > 100
assert len(made) == len(set(made)), [statement[:200] for statement in made if made.count(statement) > 1]
done.clear()
warehouse.prepare()
assert not [statement for statement in done if "CREATE" in statement and "DATABASE" not in statement]
with closing(warehouse.connect()) as store:
    assert store.rows("SELECT engine FROM system.tables WHERE database = 'retrospan' AND name = 'logs'") == [["View"]]
    store.command("DROP TABLE arrivals SYNC")
warehouse.prepare()
with closing(warehouse.connect()) as store:
    assert store.rows("EXISTS arrivals") == [[1]], "what somebody dropped is made again"
warehouse.close()
"""
TOO_NEW = """
warehouse = opened()
warehouse.prepare()
with closing(warehouse.connect()) as store:
    store.command("INSERT INTO schema_migrations (number, name, state, version) VALUES (9999, 'later', 'applied', 1)")
warehouse.close()
for is_ahead in (True, False):
    warehouse = opened()
    if is_ahead:
        warehouse.begin()
    try:
        warehouse.prepare()
        raise AssertionError("it was opened")
    except SchemaTooNew as error:
        assert "later" in str(error)
    warehouse.close()
"""
NEVER_ASKED = """
warehouse = opened()
warehouse.begin()
warehouse.close()
warehouse = opened()
warehouse.prepare()
warehouse.close()
"""


def run(scene: str, directory: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCENE + scene, str(directory)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_every_table_is_made_once_and_again_only_when_it_is_gone(tmp_path: Path) -> None:
    run(MADE_ONCE, tmp_path)


def test_what_a_later_release_wrote_is_refused_whoever_meets_it_first(tmp_path: Path) -> None:
    run(TOO_NEW, tmp_path)


def test_one_that_is_closed_before_anybody_asked_leaves_a_warehouse_that_opens(tmp_path: Path) -> None:
    run(NEVER_ASKED, tmp_path)
