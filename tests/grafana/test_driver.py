"""The driver of Grafana's data source asks the SQL port: as it did when it was recorded, and, where Go is, as it does.

Native over HTTP, at a revision of the driver's choice, with settings on every request.
"""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from fix_collector import Served
from grafana.dialogue import FILE, drive, driver, message, questions
from grafana.native import decode

RECORDED: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
#: How many rows these have depends on the machine and on what is built, not on the runs.
COUNTS_VARY = {"tables", "columns", "columns of all", "databases", "ingest: What it takes on disk"}


def test_the_dialogue_is_about_the_dashboards_as_they_are() -> None:
    asked = {line["name"]: line["sql"] for line in RECORDED if "sql" in line}
    assert asked == questions(), "a query changed: run tests/grafana/dialogue.py, which needs Go"


def test_what_the_driver_sends_is_what_was_described() -> None:
    hello, *others = (line["request"] for line in RECORDED)
    assert "SELECT displayName(), version(), revision(), timezone()" in hello
    for request in (hello, *others):
        head = request.partition("\r\n")[0]
        assert head.startswith("POST /?")
        for word in (
            "default_format=Native",
            "client_protocol_version=",
            "max_execution_time=",
            "database=retrospan",
        ):
            assert word in head
        assert "\r\nAuthorization: Basic " in request
        assert "clickhouse-go/2." in request


@pytest.mark.long
def test_the_recorded_dialogue_is_answered(demo: Served) -> None:
    host, _, port = demo.sql.rpartition(":")
    with (
        socket.create_connection((host, int(port)), timeout=60) as connection,
        connection.makefile("rb") as answers,
    ):
        for line in RECORDED:
            connection.sendall(line["request"].encode())
            answer = message(answers)
            head, _, body = answer.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), (line["name"], body)
            assert b"\r\nX-ClickHouse-Format: Native" in head or line["name"] == "hello"
            if line["name"] == "hello":
                # Its own layout: only this answer is read at the driver's revision.
                assert body.startswith(b"\x01\x00\x02\xff\xff\xff\xff\x00\x04\x01")
                continue
            table = decode(body)
            if "sql" not in line or line["name"] in COUNTS_VARY:
                assert table.rows, line["name"]
                continue
            assert len(table.rows) == line["rows"], line["name"]
            assert table.names == line["columns"] or not table.rows, line["name"]
            assert not line["name"].partition(":")[2] or table.rows, line["name"]


def test_native_is_read_as_it_is_written(demo: Served) -> None:
    """The reader above, held to what ClickHouse says in text."""
    (line,) = (line for line in RECORDED if line["name"] == "runs: Newest failures")
    host, _, port = demo.sql.rpartition(":")
    with (
        socket.create_connection((host, int(port)), timeout=60) as connection,
        connection.makefile("rb") as answers,
    ):
        connection.sendall(line["request"].encode())
        table = decode(message(answers).partition(b"\r\n\r\n")[2])
    (row,) = table.rows
    (told,) = demo.rows(line["sql"])
    shown = dict(zip(table.names, row, strict=True))
    at = shown.pop("at")
    assert at.isoformat(sep=" ")[:23] == told.pop("at")[:23]
    assert shown == told
    assert table.types[4] == "LowCardinality(Nullable(String))"


@pytest.mark.soak
def test_the_driver_itself_gets_rows_for_every_panel(demo: Served) -> None:
    try:
        driver()
    except LookupError as reason:
        pytest.skip(str(reason))
    asked = questions()
    for (name, _), answer in zip(asked.items(), drive(demo.sql, list(asked.values())), strict=True):
        assert "error" not in answer, (name, answer)
        assert answer["rows"] or name == "no rows", name
    wrong = drive(demo.sql, ["SELECT nope FROM retrospan.runs", "SELECT file('/etc/passwd')", "SELECT 1"])
    assert "code: 47" in wrong[0]["error"]
    assert "file() is refused" in wrong[1]["error"]
    assert wrong[2]["rows"] == 1
