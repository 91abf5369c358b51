"""Answers of `retrospan sql` and of `connect()` row by row, and statements that fail after their answer has begun."""

from __future__ import annotations

import json

import pytest
from fix_cli import Ask

from retrospan.ingest.cli.client.collector_client import QueryResult, RowReading, read_rows
from retrospan.queries import connect
from retrospan.schemas.broken_off import failure_at_end
from retrospan.schemas.errors import SqlError

#: Its first blocks are sent before a later one fails.
FAILS = (
    "SELECT repeat('x', 64) AS x, throwIf(number = 99000, 'it is the wrong number') AS f FROM numbers(100000)"
)
TAG = "0123456789abcdef"
WRITTEN = (
    f"\r\n__exception__\r\n{TAG}\r\nCode: 395. DB::Exception: no. (X)\n32 {TAG}\r\n__exception__\r\n".encode()
)


@pytest.mark.parametrize("form", ["csv", "json", "table"])
def test_what_failed_is_said_and_not_that_nobody_answers(ask: Ask, form: str) -> None:
    said = ask("sql", FAILS, "--format", form)
    assert said.code == 2 and "it is the wrong number" in said.err and "(code 395)" in said.err
    assert "cannot reach" not in said.err and "__exception__" not in said.out
    if form == "json":
        assert said.lines and all(json.loads(line) == {"x": "x" * 64, "f": 0} for line in said.lines[-9:])


def test_in_python_it_is_an_error_of_the_statement(collector: str) -> None:
    with pytest.raises(SqlError, match="it is the wrong number") as raised:
        connect(collector).sql(FAILS)
    assert raised.value.code == 395


def test_rows_are_handed_on_as_their_lines_come() -> None:
    body = b'["a","b"]\n["String","UInt64"]\n["x","18446744073709551615"]\n["\xc3\xa9\\n",null]\n'
    for size in (1, 2, 7, len(body)):
        rows: list[object] = []
        reading = RowReading(rows.append)
        seen = []
        for place in range(0, len(body), size):
            reading(body[place : place + size])
            seen.append(len(rows))
        assert rows == [{"a": "x", "b": 2**64 - 1}, {"a": "é\n", "b": None}]
        assert size > 7 or 1 in seen
    assert read_rows(body[:-1]).rows == rows
    assert read_rows(b"") == QueryResult([], [], [])


def test_what_a_row_holds_is_no_exception() -> None:
    assert failure_at_end(b'"a",1\n' + WRITTEN, TAG) == (b'"a",1\n', "Code: 395. DB::Exception: no. (X)")
    assert failure_at_end(b'"a",1\n' + WRITTEN, "f" * 16) is None
    assert failure_at_end(b'"a",1\n' + WRITTEN, None) is None
    assert failure_at_end(WRITTEN + b'"a",1\n', TAG) is None
