"""A SQL port on a free port over a small table, and two ways to ask it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from retrospan.ingest.answer.admin import Admin, Report
from retrospan.ingest.answer.sql_port import SqlPort
from retrospan.ingest.http.site import Site
from retrospan.ingest.settings.config import Limits
from retrospan.ingest.settings.setting_values import Address
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.errors import PermanentError

LIMITS = Limits(query_seconds=60.0, queries=2, query_text_bytes=64 * 1024)
SET_UP = (
    """CREATE TABLE answer_sample (a UInt32, s String, at DateTime64(9, 'UTC'), m Map(String, String))
    ENGINE = MergeTree ORDER BY a""",
    """INSERT INTO answer_sample SELECT number, concat('s', toString(number)),
    toDateTime64('2026-01-02 03:04:05.000000006', 9, 'UTC'), map('k', 'v') FROM numbers(10)""",
    """CREATE OR REPLACE VIEW answer_above AS
    SELECT a, s FROM answer_sample WHERE a > {least:UInt32} AND s != {but:String}""",
    """CREATE OR REPLACE VIEW answer_all AS
    SELECT a, s FROM answer_sample SETTINGS do_not_merge_across_partitions_select_final = 0""",
)
TEAR_DOWN = ["DROP VIEW answer_above", "DROP VIEW answer_all", "DROP TABLE answer_sample"]


def rebuild(arguments: Any, report: Report) -> None:
    report({"phase": "loading", "done": 1, "total": 2})
    report({"phase": "loading", "done": arguments.get("count", 2), "total": 2})


def broken(arguments: Any, report: Report) -> None:
    report({"done": 0})
    raise PermanentError("it cannot be")


class Port:
    """A started port and two ways to ask it."""

    def __init__(self, port: int) -> None:
        self.number = port
        self.url = f"http://127.0.0.1:{port}"

    def ask(
        self, path: str = "/", body: bytes | None = None, method: str | None = None, **headers: str
    ) -> tuple[int, bytes, Any]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(self.url + path, data=body, headers=named, method=method)
        try:
            with urlopen(request, timeout=30) as response:
                return response.status, response.read(), response.headers
        except HTTPError as error:
            with closing(error):
                return error.code, error.read(), error.headers

    def sql(self, query: str, **options: str) -> tuple[int, bytes, Any]:
        return self.ask("/?" + urlencode({"query": query, **options}))


def sampled(warehouse: EmbeddedWarehouse) -> Iterator[EmbeddedWarehouse]:
    """The warehouse with the small table and its views."""
    store = warehouse.connect()
    for statement in SET_UP:
        store.command(statement)
    yield warehouse
    for statement in TEAR_DOWN:
        store.command(statement)
    store.close()


@pytest.fixture
def sample(warehouse: EmbeddedWarehouse) -> Iterator[EmbeddedWarehouse]:
    yield from sampled(warehouse)


def started(warehouse: EmbeddedWarehouse, limits: Limits = LIMITS) -> SqlPort:
    return SqlPort(
        warehouse,
        Site(Address("127.0.0.1", 0)),
        limits=limits,
        admin=Admin({"rebuild": rebuild, "broken": broken}),
        health=lambda: {"status": "ok"},
        metrics=lambda: "retrospan_up 1\n",
    )


@pytest.fixture
def port(sample: EmbeddedWarehouse) -> Iterator[Port]:
    served = started(sample)
    yield Port(served.start())
    served.stop(5.0)
