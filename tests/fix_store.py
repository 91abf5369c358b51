"""The embedded engine: one per pytest process (a process can open one path), one empty database per test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.ingest.warehouse.new_warehouse import lay_out
from retrospan.queries.catalogue import install
from retrospan.schemas.migrate import DATABASE, Migrations


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedWarehouse]:
    """The engine on disk. Tests that write use `warehouse` or `store`, which start from fresh tables."""
    place = tmp_path_factory.mktemp("engine") / "warehouse"
    lay_out(place)
    warehouse = EmbeddedWarehouse(place, memory_bytes=4 << 30)
    # The engine ends with its last connection and loads every table again for the next: this one stays.
    warehouse.connect()
    yield warehouse
    warehouse.close()


def _emptied(engine: EmbeddedWarehouse) -> EmbeddedWarehouse:
    store = engine.connect()
    Migrations(store).apply()
    # The views for every test: what one finds must not hang on which ran before it in the process.
    install(store)
    # Only what holds something: to empty sixty empty tables takes most of a second.
    for (name,) in store.rows(
        "SELECT DISTINCT table FROM system.parts WHERE database = {database:String} AND active "
        "AND table != 'schema_migrations'",
        {"database": DATABASE},
    ):
        store.command("TRUNCATE TABLE {name:Identifier}", {"name": str(name)})
    store.close()
    return engine


@pytest.fixture
def warehouse(engine: EmbeddedWarehouse) -> EmbeddedWarehouse:
    """The engine with every table there and empty; `warehouse.connect()` gives further connections."""
    return _emptied(engine)


@pytest.fixture(scope="module")
def module_warehouse(engine: EmbeddedWarehouse) -> EmbeddedWarehouse:
    """The same for tests of one file that only read what is written once; no other may be among them."""
    return _emptied(engine)


@pytest.fixture
def store(warehouse: EmbeddedWarehouse) -> Iterator[EmbeddedStore]:
    """A connection to fresh tables."""
    connection = warehouse.connect()
    yield connection
    connection.close()


@pytest.fixture
def data_path(tmp_path: Path) -> Path:
    """A data directory for a collector or a subprocess."""
    return tmp_path / "data"
