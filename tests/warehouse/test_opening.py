"""What an embedded warehouse does until its tables are there: once, ahead of who asks, and with what went wrong told."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

#: A process can open one path only, so each scene has its own.
SCENE = """
import sys
from contextlib import closing
from pathlib import Path

from retrospan.ingest.settings.config import Config
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
CREATED = """
def created():
    return [statement for statement in done if "CREATE" in statement and "DATABASE" not in statement]
"""
LAID_OUT = """
warehouse = opened()
warehouse.begin()
warehouse.prepare()
warehouse.prepare()
assert created() == []
with closing(warehouse.connect()) as store:
    assert store.rows("SELECT count() FROM spans") == [[0]]
warehouse.close()
"""
MADE_ONCE = """
# A directory of an earlier start, which was killed before it made anything.
(Path(sys.argv[1]) / "warehouse" / "tmp").mkdir(parents=True)
warehouse = opened()
warehouse.begin()
warehouse.prepare()
made = created()
assert len(made) > 100
assert len(made) == len(set(made)), [statement[:200] for statement in made if made.count(statement) > 1]
done.clear()
warehouse.prepare()
assert created() == []
with closing(warehouse.connect()) as store:
    assert store.rows("SELECT engine FROM system.tables WHERE database = 'retrospan' AND name = 'logs'") == [["View"]]
warehouse.close()
"""
DROPPED = """
DEFINED = "SELECT name, create_table_query FROM system.tables WHERE database = 'retrospan'"
warehouse = opened()
warehouse.prepare()
with closing(warehouse.connect()) as store:
    before = dict(store.rows(DEFINED))
    for table in sorted(before):
        if table.startswith(("canon_", "raw_", "arrivals", "loaded_", "receipts", "run_marks")):
            store.command(f"DROP TABLE IF EXISTS {table} SYNC")
    assert len(store.rows(DEFINED)) < len(before) - 30
warehouse.prepare()
with closing(warehouse.connect()) as store:
    after = dict(store.rows(DEFINED))
    assert after.keys() == before.keys()
    assert [name for name in before if after[name] != before[name]] == []
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
KILLED_WHILE_REPLACING = """
import os, signal, threading

warehouse = opened()
warehouse.prepare()

def kill():
    while not list(Path(sys.argv[1]).glob("warehouse/**/_tmp_replace_*.sql")):
        pass
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=kill).start()
with closing(warehouse.connect()) as store:
    # It has no end.
    store.command(
        "CREATE OR REPLACE TABLE canon_loops ENGINE = MergeTree ORDER BY n AS "
        "SELECT number AS n FROM numbers(1000000000000000) WHERE number % 1000000000 = 7"
    )
"""
NOTHING_LEFT = """
warehouse = opened()
warehouse.prepare()
with closing(warehouse.connect()) as store:
    assert store.rows("SELECT name FROM system.tables WHERE name LIKE '_tmp_%'") == []
    assert store.rows("SELECT count() FROM canon_loops") == [[0]]
warehouse.close()
"""


def run(scene: str, directory: Path, code: int = 0) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCENE + scene, str(directory)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == code, done.stderr


def test_a_first_start_makes_no_table_one_by_one(tmp_path: Path) -> None:
    run(CREATED + LAID_OUT, tmp_path)


@pytest.mark.long
def test_every_table_is_made_once(tmp_path: Path) -> None:
    run(CREATED + MADE_ONCE, tmp_path)


@pytest.mark.long
def test_what_somebody_dropped_is_made_again_with_its_indexes_and_its_compression(tmp_path: Path) -> None:
    run(DROPPED, tmp_path)


def test_what_a_later_release_wrote_is_refused_whoever_meets_it_first(tmp_path: Path) -> None:
    run(TOO_NEW, tmp_path)


def test_one_that_is_closed_before_anybody_asked_leaves_a_warehouse_that_opens(tmp_path: Path) -> None:
    run(NEVER_ASKED, tmp_path)


def test_what_was_half_made_when_its_process_was_killed_is_dropped(tmp_path: Path) -> None:
    run(KILLED_WHILE_REPLACING, tmp_path, -signal.SIGKILL)
    assert list(tmp_path.glob("warehouse/**/_tmp_replace_*.sql"))
    run(NOTHING_LEFT, tmp_path)
