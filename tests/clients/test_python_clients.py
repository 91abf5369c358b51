"""What people read with in Python, at pinned versions, against a real collector: docs/clients.md names them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from clients.environments import TOP, said
from fix_collector import Served

from retrospan.queries import catalogue

pytestmark = pytest.mark.long

SQLALCHEMY = ("clickhouse-connect[sqlalchemy]==1.12.0", "sqlalchemy==2.1.9")
CONNECTORX = ("connectorx==0.4.6", "polars==2.1.0", "pyarrow==26.0.1")
ASYNC = ("clickhouse-connect[async]==1.12.0",)
MCP = ("mcp-clickhouse==0.7.0",)
COLUMNS = sum(len(view.columns) for view in catalogue.views())


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("clients")
    running = Served(folder / "data", folder / "stderr.txt")
    yield running
    running.kill()


def test_sqlalchemy_reflects_every_view(served: Served) -> None:
    code = f"""
import json, sqlalchemy
engine = sqlalchemy.create_engine("clickhousedb://default:@{served.sql}/retrospan")
found = sqlalchemy.MetaData()
found.reflect(engine, views=True)
with engine.connect() as connection:
    rows = connection.execute(sqlalchemy.select(found.tables["runs"].c.run_id).limit(1)).fetchall()
columns = sum(len(table.columns) for table in found.tables.values())
print(json.dumps([len(found.tables), columns, found.tables["runs"].c.run_id.comment, len(rows)]))
"""
    assert json.loads(said(SQLALCHEMY, code)) == [
        len(catalogue.views()),
        COLUMNS,
        next(c.meaning for c in catalogue.load("runs").columns if c.name == "run_id"),
        0,
    ]


def test_connectorx_and_polars_read_rows(served: Served) -> None:
    code = f"""
import connectorx, polars
url = "clickhouse://default:@{served.sql}/retrospan"
rows = "SELECT number AS n, toString(number) AS s FROM numbers(200000)"
print(connectorx.read_sql(url, rows, return_type="polars").shape)
print(polars.read_database_uri(rows, url)["n"].sum())
print(polars.read_database_uri("SELECT run_id, steps FROM runs", url).shape[1])
"""
    assert said(CONNECTORX, code).splitlines() == ["(200000, 2)", "19999900000", "2"]


def test_clickhouse_connect_asks_from_an_event_loop(served: Served) -> None:
    host, _, port = served.sql.rpartition(":")
    code = f"""
import asyncio, clickhouse_connect
async def main():
    client = await clickhouse_connect.get_async_client(host={host!r}, port={port}, settings={{"join_use_nulls": 1}})
    asked = [client.query("SELECT {{n:UInt32}}", parameters={{"n": n}}) for n in range(4)]
    print([answer.result_rows[0][0] for answer in await asyncio.gather(*asked)])
    await client.close()
asyncio.run(main())
"""
    assert said(ASYNC, code) == "[0, 1, 2, 3]\n"


def test_the_mcp_server_lists_the_views_and_asks(served: Served) -> None:
    host, _, port = served.sql.rpartition(":")
    code = """
import json
from mcp_clickhouse import mcp_server
tables = mcp_server.list_tables("retrospan", include_detailed_columns=False)
detailed = json.loads(mcp_server.list_tables("retrospan"))["tables"]
print(json.dumps([len(tables), len(detailed), sum(len(table["columns"]) for table in detailed)]))
"""
    environ = {
        "CLICKHOUSE_HOST": host,
        "CLICKHOUSE_PORT": port,
        "CLICKHOUSE_USER": "default",
        "CLICKHOUSE_PASSWORD": "",
        "CLICKHOUSE_SECURE": "false",
    }
    characters, tables, columns = json.loads(said(MCP, code, **environ))
    assert characters < 40_000
    assert (tables, columns) == (len(catalogue.views()), COLUMNS)


def test_the_page_of_clients_names_these_versions() -> None:
    page = (TOP / "docs/clients.md").read_text(encoding="utf-8")
    for package in (SQLALCHEMY[0], *CONNECTORX[:2], *MCP):
        name, _, version = package.partition("==")
        assert f"{name.partition('[')[0]} {version}" in page
