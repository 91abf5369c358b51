"""SIGTERM: what receives stops first and at once, whatever the rest waits for."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fix_collector import Served

#: `retrospan serve` without uvicorn, which fails while the process of the warehouse is still being started.
FAILS_WHILE_STARTING = """
import subprocess, sys, time
class Slow(subprocess.Popen):
    def __init__(self, *arguments, **options):
        time.sleep(3.0)
        super().__init__(*arguments, **options)
subprocess.Popen = Slow
sys.modules["uvicorn"] = None
from retrospan.ingest.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[Served]:
    """A collector that the test ends itself."""
    served = Served(tmp_path / "data", tmp_path / "stderr.txt")
    try:
        yield served
    finally:
        served.kill()


def refuses(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return True
    return False


def wait_for(met: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.02)


@pytest.mark.long
def test_no_port_accepts_while_a_request_in_flight_is_waited_for(apart: Served) -> None:
    host, _, port = apart.http.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as slow:
        head = "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n"
        slow.sendall(f"{head}content-length: 4\r\nexpect: 100-continue\r\n\r\n".encode())
        assert slow.recv(100).startswith(b"HTTP/1.1 100")  # it is in progress, and has no body
        apart.process.send_signal(signal.SIGTERM)
        wait_for(lambda: refuses(apart.grpc) and refuses(apart.http), 60.0)
        assert apart.process.poll() is None, "it waited for nothing"
        # Had one port waited for the other's requests, it would have taken all of the grace, and this one were cut off.
        slow.sendall(b"\x00\x00\x00\x00")
        assert slow.recv(100).startswith(b"HTTP/1.1 ")  # answered all the same
    assert apart.process.wait(120) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="which thread gets a signal is told by Linux's own call")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_another_thread_gets_ends_it_as_well(apart: Served, number: signal.Signals) -> None:
    """The kernel gives a signal to any thread that does not block it: the main thread waits, and is not woken up by that."""
    pid = apart.process.pid
    others = [int(name) for name in os.listdir(f"/proc/{pid}/task") if int(name) != pid]
    send = ctypes.CDLL(None, use_errno=True).tgkill
    # One that has ended since gets none.
    assert any(send(pid, other, int(number)) == 0 for other in reversed(others)), os.strerror(
        ctypes.get_errno()
    )
    assert apart.process.wait(120) == 0


@pytest.mark.long
def test_a_start_that_fails_while_the_warehouse_is_being_started_ends(tmp_path: Path) -> None:
    addresses = [word for port in ("--grpc", "--http", "--sql") for word in (port, "127.0.0.1:0")]
    failed = subprocess.run(
        [sys.executable, "-c", FAILS_WHILE_STARTING, "serve", "--data", str(tmp_path / "data"), *addresses],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert failed.returncode != 0
    assert "uvicorn is not installed" in failed.stderr
