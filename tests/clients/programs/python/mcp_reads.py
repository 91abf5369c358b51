"""What ClickHouse's MCP server tells a model."""

import json
import os
import sys

host, _, port = sys.argv[1].rpartition(":")
os.environ |= {
    "CLICKHOUSE_HOST": host,
    "CLICKHOUSE_PORT": port,
    "CLICKHOUSE_USER": "default",
    "CLICKHOUSE_PASSWORD": "",
    "CLICKHOUSE_SECURE": "false",
}

from mcp_clickhouse import mcp_server
from told import check

detailed = mcp_server.list_tables("retrospan")
tables = json.loads(detailed)["tables"]
check("list_databases", lambda: "retrospan" in json.loads(mcp_server.list_databases()))
check("list_tables: views", lambda: len(tables))
check("list_tables: columns", lambda: sum(len(table["columns"]) for table in tables))
check(
    "list_tables: under 40,000 characters without columns",
    lambda: len(mcp_server.list_tables("retrospan", include_detailed_columns=False)) < 40_000,
)


def characters_without_words() -> int:
    """What is left of the answer without comments and statements: names, types and the client's own JSON."""
    bare = [
        {
            **table,
            "comment": "",
            "create_table_query": "",
            "columns": [{**c, "comment": ""} for c in table["columns"]],
        }
        for table in tables
    ]
    return len(json.dumps(bare))


check("not: list_tables with columns in 40,000 characters", lambda: characters_without_words() > 40_000)
check("run_query", lambda: json.loads(mcp_server.run_query("SELECT count() FROM runs"))["rows"][0][0])
