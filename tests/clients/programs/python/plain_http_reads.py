"""What pandas and polars read of a file in the address, which is also what a spreadsheet opens."""

import sys
from urllib.parse import urlencode
from urllib.request import urlopen

import pandas
import polars
from told import check


def address(sql: str) -> str:
    return f"http://{sys.argv[1]}/?{urlencode({'query': sql})}"


check(
    "pandas.read_csv",
    lambda: len(pandas.read_csv(address("SELECT run_id, steps FROM runs FORMAT CSVWithNames"))),
)
check("pandas.read_parquet", lambda: len(pandas.read_parquet(address("SELECT * FROM runs FORMAT Parquet"))))


def read(sql: str) -> bytes:
    """The answer: polars asks an address for ranges, which no statement has."""
    with urlopen(address(sql)) as answer:
        return answer.read()


check(
    "polars, of the bytes of an answer: read_csv",
    lambda: polars.read_csv(read("SELECT run_id, steps FROM runs FORMAT CSVWithNames")).height,
)
check(
    "polars, of the bytes of an answer: read_parquet",
    lambda: polars.read_parquet(read("SELECT * FROM runs FORMAT Parquet")).height,
)
check(
    "polars, of the bytes of an answer: read_ipc_stream",
    lambda: polars.read_ipc_stream(read("SELECT * FROM runs FORMAT ArrowStream")).height,
)
