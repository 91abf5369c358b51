"""Hostile statements through the real port: nothing is read or written outside, nothing changes, nothing dies.

A few hundred always, some thousands watched by strace in the long tests, 100,000 in the soak.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from attacks import watching
from attacks.hostile import Attempt
from attacks.siege import Besieged, ask, besiege, can_watch
from attacks.watching import Touched

from retrospan.ingest import supervisor
from retrospan.ingest.machine.confinement import Confinement, landlock_abi

Start = Callable[[bool], Besieged]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a collector, watched or not; it is killed in the end."""
    started: list[Besieged] = []

    def begin(watched: bool) -> Besieged:
        started.append(Besieged(tmp_path, watched=watched))
        return started[-1]

    yield begin
    for collector in started:
        collector.kill()


def hold(collector: Besieged, numbers: range) -> None:
    """Send them and look at everything that may not have happened."""
    collector.fill()
    before, pids = collector.unchanged(), (collector.pid, collector.engine_pid)
    tally = besiege(collector, numbers)
    print(dict(tally.statuses))
    assert not tally.leaked
    assert not tally.unanswered
    assert (collector.pid, collector.engine_pid) == pids and collector.health()["status"] == "ok"
    assert collector.unchanged() == before
    assert collector.environment() <= set(supervisor._KEPT)
    assert collector.health()["confinement"] == held_to()
    assert not Path(collector.bait.target).exists()
    assert Path(collector.bait.tokens).read_text() == "nobody's\n"
    assert Path(collector.bait.secret).read_text() == collector.secret
    # Many are refused, and many are not: a wall that lets nothing by shows nothing of those behind it.
    assert tally.statuses[200] > len(numbers) / 25 and tally.statuses[403] > len(numbers) / 10
    assert collector.stop() == 0
    assert collector.touched_outside() == []


def held_to() -> str:
    return str(Confinement(landlock_abi(), landlock_abi() >= 4))


def test_some_hostile_statements_do_no_harm(start: Start) -> None:
    hold(start(False), range(20))


@pytest.mark.long
def test_more_hostile_statements_do_no_harm(start: Start) -> None:
    hold(start(False), range(20, 200))


@pytest.mark.soak
@pytest.mark.skipif(not can_watch(), reason="strace is not installed")
def test_thousands_touch_nothing_outside(start: Start) -> None:
    hold(start(True), range(400, 3_400))


@pytest.mark.soak
@pytest.mark.skipif(not can_watch(), reason="strace is not installed")
def test_a_hundred_thousand_touch_nothing_outside(start: Start) -> None:
    hold(start(True), range(10_000, 110_000))


class _Forgetful(BaseHTTPRequestHandler):
    """Answers once on a connection that is kept, and closes it."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"1\n")
        self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def test_a_statement_is_sent_again_where_its_kept_connection_was_closed() -> None:
    asked = Attempt("SELECT 1", {}, in_address=False)
    with HTTPServer(("127.0.0.1", 0), _Forgetful) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
        try:
            assert [ask(connection, asked) for _ in range(3)] == [(200, b"1\n")] * 3
        finally:
            connection.close()
            server.shutdown()
            serving.join()


def test_a_statement_that_is_answered_with_nothing_is_sent_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.getsockname()[1], timeout=30)
        hanging_up = threading.Thread(target=lambda: server.accept()[0].close())
        hanging_up.start()
        with pytest.raises(ConnectionError):
            ask(connection, Attempt("SELECT 1", {}, in_address=False))
        hanging_up.join()


TRACE = """\
10 openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3
11 openat(AT_FDCWD, "/etc/shadow", O_RDONLY|O_CLOEXEC <unfinished ...>
10 openat(AT_FDCWD, "/data/log/1", O_WRONLY|O_CREAT, 0640) = 4
11 <... openat resumed>) = -1 EACCES (Permission denied)
10 rename("/data/a", "/home/b") = 0
10 openat(AT_FDCWD, "/data/../etc/group", O_RDONLY) = 3
10 openat(AT_FDCWD, "/usr/lib/x", O_RDWR) = -1 EACCES (Permission denied)
10 openat(AT_FDCWD, "/usr/lib/x", O_RDONLY) = 3
10 openat(AT_FDCWD</data>, "/proc/self/fd/93", O_WRONLY) = 95<pipe:[71]>
10 openat(AT_FDCWD</data>, "/proc/self/fd/5", O_WRONLY) = 96</data/log/1.seg>
"""


def test_the_watch_knows_whose_a_line_is() -> None:
    lines = [
        '1 openat(AT_FDCWD, "/a", O_RDONLY) = 3',
        "1 vfork( <unfinished ...>",
        '2 execve("/python", ["python", "-m", "engine", "1"], 0x0) = 0',
        "1 <... vfork resumed>) = 2",
        "2 clone3({flags=CLONE_VM} => {parent_tid=[3]}, 88) = 3",
        '3 openat(AT_FDCWD, "/b", O_RDONLY) = 3',
        "1 clone(child_stack=NULL, flags=SIGCHLD) = 4",
        '4 openat(AT_FDCWD, "/c", O_RDONLY) = 3',
    ]
    found = {each.path for each in watching.touched(watching.of_program(lines, "engine"))}
    assert found == {"/python", "/b"}


def test_the_watch_sees_what_is_outside() -> None:
    found = watching.outside(watching.touched(TRACE.splitlines()), Path("/data"))
    assert sorted((each.path, each.writes, each.done) for each in found) == [
        ("/data/../etc/group", False, True),
        ("/etc/passwd", False, True),
        ("/etc/shadow", False, False),
        ("/home/b", True, True),
        ("/proc/self/fd/5", True, True),
        ("/usr/lib/x", True, False),
    ]
    assert all(isinstance(each, Touched) for each in found)
