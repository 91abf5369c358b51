"""What connectorx and polars read."""

import sys

import connectorx
import polars
from told import check

url = f"clickhouse://default:@{sys.argv[1]}/retrospan"
rows = "SELECT number AS n, toString(number) AS s FROM numbers(200000)"
check("connectorx: 200,000 rows", lambda: connectorx.read_sql(url, rows, return_type="polars").shape[0])
check(
    "connectorx: rows of a view",
    lambda: connectorx.read_sql(url, "SELECT run_id FROM runs", return_type="arrow").num_rows,
)
check("polars.read_database_uri: 200,000 rows", lambda: polars.read_database_uri(rows, url)["n"].sum())
check(
    "polars.read_database_uri: rows of a view",
    lambda: polars.read_database_uri("SELECT run_id, steps FROM runs", url).shape[0],
)
