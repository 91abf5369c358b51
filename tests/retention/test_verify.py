"""`verify` names the first row that was edited, removed, added or moved."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from docs.pages import TOP, Page
from keeping import Keeper, agent_run

from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.store import Settings

TABLES = {"receipts": "receipts", "batches": "loaded_batches"}


@pytest.fixture(scope="module")
def chained(
    module_warehouse: EmbeddedWarehouse, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Keeper]:
    """A keeper with eight receipts and as many batches or more; a test puts back what it changes."""
    keeper = Keeper(module_warehouse, tmp_path_factory.mktemp("chained"))
    for number in range(8):
        keeper.send([agent_run(f"run-{number}", "ok")])
        keeper.settle()
    keeper.after(8)
    assert len(keeper.apply()) == 8
    yield keeper
    keeper.close()


CHANGES = {
    "edit": "ALTER TABLE {table:Identifier} UPDATE tenant = 'other' WHERE number = 4",
    "edit the last": "ALTER TABLE {table:Identifier} UPDATE bytes = bytes + 1 WHERE number = 8",
    "delete": "ALTER TABLE {table:Identifier} DELETE WHERE number = 4",
    "delete the first": "ALTER TABLE {table:Identifier} DELETE WHERE number = 1",
    "delete to the end": "ALTER TABLE {table:Identifier} DELETE WHERE number >= 6",
    "insert": "INSERT INTO {table:Identifier} SELECT * REPLACE(bytes + 5 AS bytes) FROM {table:Identifier} WHERE number = 4",
}
PLACES = {
    "edit": 4,
    "edit the last": 8,
    "delete": 4,
    "delete the first": 1,
    "delete to the end": 6,
    "insert": 4,
}


@pytest.mark.parametrize("chain", ["batches", pytest.param("receipts", marks=pytest.mark.long)])
def test_each_way_of_tampering_is_named(chained: Keeper, chain: str) -> None:
    table = TABLES[chain]
    assert all(not checked.wrong for checked in chained.verify())
    assert chained.rows(f"SELECT max(number) >= 8 FROM {table}") == [[1]]
    store = chained.warehouse.connect()
    store.command(f"CREATE TABLE kept AS {table}")
    store.command(f"INSERT INTO kept SELECT * FROM {table}")
    try:
        for change, place in PLACES.items():
            store.command(CHANGES[change], {"table": table}, {"mutations_sync": 1})
            (found,) = [checked for checked in chained.verify() if checked.chain == chain]
            assert found.wrong and found.at == place, (change, found)
            put_back(store, table)
        # Reordered: 4 and 5 change places, each with the number of the other.
        store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})
        store.command(
            f"INSERT INTO {table} SELECT * REPLACE(transform(number, [4, 5], [5, 4], number) AS number) FROM kept"
        )
        (found,) = [checked for checked in chained.verify() if checked.chain == chain]
        assert found.wrong and found.at == 4, found
        put_back(store, table)
        assert all(not checked.wrong for checked in chained.verify())
    finally:
        store.command("DROP TABLE kept")
        store.close()


def test_anybody_can_check_the_receipts_by_the_page_alone(chained: Keeper) -> None:
    [script] = [text for _, text in Page(TOP / "docs" / "retention.md").blocks if "receipt_hash" in text]
    [shell] = [text for _, text in Page(TOP / "docs" / "retention.md").blocks if "receipts.jsonl" in text]
    store = chained.warehouse.connect()
    quoted: Settings = {"output_format_json_quote_64bit_integers": 0}
    lines = store.query(shell.split(chr(34))[1], {}, quoted).decode().splitlines()
    store.close()

    def check(receipts: list[str]) -> subprocess.CompletedProcess[str]:
        given = "\n".join(receipts)
        return subprocess.run(
            [sys.executable, "-c", script], input=given, capture_output=True, text=True, check=False
        )

    assert len(lines) >= 8
    (head,) = (checked for checked in chained.verify() if checked.chain == "receipts")
    assert head.links == len(lines)
    assert check(lines).stdout.startswith("the last receipt of each log: {0: '")
    altered = [*lines[:3], lines[3].replace('"by":"tests"', '"by":"nobody"'), *lines[4:]]
    for others in (altered, [*lines[:3], *lines[4:]]):
        assert check(others).returncode == 1
    assert "receipt 4 of log 0 was altered" in check(altered).stderr


def put_back(store: object, table: str) -> None:
    from retrospan.ingest.warehouse.embedded import EmbeddedStore

    assert isinstance(store, EmbeddedStore)
    store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})
    store.command(f"INSERT INTO {table} SELECT * FROM kept")
