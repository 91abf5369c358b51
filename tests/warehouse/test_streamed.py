"""Answers of a ClickHouse server that are passed on while they come, and stopped."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from warehouse.engine_server import EngineServer

from retrospan.ingest.warehouse.server import ServerWarehouse
from retrospan.ingest.warehouse.streamed import StreamedAnswer
from retrospan.schemas.errors import SqlError, WarehouseUnavailable


@contextmanager
def piped() -> Iterator[tuple[int, Callable[[], bytes]]]:
    """The end to write to, and what was written once that end is closed."""
    reader, writer = os.pipe()
    found: list[bytes] = []

    def read() -> None:
        while part := os.read(reader, 1 << 20):
            found.append(part)

    reading = threading.Thread(target=read)
    reading.start()

    def whole() -> bytes:
        os.close(writer)
        reading.join()
        return b"".join(found)

    try:
        yield writer, whole
    finally:
        os.close(reader)


def test_an_answer_is_written_as_the_server_renders_it(remote: ServerWarehouse) -> None:
    store = remote.connect()
    query = "SELECT number, {word:String} FROM numbers(200000)"
    try:
        wanted = store.query(query, {"word": "a\tb"}, output_format="TSV")
        with piped() as (writer, whole):
            store.write(writer, query, {"word": "a\tb"}, "TSV")
            assert whole() == wanted
        assert store.rows("SELECT 1") == [[1]], "the connection is as good as before"
        with piped() as (writer, whole):
            with pytest.raises(SqlError) as refused:
                store.write(writer, "SELECT throwIf(1)")
            assert whole() == b""
        assert refused.value.code == 395
    finally:
        store.close()


def test_a_server_is_asked_to_stop_what_runs(server: EngineServer, remote: ServerWarehouse) -> None:
    store = remote.connect()
    stop = store.stopper()
    try:
        ended = threading.Event()

        def ask() -> None:
            with piped() as (writer, whole):
                try:
                    store.write(writer, "SELECT count() FROM numbers(3e9)")
                except (SqlError, WarehouseUnavailable):
                    pass
                whole()
            ended.set()

        asking = threading.Thread(target=ask)
        asking.start()
        deadline = time.monotonic() + 300
        while not server.counted["SELECT"] and time.monotonic() < deadline:
            time.sleep(0.02)
        stop()
        stop()
        assert server.counted["KILL"] == 2
        asking.join(60)
        assert ended.is_set()
    finally:
        store.close()


class Failing:
    """A response whose last part is the server's error."""

    def __init__(self, *parts: bytes) -> None:
        self.headers = {"X-ClickHouse-Exception-Tag": "rwnlxvyhmnvarhll"}
        self._parts = parts

    def stream(self, size: int, decode_content: bool) -> Iterator[bytes]:
        yield from self._parts

    def close(self) -> None:
        pass


@pytest.mark.parametrize("cut", [0, 1, 7, 40, 200])
def test_an_error_at_the_end_is_not_part_of_the_answer(cut: int) -> None:
    """In ClickHouse's own form, however it is cut into pieces."""
    from clickhouse_connect.driver.exceptions import DatabaseError

    rows = b"".join(b"%d\n" % number for number in range(50_000))
    error = b"Code: 395. DB::Exception: Value passed. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)\n"
    tail = (
        b"\r\n__exception__\r\nrwnlxvyhmnvarhll\r\n"
        + error
        + b"%d rwnlxvyhmnvarhll\r\n__exception__\r\n" % len(error)
    )
    sent = rows + tail
    at = len(rows) + cut
    with piped() as (writer, whole):
        with pytest.raises(DatabaseError, match=r"Code: 395\. DB::Exception: Value passed") as failed:
            StreamedAnswer(Failing(sent[:at], sent[at:])).write(writer)
        assert whole() == rows
    assert "rwnlx" not in str(failed.value)
