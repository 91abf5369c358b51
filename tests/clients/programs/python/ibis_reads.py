"""What ibis reads with its ClickHouse backend."""

import sys

import ibis
from clickhouse_connect.driver.exceptions import DatabaseError
from told import check, expect_error

host, _, port = sys.argv[1].rpartition(":")
asking = ibis.clickhouse.connect(host=host, port=int(port), user="default", password="", database="retrospan")
check("list_tables", lambda: len(asking.list_tables()))
check("schemas of all views", lambda: sum(len(asking.table(name).schema()) for name in asking.list_tables()))
runs, steps = asking.table("runs"), asking.table("steps")
check("a count", lambda: runs.count().execute())
check(
    "a filter, as pandas",
    lambda: len(runs.filter(runs.run_id != "it's").select("run_id", "steps").to_pandas()),
)
check("a group", lambda: runs.group_by("outcome").agg(n=runs.count()).n.sum().execute())
check("a join", lambda: runs.join(steps, "run_id").run_id.nunique().execute() > 0)
check("all columns, as pyarrow", lambda: runs.to_pyarrow().num_rows)
check(
    "batches of pyarrow", lambda: sum(batch.num_rows for batch in asking.table("spans").to_pyarrow_batches())
)
check("raw_sql", lambda: asking.raw_sql("SELECT 7").result_rows[0][0])
check(
    "a view without its parameters",
    lambda: expect_error(
        DatabaseError, "drift needs parameters", lambda: asking.table("drift").limit(1).to_pyarrow()
    ),
)
# It makes a view on the server to learn the types, and sends memtables as files.
check("not: .sql()", lambda: expect_error(DatabaseError, "read-only", lambda: asking.sql("SELECT 1")))
check(
    "not: memtables",
    lambda: expect_error(
        DatabaseError,
        "external tables",
        lambda: runs.filter(runs.run_id.isin(ibis.memtable({"id": ["a"]}).id)).count().execute(),
    ),
)
