"""R28: clients that are slow, silent or many, and what the others notice of them."""

from __future__ import annotations

import resource
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import otlp_requests as make
import pytest
from receive.conftest import REQUEST_BYTES, Disk, Station

from retrospan.ingest.http.site import Site
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.receive.http import HttpReceiver
from retrospan.ingest.receive.intake import Intake
from retrospan.ingest.settings.config import Limits
from retrospan.ingest.settings.setting_values import Address

# Each is two descriptors of this process.
MANY = min(2000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)
HEAD = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\nContent-Length: 100000\r\n\r\n"


@pytest.fixture
def station(tmp_path: Path) -> Iterator[Station]:
    disk = Disk()
    log = WriteAheadLog.open(tmp_path / "log", low_water_bytes=1000, files=disk)
    made = Station(log, disk, Intake(log, Limits(request_bytes=REQUEST_BYTES)))
    with made.stopping:
        yield made
    log.close()


def body() -> bytes:
    return make.traces(make.span()).SerializeToString()


def opened(stack: ExitStack, port: int, count: int, first: bytes = b"") -> list[socket.socket]:
    found: list[socket.socket] = []
    for _ in range(count):
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
        if first:
            connection.sendall(first)
        found.append(connection)
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    "first", [b"", b"POST /v1/tra", HEAD, HEAD + b"\x0a"], ids=["idle", "header", "no body", "body"]
)
@pytest.mark.requirement("R28")
def test_thousands_of_silent_connections_hold_nobody_up(station: Station, first: bytes) -> None:
    with ExitStack() as stack:
        waiting = opened(stack, station.http_port, MANY, first)
        done = threading.Event()

        def trickle() -> None:
            """One byte a second, or a few more, from each of some."""
            while not done.wait(0.2):
                for connection in waiting[:50]:
                    try:
                        connection.send(b"a")
                    except OSError:
                        return

        with ThreadPoolExecutor(8) as pool:
            trickling = pool.submit(trickle)
            answers = list(pool.map(lambda _: station.post("/v1/traces", body()).status, range(50)))
            done.set()
            trickling.result()
        assert answers == [200] * 50


def closed(connection: socket.socket) -> bool:
    connection.settimeout(60)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize(
    "first", [b"", b"POST /v1/tra", b"GET /v1/traces HTTP/1.1\r\nHost: localhost\r\nX: "]
)
@pytest.mark.requirement("R28")
def test_headers_that_do_not_come_close_the_connection(station: Station, first: bytes) -> None:
    receiver = HttpReceiver(station.intake, Site(Address("127.0.0.1", 0), header_seconds=0.3))
    station.stopping.callback(receiver.stop, 5)
    port = receiver.start()
    with ExitStack() as stack:
        [connection] = opened(stack, port, 1, first)
        assert closed(connection)


@pytest.mark.requirement("R28")
def test_headers_sent_a_byte_at_a_time_have_the_same_deadline(station: Station) -> None:
    receiver = HttpReceiver(station.intake, Site(Address("127.0.0.1", 0), header_seconds=0.5))
    station.stopping.callback(receiver.stop, 5)
    port = receiver.start()
    deadline = time.monotonic() + 300
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.setblocking(False)
        connection.send(b"GET /")
        while time.monotonic() < deadline:
            try:
                connection.send(b"a")
                if connection.recv(1) == b"":
                    return
            except BlockingIOError:
                time.sleep(0.05)
            except ConnectionError:
                return
    raise AssertionError("still open")


@pytest.mark.requirement("R28")
def test_a_slow_body_is_not_cut_by_the_deadline_of_headers(station: Station) -> None:
    receiver = HttpReceiver(station.intake, Site(Address("127.0.0.1", 0), header_seconds=0.2))
    station.stopping.callback(receiver.stop, 5)
    port = receiver.start()
    content = body()
    head = HEAD.replace(b"100000", str(len(content)).encode())
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(head)
        time.sleep(0.6)
        connection.sendall(content)
        assert connection.recv(100).startswith(b"HTTP/1.1 200")


@pytest.mark.long
@pytest.mark.requirement("R28")
def test_beyond_the_limit_the_longest_silent_gives_way(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrospan.ingest.http.server.most_connections", lambda: 20)
    with ExitStack() as stack:
        busy = opened(stack, station.http_port, 1, HEAD.replace(b"Host", b"Expect: 100-continue\r\nHost"))
        assert busy[0].recv(100).startswith(b"HTTP/1.1 100"), "the request is in progress from here on"
        silent = opened(stack, station.http_port, 40)
        assert all(closed(each) for each in silent[:20])
        assert station.post("/v1/traces", body()).status == 200
        content = b"\x00" * 100000
        busy[0].sendall(content)
        assert busy[0].recv(100).startswith(b"HTTP/1.1 400"), "a request in progress is never the one to go"
