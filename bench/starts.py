"""Starts of a real `retrospan serve`, timed from the outside: the first acknowledged request, the first answered question."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from bench.processes import TOP, BenchError, family, free_port

_DEADLINE_SECONDS = 300.0
#: How often each port is asked. While the warehouse starts somebody answers 503, which takes processor time too.
_ACK_POLL_SECONDS, _SQL_POLL_SECONDS = 0.005, 0.03
_TICKS = os.sysconf("SC_CLK_TCK")
_SPAN = {
    "traceId": "5b8efff798038103d269b633813fc60c",
    "spanId": "eee19b7ec3c1b174",
    "name": "started",
    "startTimeUnixNano": "1790000000000000000",
    "endTimeUnixNano": "1790000000000000001",
}
_REQUEST = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [_SPAN]}]}]}).encode()


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds from the start of the process, and the processor seconds that all its processes took until then."""

    acknowledged: float
    answered: float
    acknowledged_cpu: float
    answered_cpu: float


class Started:
    """A collector on a directory, from before it listens on; killed with SIGKILL when the block ends."""

    def __init__(self, data: Path, errors: Path) -> None:
        self._data = data
        self._errors = errors

    def __enter__(self) -> Self:
        self._http, self._sql = free_port(), free_port()
        words = (
            *("retrospan.ingest.cli.main", "serve", "--data", str(self._data), "--grpc", "127.0.0.1:0"),
            *("--http", f"127.0.0.1:{self._http}", "--sql", f"127.0.0.1:{self._sql}"),
        )
        # As an installed package has it: with its modules compiled.
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with self._errors.open("ab") as log:
            self._began = time.monotonic()
            self.process = subprocess.Popen(
                [sys.executable, "-m", *words], stdout=subprocess.DEVNULL, stderr=log, cwd=TOP, env=environ
            )
        return self

    def __exit__(self, *_: object) -> None:
        processes = list(family(self.process.pid))
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        for pid in processes[1:]:
            while _lives(pid):  # the kernel ends those with their parent
                time.sleep(0.01)

    def wait(self) -> Start:
        """Return once it has acknowledged a request and answered a question."""
        acknowledged = self._wait(self._http, "/v1/traces", _REQUEST, _ACK_POLL_SECONDS)
        acknowledged_cpu = self._cpu_seconds()
        answered = self._wait(self._sql, "/", b"SELECT count() FROM runs", _SQL_POLL_SECONDS)
        return Start(acknowledged, answered, acknowledged_cpu, self._cpu_seconds())

    def number(self, query: str) -> int:
        """Ask for one number."""
        status, body = _ask(self._sql, "/", query.encode())
        if status != 200:
            raise BenchError(body.decode(errors="replace"))
        return int(body)

    def _wait(self, port: int, path: str, body: bytes, poll: float) -> float:
        while True:
            status, _ = _ask(port, path, body)
            seconds = time.monotonic() - self._began
            if status == 200:
                return seconds
            if self.process.poll() is not None or seconds > _DEADLINE_SECONDS:
                raise BenchError(f"no collector on {self._data}\n{self._errors.read_text()[-2000:]}")
            time.sleep(poll)

    def _cpu_seconds(self) -> float:
        ticks = 0
        for pid in family(self.process.pid):
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / _TICKS


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of memory of a collector. `proportional` is by process, and counts in parts what other programs map as well;
    `alone` is what it would be if none did: here others may run the same engine."""

    proportional: dict[str, int]
    alone: int


def memory_of_all(pid: int) -> Memory:
    """Return the memory of a process and of all below it."""
    found: dict[str, int] = {}
    own, files = 0, dict[tuple[str, str], int]()
    for each in family(pid):
        try:
            words = Path(f"/proc/{each}/cmdline").read_bytes().split(b"\0")
            mappings = Path(f"/proc/{each}/smaps").read_text().splitlines()
        except OSError:
            continue
        name = words[2].decode() if len(words) > 2 else str(each)
        place, resident = ("", ""), 0
        for line in mappings:
            key, *values = line.split()
            if not key.endswith(":"):
                place = (values[4], values[1]) if len(values) > 4 else ("", "")
            elif key == "Rss:":
                resident = int(values[0]) * 1024
            elif key == "Pss:":
                found[name] = found.get(name, 0) + int(values[0]) * 1024
            elif key == "Anonymous:":
                anonymous = int(values[0]) * 1024
                own += anonymous
                # What several of them have of a file is in memory once.
                files[place] = max(files.get(place, 0), resident - anonymous)
    return Memory(found, own + sum(files.values()))


def _ask(port: int, path: str, body: bytes) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        return reply.status, reply.read()
    except OSError:
        return 0, b""
    finally:
        connection.close()


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
