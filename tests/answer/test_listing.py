"""What clients see of the catalogue: the views with their columns described, and no table behind them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from answer.conftest import LIMITS, Port

from retrospan.ingest.access.gate import Gate
from retrospan.ingest.access.tokens import TokenFile
from retrospan.ingest.answer.admin import Admin
from retrospan.ingest.answer.sql_port import SqlPort
from retrospan.ingest.http.site import Site
from retrospan.ingest.settings.setting_values import Address
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.queries import catalogue

DOCUMENTED = {view.name: view for view in catalogue.views()}
WITH_PARAMETERS = sorted(name for name, view in DOCUMENTED.items() if view.parameters)


def started(warehouse: EmbeddedWarehouse, **others: Any) -> SqlPort:
    with closing(warehouse.connect()) as store:
        catalogue.install(store)
    return SqlPort(
        warehouse,
        Site(Address("127.0.0.1", 0)),
        limits=LIMITS,
        admin=Admin({}),
        health=lambda: {"status": "ok"},
        metrics=str,
        **others,
    )


@pytest.fixture
def listing(warehouse: EmbeddedWarehouse) -> Iterator[Port]:
    served = started(warehouse)
    yield Port(served.start())
    served.stop(1.0)


def rows(port: Port, query: str, **options: str) -> list[dict[str, Any]]:
    status, body, _ = port.sql(query, default_format="JSONEachRow", **options)
    assert status == 200, body
    return [json.loads(line) for line in body.splitlines()]


def names(port: Port, query: str, **options: str) -> set[str]:
    return {str(next(iter(row.values()))) for row in rows(port, query, **options)}


def test_only_the_views_are_listed_however_one_asks(listing: Port) -> None:
    for query in (
        "SHOW TABLES",
        "SHOW TABLES FROM retrospan",
        "SHOW TABLES IN `retrospan` LIKE '%'",
        "SHOW FULL TABLES WHERE name != 'x' LIMIT 1000",
        "SELECT name FROM system.tables WHERE database = 'retrospan'",
        "SELECT t.name FROM system.tables AS t WHERE t.database = 'retrospan'",
        "SELECT system.tables.name FROM system.tables WHERE tables.database = 'retrospan' ORDER BY name",
        "SELECT t.name FROM system.tables AS t WHERE system.tables.database = 'retrospan'",
        "SELECT t.name FROM system.tables t JOIN system.databases d ON system.tables.database = d.name WHERE d.name = 'retrospan'",
        "SELECT tables.table FROM system.tables WHERE database = currentDatabase() SETTINGS max_threads = 1",
        "SELECT DISTINCT table FROM system.columns WHERE database = 'retrospan'",
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'retrospan'",
        "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'retrospan'",
        "WITH x AS (SELECT * FROM `system`.`tables`) SELECT name FROM x WHERE database = 'retrospan'",
    ):
        found = names(listing, query)
        assert found == DOCUMENTED.keys(), query
    assert names(listing, "SHOW TABLES NOT LIKE 'run%' LIMIT 3") <= DOCUMENTED.keys()
    assert names(listing, "SHOW TABLES LIKE 'raw_%'") == set()
    standard = "SELECT DISTINCT table_name FROM information_schema.columns WHERE table_schema = 'retrospan'"
    assert names(listing, standard) == DOCUMENTED.keys() - {*WITH_PARAMETERS}
    assert "tables" in names(listing, "SHOW TABLES FROM system")
    assert names(listing, "SELECT count() FROM system.one") == {"1"}
    # What is not listed is there all the same for who knows its name.
    assert names(listing, "EXISTS raw_spans") == {"1"}
    assert names(listing, "EXISTS TABLE system.columns") == {"1"}


def test_internals_are_listed_on_request_for_whoever_may_administer(
    warehouse: EmbeddedWarehouse, listing: Port, tmp_path: Path
) -> None:
    assert {"raw_spans", "runs"} <= names(listing, "SHOW TABLES", internals="1")
    columns = "SELECT DISTINCT table FROM system.columns WHERE database = 'retrospan'"
    assert "canon_runs" in names(listing, columns, internals="1")
    lines = [
        f'[[token]]\nname = "{name}"\nsha256 = "{hashlib.sha256(name.encode()).hexdigest()}"\nrights = [{rights}]\n'
        for name, rights in (("reader", '"read"'), ("keeper", '"read", "admin"'))
    ]
    tokens = tmp_path / "tokens.toml"
    tokens.write_text("\n".join(lines), encoding="utf-8")
    tokens.chmod(0o600)
    guarded = started(warehouse, gate=Gate(TokenFile(tokens, print)))
    port = Port(guarded.start())
    try:
        asked = "/?query=SHOW+TABLES&internals=1"
        assert b"raw_spans" not in port.ask(asked, Authorization="Bearer reader")[1]
        assert b"raw_spans" in port.ask(asked, Authorization="Bearer keeper")[1]
    finally:
        guarded.stop(1.0)


def test_tables_and_columns_say_what_they_are(listing: Port) -> None:
    told = rows(
        listing,
        "SELECT name, comment, create_table_query AS text FROM system.tables WHERE database = 'retrospan'",
    )
    assert {row["name"]: row["comment"] for row in told} == {n: v.title for n, v in DOCUMENTED.items()}
    for row in told:
        assert row["text"].startswith(f"CREATE VIEW retrospan.{row['name']}") and row["text"].endswith(
            " AS SELECT …"
        )
        assert all(
            f"`{column.name}` {column.type}" in row["text"] for column in DOCUMENTED[row["name"]].columns
        )
    assert sum(len(row["text"]) for row in told) < 30_000
    standard = "SELECT table_comment FROM information_schema.tables WHERE table_schema = 'retrospan' AND table_name = 'runs'"
    assert names(listing, standard) == {DOCUMENTED["runs"].title}
    columns = rows(
        listing,
        "SELECT table, name, type, position, comment FROM system.columns WHERE database = 'retrospan' ORDER BY table, position",
    )
    assert len(columns) == sum(len(view.columns) for view in DOCUMENTED.values())
    for name, view in DOCUMENTED.items():
        found = [row for row in columns if row["table"] == name]
        assert [(row["name"], row["type"]) for row in found] == [(c.name, c.type) for c in view.columns]
        assert all(row["comment"].startswith(c.meaning) for row, c in zip(found, view.columns, strict=True))
    # Of other databases everything is as the engine tells it.
    others = "SELECT count() AS n FROM system.columns WHERE database = 'system'"
    assert rows(listing, others) == rows(listing, others, internals="1")
    every = "SELECT * FROM system.columns WHERE database = 'system' AND table = 'one'"
    (one,), (as_is,) = rows(listing, every), rows(listing, every, internals="1")
    assert one == {**as_is, "column": as_is["name"]}


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_a_view_with_parameters_is_described_and_says_how_to_call_it(listing: Port, name: str) -> None:
    view = DOCUMENTED[name]
    how = f"SELECT * FROM {name}({', '.join(f'{parameter.name} = …' for parameter in view.parameters)})"
    forms = (
        f"DESCRIBE {name}",
        f"DESC TABLE retrospan.`{name}`",
        f"describe table {name} SETTINGS max_threads = 1",
    )
    for query in forms:
        found = rows(listing, query)
        assert [(row["name"], row["type"]) for row in found] == [(c.name, c.type) for c in view.columns]
        assert how in found[0]["comment"]
        assert [*found[0]] == [*rows(listing, "DESCRIBE runs")[0]]
    for query in (
        f"SELECT * FROM {name}",
        f"SELECT * FROM {name} AS t0 LIMIT 1",
        f"SELECT 1 FROM runs JOIN retrospan.{name} USING run_id",
    ):
        status, body, _ = listing.sql(query)
        assert status == 400 and f"{name} needs parameters. Write {how}".encode() in body, body


def test_a_name_of_ones_own_is_not_a_view(listing: Port) -> None:
    assert rows(listing, "WITH drift AS (SELECT 1 AS x) SELECT x FROM drift") == [{"x": 1}]
    assert rows(listing, "SELECT drift FROM (SELECT 2 AS drift)") == [{"drift": 2}]
    extracted = "SELECT extract(YEAR FROM drift) AS y FROM (SELECT toDate('2026-01-01') AS drift)"
    assert rows(listing, extracted) == [{"y": 2026}]


def test_what_is_refused_stays_refused_however_the_catalogue_is_asked(listing: Port) -> None:
    for query, said in (
        ("SELECT * FROM system.tables, system.users", b"system.users is not open"),
        ("SELECT * FROM system.tables WHERE name = (SELECT file('/etc/passwd'))", b"file() is refused"),
        ("SHOW TABLES WHERE sleep(3)", b"sleep() is refused"),
        ("SHOW TABLES WHERE 1) UNION ALL SELECT name FROM system.users WHERE (1", b"not open"),
        ("SHOW TABLES WHERE 1 INTO OUTFILE '/tmp/x'", b"INTO OUTFILE is refused"),
        ("DESCRIBE drift; DROP TABLE raw_spans", b"one statement"),
        ("SELECT * FROM system.tables AS url('http://127.0.0.1')", b"url() is refused"),
    ):
        status, body, _ = listing.sql(query)
        assert status >= 400 and said in body, (query, body)


def test_no_length_of_a_statement_shows_what_is_behind_the_views(listing: Port) -> None:
    """What is put into it to hide tables may make it longer than the engine reads: then it is refused."""
    statuses = set[int]()
    for size in (100_000, 261_000, 261_700, 261_900, 262_060):
        query = f"SELECT name FROM system.tables WHERE database = 'retrospan' AND name != '{'x' * size}'"
        status, body, _ = listing.sql(query)
        statuses.add(status)
        assert status == 400 or {*body.decode().split()} == {*DOCUMENTED}
    assert statuses == {200, 400}
