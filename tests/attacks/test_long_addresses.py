"""Long addresses on 8123: parameters of a megabyte are read, and nobody takes memory or the port's one thread by them."""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_collector import Served

from retrospan.ingest.answer.sql_port import ADDRESS_BYTES
from retrospan.ingest.http.connection import HEADER_BYTES, LARGE_HEADS
from retrospan.ingest.http.messages import MOST_FIELDS


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("addresses")
    running = Served(folder / "data", folder / "stderr.txt")
    yield running
    running.kill()


def asked(address: str, target: str) -> tuple[int, str, bytes]:
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    try:
        connection.request("GET", target)
        answer = connection.getresponse()
        return answer.status, answer.getheader("content-type", ""), answer.read()
    finally:
        connection.close()


def length(value: str) -> str:
    return f"/?query=SELECT+length(%7Bx:String%7D)&param_x={value}"


def test_a_parameter_of_a_megabyte_is_read_and_more_is_refused_in_plain_text(collector: Served) -> None:
    assert asked(collector.sql, length("v" * (1 << 20)))[::2] == (200, b"1048576\n")
    for size in (ADDRESS_BYTES, 8 << 20):
        status, kind, body = asked(collector.sql, length("v" * size))
        assert (status, kind) == (431, "text/plain; charset=utf-8")
        assert b"Send what is larger in the body" in body
    # The port for telemetry takes no long address.
    assert asked(collector.http, "/" + "v" * (HEADER_BYTES + 1))[0] == 431
    assert asked(collector.sql, length("short"))[::2] == (200, b"5\n")


def test_only_a_few_may_have_long_addresses_at_once_and_everybody_else_is_answered(collector: Served) -> None:
    host, _, port = collector.sql.rpartition(":")
    start = f"GET {length('v' * 2 * HEADER_BYTES)}".encode()
    held: list[socket.socket] = []
    with contextlib.ExitStack() as open_ones:
        for _ in range(LARGE_HEADS):
            held.append(open_ones.enter_context(socket.create_connection((host, int(port)), timeout=30)))
            held[-1].sendall(start)  # and never ends
        # Whether all of them were read by now is seen by the first that is refused.
        refused = b""
        for _ in range(100):
            with socket.create_connection((host, int(port)), timeout=0.5) as late:
                late.sendall(start)
                with contextlib.suppress(TimeoutError):
                    refused = late.recv(100)
            if refused:
                break
        assert refused.startswith(b"HTTP/1.1 431"), refused
        assert asked(collector.sql, length("short"))[::2] == (200, b"5\n")
    # They have gone: there is room again.
    status = 0
    for _ in range(100):
        status = asked(collector.sql, length("v" * 2 * HEADER_BYTES))[0]
        if status == 200:
            break
    assert status == 200


@pytest.mark.parametrize("target", ["a=1&" * 15_000, "&" * 60_000, "query=SELECT+1&" * 4_000])
def test_an_address_of_very_many_parameters_is_refused(collector: Served, target: str) -> None:
    status, _, body = asked(collector.sql, f"/?{target}")
    assert status == 400 and f"more than {MOST_FIELDS} parameters".encode() in body
    assert asked(collector.sql, length("short"))[::2] == (200, b"5\n")
