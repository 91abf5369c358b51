"""A query whose client is gone, that overruns, or whose answer nobody takes, is stopped in the engine itself; an answer
comes while it is made, and one that fails in its middle cannot be taken for whole."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import clickhouse_connect
import httpx
import pytest
import requests
from clickhouse_connect.driver.exceptions import ClickHouseError, DatabaseError

from retrospan.ingest.access.gate import Gate
from retrospan.ingest.access.tokens import TokenFile
from retrospan.ingest.answer.admin import Admin
from retrospan.ingest.answer.readers import BLOCK_ROWS
from retrospan.ingest.answer.sql_port import SqlPort
from retrospan.ingest.http.site import Site
from retrospan.ingest.settings.config import Limits
from retrospan.ingest.settings.setting_values import Address
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.queries import connect
from retrospan.schemas.errors import RetrospanError

LIMITS = Limits(query_seconds=60.0, queries=2)
ENDLESS = "SELECT count() FROM numbers(1e13)"
LARGE = "SELECT number, number FROM numbers(1000000000)"
FAILING = "SELECT number, throwIf(number = 2000000) AS x FROM numbers(3000000)"
# A tenth of a second for each block of one row.
QUADRATIC = "SELECT sum(arrayCount(x -> has(range(3000 + number % 2), x), range(3000))) FROM numbers(100000)"
# Many seconds within one block: the engine looks up only between blocks.
DEAF = (
    "SELECT hasAll(arrayMap(x -> toString(x), range(90000 + number)), "
    "arrayMap(x -> toString(89999 - x), range(90000))) FROM numbers(2)"
)
SOON = 20.0
"""Two seconds are promised; a busy machine takes its time. Without being stopped they run for a minute."""
HERE = Site(Address("127.0.0.1", 0))


class Tried:
    """A SQL port and what its engine does."""

    def __init__(
        self,
        warehouse: EmbeddedWarehouse,
        limits: Limits = LIMITS,
        *,
        site: Site = HERE,
        gate: Gate | None = None,
    ) -> None:
        self.stuck: list[str] = []
        self.port = SqlPort(
            warehouse,
            site,
            limits=limits,
            admin=Admin({}),
            health=lambda: {"status": "ok"},
            metrics=str,
            gate=gate,
            stuck=self.stuck.append,
        )
        self.number = self.port.start()
        self._store = warehouse.connect()

    def running(self) -> int:
        """How many queries of readers the engine is at."""
        found = self._store.rows("SELECT count() FROM system.processes WHERE Settings['readonly'] = '1'")
        return int(str(found[0][0]))

    def until_running(self, count: int, seconds: float = 60.0) -> float:
        """Wait until so many run; return the seconds that took."""
        begun = time.monotonic()
        while self.running() != count:
            assert time.monotonic() - begun < seconds, f"{self.running()} run"
            time.sleep(0.02)
        return time.monotonic() - begun

    def asked(self, query: str, **more: str) -> socket.socket:
        """A connection that has asked, and not read."""
        connection = socket.create_connection(("127.0.0.1", self.number), timeout=60)
        path = "/?" + urlencode({"query": query, **more})
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return connection

    def answer(self, query: str, *, token: str = "", **more: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.number, timeout=60)
        try:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            connection.request("GET", "/?" + urlencode({"query": query, **more}), headers=headers)
            found = connection.getresponse()
            return found.status, found.read()
        finally:
            connection.close()

    def close(self) -> None:
        self._store.close()
        self.port.stop(1.0)


@pytest.fixture
def tried(warehouse: EmbeddedWarehouse) -> Iterator[Tried]:
    found = Tried(warehouse)
    yield found
    found.close()


def closed(connection: socket.socket) -> None:
    connection.close()


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def done_writing(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_WR)


@pytest.mark.long
@pytest.mark.parametrize("leave", [closed, reset, done_writing])
@pytest.mark.parametrize("query", [ENDLESS, LARGE, QUADRATIC], ids=["counting", "rows", "quadratic"])
def test_a_query_ends_with_its_client(
    tried: Tried, query: str, leave: Callable[[socket.socket], None]
) -> None:
    with tried.asked(query, max_block_size="1" if query == QUADRATIC else "65409") as connection:
        tried.until_running(1)
        leave(connection)
        assert tried.until_running(0) < SOON
    assert tried.port.counters.hung_up == 1
    assert tried.stuck == []


@pytest.mark.parametrize("count", [1, 3_000, 10_000, 40_000])
def test_a_query_ends_with_a_client_that_has_sent_other_requests_behind_it(tried: Tried, count: int) -> None:
    with tried.asked(ENDLESS) as connection:
        tried.until_running(1)
        with suppress(ConnectionError):  # of too many at once it is told by the end of the connection
            connection.sendall(b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n" * count)
    assert tried.until_running(0) < SOON
    assert tried.port.counters.hung_up == 1


def test_requests_behind_a_long_one_are_answered_after_it(tried: Tried) -> None:
    with tried.asked(ENDLESS, max_execution_time="2") as connection:
        tried.until_running(1)
        connection.sendall(b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3_000)
        received = b""
        while received.count(b"Ok.\n") < 3_000:
            piece = connection.recv(65536)
            assert piece, received[-300:]
            received += piece
    assert received.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("query", [ENDLESS, QUADRATIC], ids=["counting", "quadratic"])
def test_a_query_that_overruns_its_limit_is_stopped_and_its_client_told(tried: Tried, query: str) -> None:
    begun = time.monotonic()
    size = "1" if query == QUADRATIC else "65409"
    status, body = tried.answer(query, max_execution_time="1", max_block_size=size)
    assert status == 408 and body.startswith(b"Code: 159.")
    assert time.monotonic() - begun < SOON
    assert tried.until_running(0) < SOON
    assert tried.stuck == []


def test_an_answer_that_is_not_taken_gives_its_place_to_who_waits(tried: Tried) -> None:
    unread = [tried.asked(LARGE) for _ in range(LIMITS.queries)]
    try:
        tried.until_running(LIMITS.queries)
        begun = time.monotonic()
        seen = tried.answer("SELECT 1")
        while seen[0] == 503 and time.monotonic() - begun < 30:
            seen = tried.answer("SELECT 1")
        assert seen == (200, b"1\n")
        assert time.monotonic() - begun < SOON
    finally:
        for connection in unread:
            connection.close()


def test_an_answer_that_is_not_taken_is_ended_though_nobody_waits(warehouse: EmbeddedWarehouse) -> None:
    tried = Tried(warehouse, site=replace(HERE, unread_seconds=1.0))
    try:
        with tried.asked(LARGE):
            tried.until_running(1)
            tried.until_running(0)
    finally:
        tried.close()


@pytest.mark.long
def test_an_answer_that_is_taken_slowly_comes_whole(warehouse: EmbeddedWarehouse) -> None:
    tried = Tried(warehouse, site=replace(HERE, unread_seconds=2.0))
    query = "SELECT number, number FROM numbers(1000000)"
    whole = b"".join(b"%d\t%d\n" % (number, number) for number in range(1_000_000))
    try:
        with tried.asked(query, default_format="TSV") as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            found = bytearray()
            while part := answer.read(1 << 20):
                found += part
                time.sleep(0.3)
            answer.close()
        assert bytes(found) == whole
    finally:
        tried.close()


@pytest.mark.parametrize(
    "kind", ["TSV", "JSON", "JSONEachRow", "Native", "ArrowStream", "Parquet", "CSVWithNames"]
)
def test_an_answer_that_comes_in_pieces_is_the_engines_own(
    tried: Tried, warehouse: EmbeddedWarehouse, kind: str
) -> None:
    query = "SELECT number AS n, toString(number) AS s FROM numbers(400000) ORDER BY n"
    store = warehouse.connect()
    try:
        store.keep({"output_format_write_statistics": 0, "max_block_size": BLOCK_ROWS})
        wanted = store.query(query, output_format=kind)
    finally:
        store.close()
    assert tried.answer(query, default_format=kind, output_format_write_statistics="0") == (200, wanted)


def test_the_first_bytes_come_before_the_last_are_made(tried: Tried) -> None:
    with tried.asked(LARGE, default_format="TSV") as connection:
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.read(4) == b"0\t0\n"
        assert tried.running() == 1
        answer.close()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT number, number FROM numbers(20000000)",
        # Wide rows, as whole spans are.
        "SELECT number, repeat('x', 5000) FROM numbers(60000)",
    ],
)
def test_an_answer_takes_bounded_memory(tried: Tried, query: str) -> None:
    def peak() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) >> 10

    tried.answer("SELECT number, number FROM numbers(1000000)")
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    with tried.asked(query) as connection:
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        size = 0
        while part := answer.read(1 << 20):
            size += len(part)
        answer.close()
    assert size >= 300_000_000
    assert peak() - before < 150, "MiB; the answer is twice as large and more"


def test_an_error_in_the_middle_is_told_and_breaks_the_answer_off(tried: Tried) -> None:
    url = f"http://127.0.0.1:{tried.number}/"
    with tried.asked(FAILING) as connection:
        found = b""
        while part := connection.recv(1 << 20):
            found += part
    head, _, body = found.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ") and b"chunked" in head
    tag = next(
        line for line in head.split(b"\r\n") if line.lower().startswith(b"x-clickhouse-exception-tag: ")
    )
    mark = tag.partition(b": ")[2]
    assert b"__exception__\r\n" + mark + b"\r\nCode: 395. " in body
    assert mark + b"\r\n__exception__\r\n" in body
    assert not body.endswith(b"0\r\n\r\n"), "it does not end as a whole answer does"
    with pytest.raises(requests.RequestException):
        requests.get(url, params={"query": FAILING}, timeout=60)
    with pytest.raises(httpx.HTTPError):
        httpx.get(url, params={"query": FAILING}, timeout=60)
    with pytest.raises(http.client.IncompleteRead):
        tried.answer(FAILING)


def test_clients_say_what_an_answer_broke_off_with(tried: Tried) -> None:
    client = clickhouse_connect.get_client(host="127.0.0.1", port=tried.number)
    try:
        with pytest.raises(ClickHouseError, match=r"395|throwIf"):
            _ = client.query(FAILING).result_rows
        with pytest.raises(DatabaseError, match="395"):
            client.query("SELECT throwIf(1)")
        assert client.query("SELECT 1").result_rows == [(1,)]
        assert client.query_df("SELECT number FROM numbers(2000000)").shape == (2_000_000, 1)
    finally:
        client.close()
    with pytest.raises(RetrospanError):
        connect(f"http://127.0.0.1:{tried.number}").sql(FAILING)


@pytest.mark.long
def test_one_token_cannot_take_every_place(warehouse: EmbeddedWarehouse, tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    hashes = {
        "one": "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
        "two": "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3",
    }
    file.write_text(
        "".join(
            f'[[token]]\nname = "{name}"\nsha256 = "{digest}"\nrights = ["read"]\n'
            for name, digest in hashes.items()
        )
    )
    limits = replace(LIMITS, queries=3, queries_per_token=2)
    tried = Tried(warehouse, limits, gate=Gate(TokenFile(file, print)))
    threads = [
        threading.Thread(
            target=tried.answer, args=(ENDLESS,), kwargs={"token": "one", "max_execution_time": "8"}
        )
        for _ in range(2)
    ]
    try:
        for thread in threads:
            thread.start()
        tried.until_running(2)
        status, body = tried.answer("SELECT 1", token="one")
        assert status == 503 and b"2 queries of the token 'one' are running already" in body
        assert tried.answer("SELECT 1", token="two") == (200, b"1\n")
    finally:
        for thread in threads:
            thread.join()
        tried.close()


@pytest.mark.soak
def test_a_query_that_cannot_be_stopped_is_reported_and_its_client_told(tried: Tried) -> None:
    begun = time.monotonic()
    status, body = tried.answer(DEAF, max_execution_time="1")
    assert status == 408 and b"longer than its limit of 1 s" in body
    while not tried.stuck and tried.running():
        assert time.monotonic() - begun < SOON
        time.sleep(0.02)
    assert len(tried.stuck) == 1 and "hasAll" in tried.stuck[0], "the engine was done within three seconds?"
    assert tried.port.counters.stuck == 1
    assert tried.answer("SELECT 1") == (200, b"1\n"), "the other place is still there"
    tried.until_running(0, 900)


def test_a_port_over_a_socket_that_listens_already(warehouse: EmbeddedWarehouse) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number = listener.getsockname()[1]
        tried = Tried(warehouse, site=replace(HERE, listener=listener))
        try:
            assert tried.number == number
            assert tried.answer("SELECT 1") == (200, b"1\n")
        finally:
            tried.close()


def test_what_explains_and_shows_is_answered_whole(tried: Tried) -> None:
    for query, said in (
        ("EXPLAIN AST SELECT 1", b"SelectWithUnionQuery"),
        ("EXPLAIN SELECT 1", b"ReadFrom"),
        ("SHOW TABLES", b"tool_calls"),
        ("DESCRIBE TABLE raw_spans", b"trace_id"),
        ("EXISTS TABLE raw_spans", b"1"),
        ("-- a comment\nSELECT 1 -- and another", b"1"),
        ("/* a */ (SELECT 1) UNION ALL (SELECT 2)", b"2"),
        ("WITH 3 AS x SELECT x", b"3"),
    ):
        status, body = tried.answer(query)
        assert status == 200 and said in body, query
    assert json.loads(tried.answer("SELECT 1 AS x WHERE 0", default_format="JSON")[1])["rows"] == 0
