"""256 clients that are slow, silent or take no answer, on each of the three ports of a real collector: probes and new
clients are answered all the same, on every port. No token is needed to be such a client."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import grpc
import otlp_requests as make
import pytest
from bench.siege import warehouse_of
from fix_collector import Served

COUNT = 256
PORTS = ("grpc", "http", "sql")
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
LARGE = "/?" + urllib.parse.urlencode({"query": "SELECT number, number FROM numbers(100000000)"})
Dripping = Callable[[int], bytes]


class Few(Served):
    """With the descriptors that many systems give a process: 256 connections a port."""

    prefix = ("prlimit", "--nofile=1024:1024")


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("slow")
    running = Few(folder / "data", folder / "stderr.txt")
    yield running
    running.kill()


def post(path: str) -> bytes:
    kind = "Content-Type: application/x-protobuf\r\nContent-Length: 100000"
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\n\r\n".encode()


def first_of(port: str, kind: str) -> bytes:
    """What each slow client of this kind sends at once."""
    if port == "grpc":
        return {
            "silent": b"",
            "head": PREFACE[:9],
            "body": PREFACE + SETTINGS,
            "unread": PREFACE + SETTINGS * 2,
        }[kind]
    path = {"http": "/v1/traces", "sql": "/"}[port]
    return {
        "silent": b"",
        "head": post(path)[:40],
        "body": post(path),
        # On 4318 answers are short; so many of them are not taken either.
        "unread": f"GET {LARGE if port == 'sql' else '/nothing'} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        * (1 if port == "sql" else 2000),
    }[kind]


@contextmanager
def slow_clients(address: str, first: bytes, count: int = COUNT) -> Iterator[list[socket.socket]]:
    """So many connections that send the first bytes, then one byte now and then, and never read."""
    host, _, port = address.rpartition(":")
    done = threading.Event()
    with ExitStack() as stack:
        found: list[socket.socket] = []
        for _ in range(count):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect((host, int(port)))
            connection.setblocking(False)
            send_some(connection, first)
            found.append(connection)

        def drip() -> None:
            while not done.wait(0.5):
                for connection in found:
                    if first:
                        send_some(connection, b"a")

        dripping = threading.Thread(target=drip)
        dripping.start()
        stack.callback(dripping.join)
        stack.callback(done.set)
        yield found


def send_some(connection: socket.socket, data: bytes) -> None:
    try:
        connection.send(data)
    except OSError:
        pass  # it was closed, or takes no more


def answer_of(address: str, path: str) -> tuple[int, bytes]:
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def check_everything_is_answered(collector: Served) -> None:
    for address in (collector.http, collector.sql):
        begun = time.monotonic()
        assert answer_of(address, "/health/live") == (200, b"live\n")
        assert time.monotonic() - begun < 60.0, "longer than any client is left to be silent"
    collector.send([make.traces(make.span()).SerializeToString()])
    collector.post("/v1/traces", make.traces(make.span()).SerializeToString(), "application/x-protobuf")
    # A client that is told to try again in a moment does so.
    deadline = time.monotonic() + 60
    seen = answer_of(collector.sql, "/?query=SELECT%201")
    while seen[0] == 503 and time.monotonic() < deadline:
        time.sleep(1.0)
        seen = answer_of(collector.sql, "/?query=SELECT%201")
    assert seen == (200, b"1\n")


@pytest.mark.parametrize("kind", ["silent", "head", "body", "unread"])
@pytest.mark.parametrize("port", PORTS)
@pytest.mark.long
def test_slow_clients_hold_nobody_up(collector: Served, port: str, kind: str) -> None:
    with slow_clients(getattr(collector, port), first_of(port, kind)):
        for _ in range(3):
            check_everything_is_answered(collector)


@pytest.mark.long
def test_slow_clients_on_every_port_at_once_hold_nobody_up(collector: Served) -> None:
    with ExitStack() as stack:
        for port in PORTS:
            stack.enter_context(slow_clients(getattr(collector, port), first_of(port, "body")))
        for _ in range(3):
            check_everything_is_answered(collector)


@pytest.mark.long
def test_more_silent_clients_than_there_are_descriptors_hold_nobody_up(collector: Served) -> None:
    with ExitStack() as stack:
        for port in PORTS:
            stack.enter_context(slow_clients(getattr(collector, port), b"", 700))
        for _ in range(3):
            check_everything_is_answered(collector)


class VeryFew(Served):
    """With a quarter of them, which it has to take itself."""

    prefix = ("prlimit", "--nofile=100:256")


@pytest.mark.long
def test_idle_connections_over_grpc_leave_the_log_its_descriptors(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text('[limits]\nsegment_bytes = "1 MiB"\n')
    running = VeryFew(tmp_path / "data", tmp_path / "stderr.txt", "--config", str(settings))
    try:
        limits = Path(f"/proc/{running.process.pid}/limits").read_text()
        assert "256" in next(line for line in limits.splitlines() if line.startswith("Max open files"))
        assert "may open 256 files and sockets" in running.stderr()
        large = make.traces(make.span(name="x" * 700_000)).SerializeToString()
        with slow_clients(running.grpc, b"", 400):
            for _ in range(6):  # each begins a segment
                running.post("/v1/traces", large, "application/x-protobuf")
        assert len(list((tmp_path / "data" / "log").rglob("*.seg*"))) >= 6
    finally:
        running.kill()


@pytest.mark.long
def test_calls_without_a_message_hold_no_other_call_up(collector: Served) -> None:
    done = threading.Event()

    def nothing() -> Iterator[bytes]:
        done.wait(60)
        yield from ()

    with ExitStack() as stack:
        for _ in range(64):
            options = [("grpc.use_local_subchannel_pool", 1)]
            channel = stack.enter_context(grpc.insecure_channel(collector.grpc, options=options))
            channel.stream_unary(EXPORT).future(nothing(), timeout=60)
        check_everything_is_answered(collector)
        done.set()


@pytest.mark.long
def test_every_place_for_queries_taken_leaves_the_probes_theirs(collector: Served) -> None:
    """Clients that wait for long answers, four times as many as there are places."""
    query = urllib.parse.urlencode({"query": "SELECT count() FROM numbers(1e13)", "max_execution_time": "20"})
    with slow_clients(collector.sql, f"GET /?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), 32):
        for _ in range(20):
            for page in ("/health/live", "/health/ready", "/ping"):
                assert answer_of(collector.sql, page)[0] == 200
            time.sleep(0.1)
    # They are gone, and so are their queries, long before their limit.
    deadline = time.monotonic() + 10
    while answer_of(collector.sql, "/?query=SELECT%201")[0] != 200:
        assert time.monotonic() < deadline


@pytest.mark.soak
def test_connections_that_are_reset_in_the_middle_of_an_answer_leave_nothing(collector: Served) -> None:
    descriptors = Path(f"/proc/{warehouse_of(collector.process.pid)}/fd")
    before = len(list(descriptors.iterdir()))
    host, _, port = collector.sql.rpartition(":")
    for _ in range(100):
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.sendall(f"GET {LARGE} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            connection.recv(100)
    collector.until(lambda: answer_of(collector.sql, "/?query=SELECT%201")[0] == 200, 30)
    collector.until(lambda: len(list(descriptors.iterdir())) < before + 20, 30)


@pytest.mark.soak
def test_the_collector_still_stops_while_they_wait(tmp_path: Path) -> None:
    running = Few(tmp_path / "data", tmp_path / "stderr.txt")
    try:
        with ExitStack() as stack:
            for port in PORTS:
                for kind in ("silent", "body", "unread"):
                    stack.enter_context(slow_clients(getattr(running, port), first_of(port, kind), 40))
            assert running.stop() == 0
    finally:
        running.kill()


def hung_up(collector: Served) -> float:
    page = answer_of(collector.sql, "/metrics")[1].decode()
    [line] = [line for line in page.splitlines() if line.startswith("retrospan_sql_hung_up_total ")]
    return float(line.split()[1])


@pytest.mark.long
def test_a_stock_client_that_is_killed_takes_its_query_along(collector: Served) -> None:
    program = (
        "import sys, urllib.request; "
        "answer = urllib.request.urlopen(sys.argv[1], b'SELECT number FROM numbers(1000000000)'); "
        "print(answer.read(1), flush=True); sys.stdin.read()"
    )
    client = subprocess.Popen(
        [sys.executable, "-c", program, f"http://{collector.sql}/"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    before = hung_up(collector)
    assert client.stdin is not None and client.stdout is not None
    with client.stdin, client.stdout:
        try:
            assert client.stdout.readline()
        finally:
            client.kill()
            client.wait()
    begun = time.monotonic()
    collector.until(lambda: hung_up(collector) > before)
    assert time.monotonic() - begun < 50.0, "two seconds are promised; left alone it runs for a minute"
