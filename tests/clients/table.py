"""The clients that are tried, with what each must find: the tests run this table, and docs/clients.md shows it.

A program in `programs/` tells of each check what came. `{runs}` and the like stand for numbers of the scene. A check
`not: …` says what does not work, and that the client hears why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clients.environments import (
    Words,
    go_program,
    jaeger_program,
    java_program,
    node_program,
    python_program,
    rust_program,
)

_YES = "True"
_TRUE = "true"


@dataclass(frozen=True)
class Client:
    """One client at one version."""

    name: str
    version: str
    line: str
    """What a reader types, or writes into a form."""
    command: Callable[[], Words]
    checks: Mapping[str, str]
    """What the program must tell, by check."""
    used_by: str = ""
    port: str = "sql"
    """Which port it asks."""


def _each(ways: tuple[str, ...], checks: Mapping[str, str]) -> dict[str, str]:
    return {f"{way}: {name}": got for way in ways for name, got in checks.items()}


JDBC: Client = Client(
    "clickhouse-jdbc",
    "0.11.0",
    "jdbc:clickhouse://127.0.0.1:8123/retrospan",
    java_program,
    {
        "reads: a number": "1",
        "reads: 300,000 rows": "300000",
        "reads: every view that takes no parameters": "{plain_views}",
        "reads: the runs": "{runs}",
        "reads: the spans": "{spans}",
        "reads: setMaxRows": "10",
        "reads: setFetchSize": "100",
        "reads: the columns of an answer": "run_id String 3",
        "types: the largest UInt64": "18446744073709551615",
        "types: Decimal": "1.25",
        "types: Nullable": "0 true",
        "types: DateTime64(9)": "2026-01-02T03:04:05.000000006Z",
        "types: Array": "[1, 2]",
        "types: Map": "b",
        "types: LowCardinality, Enum, UUID, Bool": "x on 00000000-0000-0000-0000-000000000001 true",
        "prepared: a quote": "it's",
        "prepared: a backslash, a line, a letter": _TRUE,
        "prepared: what looks like SQL": "'; DROP TABLE runs -- ?",
        "prepared: a number and NULL": "8 true",
        "prepared: a time": "{runs}",
        "prepared: asked again with another value": "3 10",
        "metadata: the product": "ClickHouse",
        "metadata: getSchemas": _TRUE,
        "metadata: getSchema and setSchema": "retrospan",
        "metadata: getCatalogs": "0",
        "metadata: getTables": "{views}",
        "metadata: getTables of a kind": "{views}",
        "metadata: getTables by a pattern": "[run_diff, run_divergence]",
        "metadata: getColumns(%)": "{columns}",
        "metadata: getColumns with their comments": "{comment}",
        "metadata: getColumns of a view with parameters": "{columns_of_drift}",
        "metadata: getTableTypes": _TRUE,
        "metadata: getTypeInfo": _TRUE,
        "metadata: getFunctions": _TRUE,
        "metadata: keys and indexes": "0",
        "errors: an unknown name": "47",
        "errors: no SQL": "62",
        "errors: writing": "164",
        "errors: a view without its parameters": "456",
        "errors: in the middle of an answer": "an error",
        "ends: cancel": "394 true",
        "ends: setQueryTimeout": _TRUE,
        "ends: an answer that is not read to its end": "7",
        "ends: two answers at once": "100000",
        "ends: isValid": _TRUE,
    },
    "DBeaver, DataGrip, Metabase, Tableau, Spark, Trino",
)

CONNECT: Client = Client(
    "clickhouse-connect",
    "1.12.0",
    'clickhouse_connect.get_client(host="127.0.0.1", port=8123, database="retrospan")',
    lambda: python_program(
        "connect_reads.py",
        (f"clickhouse-connect[async,arrow,pandas]=={CONNECT.version}", "pandas==3.1.1", "pyarrow==26.0.1"),
    ),
    {
        "rows of a view": "{runs}",
        "300,000 rows as a stream": "300000",
        "parameters": _YES,
        "a long parameter": "200000",
        "Arrow": "{runs}",
        "pandas": "{runs}",
        "a setting": "1",
        "an error": "an error",
        "writing": "an error",
        "the asynchronous client": "[0, 1, 2, 3]",
    },
)

SQLALCHEMY: Client = Client(
    "SQLAlchemy with clickhouse-connect",
    "2.1.9 and 1.12.0",
    'create_engine("clickhousedb://default:@127.0.0.1:8123/retrospan")',
    lambda: python_program(
        "sqlalchemy_reads.py", ("clickhouse-connect[sqlalchemy]==1.12.0", "sqlalchemy==2.1.9")
    ),
    {
        "reflect(views=True): views": "{views}",
        "reflect(views=True): columns": "{columns}",
        "reflect(views=True): comments": "{comment}",
        "a select": "{runs}",
        "a condition with a value": "{runs}",
        "a group": "{runs}",
    },
    "Superset",
)

IBIS: Client = Client(
    "ibis",
    "12.0.0",
    'ibis.clickhouse.connect(host="127.0.0.1", port=8123, user="default", password="", database="retrospan")',
    lambda: python_program(
        "ibis_reads.py", (f"ibis-framework[clickhouse]=={IBIS.version}", "packaging==26.3")
    ),
    {
        "list_tables": "{views}",
        "schemas of all views": "{columns}",
        "a count": "{runs}",
        "a filter, as pandas": "{runs}",
        "a group": "{runs}",
        "a join": _YES,
        "all columns, as pyarrow": "{runs}",
        "batches of pyarrow": "{spans}",
        "raw_sql": "7",
        "a view without its parameters": "an error",
        "not: .sql()": "an error",
        "not: memtables": "an error",
    },
)

FRAMES: Client = Client(
    "connectorx, polars",
    "0.4.6, 2.1.0",
    'polars.read_database_uri(sql, "clickhouse://default:@127.0.0.1:8123/retrospan")',
    lambda: python_program("frames_read.py", ("connectorx==0.4.6", "polars==2.1.0", "pyarrow==26.0.1")),
    {
        "connectorx: 200,000 rows": "200000",
        "connectorx: rows of a view": "{runs}",
        "polars.read_database_uri: 200,000 rows": "19999900000",
        "polars.read_database_uri: rows of a view": "{runs}",
    },
)

PLAIN_HTTP: Client = Client(
    "pandas, polars",
    "3.1.1, 2.1.0",
    'pandas.read_csv("http://127.0.0.1:8123/?query=SELECT+*+FROM+runs+FORMAT+CSVWithNames")',
    lambda: python_program("plain_http_reads.py", ("pandas==3.1.1", "polars==2.1.0", "pyarrow==26.0.1")),
    {
        "pandas.read_csv": "{runs}",
        "pandas.read_parquet": "{runs}",
        "polars, of the bytes of an answer: read_csv": "{runs}",
        "polars, of the bytes of an answer: read_parquet": "{runs}",
        "polars, of the bytes of an answer: read_ipc_stream": "{runs}",
    },
    "Excel and other spreadsheets, by CSV",
)

DUCKDB: Client = Client(
    "DuckDB",
    "1.5.5",
    "duckdb.read_parquet('http://127.0.0.1:8123/?query=SELECT+run_id,steps+FROM+runs+ORDER+BY+run_id+FORMAT+Parquet')",
    lambda: python_program(
        "duckdb_reads.py",
        (f"duckdb=={DUCKDB.version}", f"duckdb-extension-httpfs=={DUCKDB.version}", "pyarrow==26.0.1"),
    ),
    {
        "read_csv": "{runs}",
        "read_json": "{runs}",
        "read_parquet: all columns": "{runs}",
        "read_parquet: 300,000 rows": "300000",
        "read_csv: 300,000 rows": "300000",
        "an Arrow stream": "{runs}",
    },
)

NODE: Client = Client(
    "@clickhouse/client",
    "1.23.1",
    "createClient({ url: 'http://127.0.0.1:8123', database: 'retrospan' })",
    node_program,
    {
        **_each(
            ("plain", "multipart", "gzip"),
            {
                "ping": _TRUE,
                "rows of a view": "{runs}",
                "300,000 rows as a stream": "300000",
                "query_params": r"""[{{"text":"it's \\ \n ✓","list":[1,2],"none":null,"""
                r""""at":"2001-09-09 01:46:40.000","named":{{"a":"b"}}}}]""",
                "clickhouse_settings": '[{{"one":"1"}}]',
                "an error": "47",
                "writing": "164",
                "an error in the middle": "an error",
                "abort_signal": _TRUE,
            },
        ),
        "a long parameter": "200000",
        "a session": '[{{"one":"1"}}]',
    },
)

GO: Client = Client(
    "clickhouse-go",
    "2.50.0",
    'clickhouse.OpenDB(&clickhouse.Options{Addr: []string{"127.0.0.1:8123"}, Protocol: clickhouse.HTTP, '
    'Auth: clickhouse.Auth{Database: "retrospan", Username: "default"}})',
    go_program,
    _each(
        ("lz4", "zstd", "gzip", "plain"),
        {
            "ping": "",
            "rows of a view": "{runs}",
            "all spans": "{spans}",
            "300,000 rows": "300000",
            "types": "2026-01-02 03:04:05.000000006 +0000 UTC map[a:b] [1 2] <nil>",
            "bound values": "it's \\7",
            "WithParameters": "it's",
            "an error": "47 UNKNOWN_IDENTIFIER",
            "an error in the middle": "395 FUNCTION_THROW_IF_VALUE_IS_NON_ZERO",
            "a cancelled context": _TRUE,
            "its own interface": "{runs}",
        },
    ),
)

RUST: Client = Client(
    "clickhouse (Rust)",
    "0.15.3",
    'Client::default().with_url("http://127.0.0.1:8123").with_database("retrospan")',
    rust_program,
    {
        **_each(
            ("lz4", "plain"),
            {
                "rows of a view": "{runs}",
                "300,000 rows": "300000",
                ".param()": "it's \\ \\n ✓ 7[1,2]",
                ".bind()": "it's 7",
                "an error": "Code: 47",
                "an error in the middle": "Code: 395",
                "a query that is given up": _TRUE,
            },
        ),
        "a long parameter": "200000",
        "with_setting": "5",
    },
)

MCP: Client = Client(
    "mcp-clickhouse",
    "0.7.0",
    "CLICKHOUSE_HOST=127.0.0.1 CLICKHOUSE_PORT=8123 CLICKHOUSE_USER=default CLICKHOUSE_PASSWORD= "
    "CLICKHOUSE_SECURE=false mcp-clickhouse",
    lambda: python_program("mcp_reads.py", (f"mcp-clickhouse=={MCP.version}",)),
    {
        "list_databases": _YES,
        "list_tables: views": "{views}",
        "list_tables: columns": "{columns}",
        "list_tables: under 40,000 characters without columns": _YES,
        "not: list_tables with columns in 40,000 characters": _YES,
        "run_query": "{runs}",
    },
)

JAEGER: Client = Client(
    "Jaeger's `api_v3`",
    "0.14.0",
    "retrospan serve --jaeger 127.0.0.1:16686",
    jaeger_program,
    {
        "services": _TRUE,
        "operations": _TRUE,
        "trace-summaries": "{spans}",
        "traces by their ids": _TRUE,
        "traces that are found": "{spans}",
        "dependencies": _TRUE,
        "capabilities": _TRUE,
        "an error": "400",
        "ids of the older API": _TRUE,
    },
    "its definitions, jaeger-idl, read strictly, and the Collector's OTLP",
    "jaeger",
)

CLIENTS = (JDBC, CONNECT, SQLALCHEMY, IBIS, FRAMES, PLAIN_HTTP, DUCKDB, NODE, GO, RUST, MCP, JAEGER)


@dataclass(frozen=True)
class Other:
    """A client that other tests are about."""

    name: str
    version: str
    line: str
    tried: str


OTHERS = (
    Other(
        "Grafana's ClickHouse data source",
        "4.20",
        "type: grafana-clickhouse-datasource",
        "the questions of its driver, recorded byte by byte, and every panel of the [dashboards](dashboards.md); "
        "Grafana itself is not run",
    ),
    Other(
        "Jaeger's UI",
        "2.20.0",
        "retrospan serve --jaeger 127.0.0.1:16686",
        "every route that it calls ([jaeger.md](jaeger.md)), by Jaeger's JSON model and OTLP's own classes; the UI "
        "itself was built and used by hand: searching, traces, comparing",
    ),
    Other(
        "Grafana's Jaeger data source",
        "",
        "retrospan serve --jaeger 127.0.0.1:16686",
        "every route that it calls, likewise; Grafana itself is not run",
    ),
)
