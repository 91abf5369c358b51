"""What ClickHouse's driver for ODBC asks for: its own format, by a POST to /query; and how errors of a format read."""

from __future__ import annotations

from collections.abc import Iterator

from answer.conftest import Port


def _texts(answer: bytes) -> Iterator[str | None]:
    """Each value of the format: the length of its text, and that; -1 without a text is NULL."""
    at = 0
    while at < len(answer):
        length = int.from_bytes(answer[at : at + 4], "little", signed=True)
        at += 4 + max(0, length)
        yield None if length < 0 else answer[at - length : at].decode()


def test_the_driver_gets_names_types_and_texts(port: Port) -> None:
    asked = b"SELECT 'a' AS letter, 7 AS number, NULL AS nothing, toDateTime64(0, 9, 'UTC') AS at"
    status, answer, headers = port.ask("/query?database=retrospan&default_format=ODBCDriver2", asked)
    assert (status, headers["content-type"]) == (200, "application/octet-stream")
    # Two rows of a head, each with its number of texts in front.
    row = b"\x05\x00\x00\x00"
    assert answer.startswith(b"\x02\x00\x00\x00" + row)
    names, rest = answer[8:].split(row + b"\x04\x00\x00\x00type")
    assert [*_texts(names)] == ["name", "letter", "number", "nothing", "at"]
    assert [*_texts(rest)] == [
        *("String", "UInt8", "Nullable(Nothing)", "DateTime64(9, 'UTC')"),
        *("a", "7", None, "1970-01-01 00:00:00.000000000"),
    ]


def test_an_error_of_a_format_is_said_once(port: Port) -> None:
    status, answer, _ = port.sql("SELECT 1, 2 FORMAT Npy")
    assert status == 500
    assert answer == (
        b"Code: 161. DB::Exception: Expected single column for Npy output format, got 2. (TOO_MANY_COLUMNS)\n"
    )
