"""Where a statement breaks off, what is said is of the statement: not of what the port puts behind it."""

from __future__ import annotations

import pytest

from .conftest import Port


@pytest.mark.parametrize(
    "statement",
    ["SELECT 1 +", "SELECT count( FROM runs", "SELECT 1 FROM", "SELECT (1", "SELECT 1 LIMIT", "SELECT 1 AS"],
)
def test_what_is_put_behind_a_statement_is_not_shown(port: Port, statement: str) -> None:
    status, body, _ = port.sql(statement)
    assert status == 400 and body.startswith(b"Code: 62. DB::Exception: Syntax error: failed at position ")
    assert b"/proc/" not in body and b"OUTFILE'" not in body and b"APPEND" not in body
