"""What DuckDB reads over HTTP, and of an Arrow answer."""

import sys
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import duckdb
import duckdb_extension_httpfs
import pyarrow
from told import check

duck = duckdb.connect()
# Where DuckDB may load from its own site, `INSTALL httpfs` does the same.
duck.load_extension(str(next(Path(duckdb_extension_httpfs.__file__).parent.rglob("*.duckdb_extension"))))
MANY = "SELECT number, toString(cityHash64(number)) AS text FROM numbers(300000)"


def address(sql: str) -> str:
    return f"http://{sys.argv[1]}/?{urlencode({'query': sql})}"


def read(reader: str, sql: str) -> int:
    return duck.sql(f"SELECT count(*) FROM {reader}('{address(sql)}')").fetchall()[0][0]


def read_arrow(sql: str) -> int:
    with urlopen(address(sql)) as answer:
        found = pyarrow.ipc.open_stream(answer).read_all()
    return duck.from_arrow(found).count("*").fetchall()[0][0]


check("read_csv", lambda: read("read_csv", "SELECT run_id, steps FROM runs FORMAT CSVWithNames"))
check("read_json", lambda: read("read_json", "SELECT run_id, steps FROM runs FORMAT JSONEachRow"))
check(
    "read_parquet: all columns",
    lambda: read("read_parquet", "SELECT * FROM runs ORDER BY run_id FORMAT Parquet"),
)
check("read_parquet: 300,000 rows", lambda: read("read_parquet", f"{MANY} FORMAT Parquet"))
check("read_csv: 300,000 rows", lambda: read("read_csv", f"{MANY} FORMAT CSVWithNames"))
check("an Arrow stream", lambda: read_arrow("SELECT * FROM runs FORMAT ArrowStream"))
