"""Places for queries are those of the SQL port too, and a client that hangs up gives its place back."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any, cast

import pytest
from answer.conftest import LIMITS, Port, started

from retrospan.ingest.answer.jaeger.port import JaegerPort
from retrospan.ingest.answer.sql_port import SqlPort
from retrospan.ingest.http.site import Site
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.store import Store

from .conftest import ANY, Asking

ENDLESS = "SELECT count() FROM numbers(1000000000000)"
FEW = replace(LIMITS, queries=1, query_seconds=30.0)


class Slow:
    """A connection on which every question first counts for as long as it is let."""

    def __init__(self, store: Store, begun: threading.Event) -> None:
        self._store = store
        self._begun = begun

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def query(self, *args: Any, **kwargs: Any) -> bytes:
        self._begun.set()
        return self._store.query(ENDLESS, *args[1:], **kwargs)


class Ports:
    """Both ports of a process; the questions of one are slow while `is_slow`."""

    def __init__(self, warehouse: EmbeddedWarehouse) -> None:
        self.begun = threading.Event()
        self.is_slow = False

        def reader_of(tenant: str) -> Store:
            store = warehouse.connect()
            return cast(Store, Slow(store, self.begun)) if self.is_slow else store

        self.sql: SqlPort = started(warehouse, FEW)
        self.jaeger = JaegerPort(Site(ANY), limits=FEW, reader_of=reader_of, places=self.sql.places)
        self.ask_sql = Port(self.sql.start())
        self.ask = Asking(f"127.0.0.1:{self.jaeger.start()}")

    def stop(self) -> None:
        self.jaeger.stop(0)
        self.sql.stop(0)

    def hang(self, port: int, target: str) -> socket.socket:
        """A client that asks and reads nothing."""
        client = socket.create_connection(("127.0.0.1", port), timeout=60)
        client.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        return client


@pytest.fixture
def ports(warehouse: EmbeddedWarehouse) -> Iterator[Ports]:
    made = Ports(warehouse)
    yield made
    made.stop()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_client_that_hangs_up_gives_its_place_back(ports: Ports) -> None:
    ports.is_slow = True
    client = ports.hang(int(ports.ask.address.rpartition(":")[2]), "/api/services")
    assert ports.begun.wait(60)
    ports.is_slow = False
    full = ports.ask("/api/services")
    assert (full.status, full.headers["Retry-After"]) == (503, "1")
    assert "1 queries are running already" in full.body["errors"][0]["msg"]
    client.close()
    # A question waits two seconds for its place, and none is refused once the first has noticed.
    until(lambda: ports.ask("/api/services").status == 200)
    assert ports.sql.counters.hung_up == 1
    assert ports.sql.counters.turned_away >= 1


def test_a_question_of_one_port_takes_the_place_of_one_of_the_other(ports: Ports) -> None:
    ports.is_slow = True
    with closing(ports.hang(int(ports.ask.address.rpartition(":")[2]), "/api/v3/services")):
        assert ports.begun.wait(60)
        status, body, headers = ports.ask_sql.sql("SELECT 1")
        assert (status, headers["Retry-After"]) == (503, "1")
        assert b"1 queries are running already" in body
    ports.is_slow = False
    until(lambda: ports.ask_sql.sql("SELECT 1")[0] == 200)
    with closing(ports.hang(ports.ask_sql.number, "/?query=" + ENDLESS.replace(" ", "+"))):
        until(lambda: ports.ask("/api/v3/services").status == 503)
    until(lambda: ports.ask("/api/v3/services").status == 200)


def test_whoever_waits_for_a_place_gets_it_from_either_port(ports: Ports) -> None:
    """Many more than there are places, on both: each is answered or told to come again, and all places come back."""

    def ask(number: int) -> int:
        if number % 2:
            return ports.ask("/api/services").status
        return ports.ask_sql.sql("SELECT 1")[0]

    with ThreadPoolExecutor(12) as clients:
        seen = list(clients.map(ask, range(120)))
    assert set(seen) <= {200, 503}
    assert seen.count(200) > 10
    assert ports.sql.counters.queries == seen.count(200)
    assert ports.sql.counters.turned_away == seen.count(503)
    assert ports.ask("/api/services").status == ports.ask_sql.sql("SELECT 1")[0] == 200


def test_a_client_that_leaves_while_it_waits_takes_no_place(ports: Ports) -> None:
    ports.is_slow = True
    port = int(ports.ask.address.rpartition(":")[2])
    slow = ports.hang(port, "/api/services")
    assert ports.begun.wait(60)
    ports.is_slow = False
    for _ in range(5):
        ports.hang(port, "/api/services").close()
    slow.close()
    until(lambda: ports.ask("/api/services").status == 200)
    until(lambda: not ports.sql.places.slots.wanted_from(""))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/api/services")
    assert connection.getresponse().status == 200
    connection.close()
