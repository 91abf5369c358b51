"""The processes of a measurement: started, asked, ended, and what the system says of them."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

TOP = Path(__file__).resolve().parent.parent
_TICKS = os.sysconf("SC_CLK_TCK")


class BenchError(Exception):
    """A measurement that did not come about; the message says at which process."""


@contextmanager
def child(*words: str, errors: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a Python module as a process of its own; it is gone when the block ends."""
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("RETROSPAN_", "OTEL_"))
    }
    with errors.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=TOP,
            env=environ,
        )
    with process:
        try:
            yield process
        finally:
            process.kill()


def pipe_of(pipe: IO[str] | None) -> IO[str]:
    """A pipe that was asked for."""
    assert pipe is not None
    return pipe


def first_line(process: subprocess.Popen[str], errors: Path) -> str:
    """Return the line a process prints when it is ready, without the word `ready`."""
    line = pipe_of(process.stdout).readline()
    if not line.startswith("ready"):
        raise BenchError(f"{process.args!r} did not get ready: {line!r}\n{_tail(errors)}")
    return line.removeprefix("ready").strip()


def answer(process: subprocess.Popen[str], errors: Path) -> dict[str, Any]:
    """Return the JSON object that a process prints before it ends well."""
    text = pipe_of(process.stdout).read()
    if process.wait() or not text:
        raise BenchError(f"{process.args!r} ended with {process.returncode}\n{_tail(errors)}")
    return cast("dict[str, Any]", json.loads(text))


def _tail(errors: Path) -> str:
    return errors.read_text(errors="replace")[-2000:]


class Served:
    """A real `retrospan serve` on an empty directory and free ports."""

    def __init__(self, data: Path, errors: Path, *options: str) -> None:
        self._context = child(
            *("retrospan.ingest.cli.main", "serve", "--data", str(data)),
            *("--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--sql", "127.0.0.1:0"),
            *options,
            errors=errors,
        )
        self._errors = errors

    def __enter__(self) -> Self:
        self.process = self._context.__enter__()
        words = first_line(self.process, self._errors).split()
        self.ports = dict(word.split("=", 1) for word in words)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._context.__exit__(kind, error, trace)

    def rows(self, query: str) -> list[list[Any]]:
        """Ask the SQL port."""
        words = urllib.parse.urlencode({"default_format": "JSONCompactEachRow"})
        request = urllib.request.Request(f"http://{self.ports['sql']}/?{words}", query.encode())
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return [json.loads(line) for line in reply.read().splitlines()]
        except urllib.error.HTTPError as error:
            with error:
                raise BenchError(f"{query}\n{error.read().decode()}") from error

    def number(self, query: str) -> int:
        """Ask for one number."""
        return int(self.rows(query)[0][0])

    def health(self) -> Mapping[str, Any]:
        """Return the health page, whatever its status."""
        try:
            with urllib.request.urlopen(f"http://{self.ports['sql']}/health", timeout=60) as reply:
                return cast("Mapping[str, Any]", json.loads(reply.read()))
        except urllib.error.HTTPError as error:
            with error:
                return cast("Mapping[str, Any]", json.loads(error.read()))

    def rebuild(self) -> float:
        """Derive everything again; return the seconds from the first word on interpreting to the end."""
        url = f"http://{self.ports['sql']}/admin/v1/rebuild"
        began = 0.0
        with urllib.request.urlopen(urllib.request.Request(url, b"{}"), timeout=600) as reply:
            for line in reply:
                said = json.loads(line)
                if "error" in said:
                    raise BenchError(f"rebuild: {said['error']}")
                if not began and said.get("phase") == "interpreting":
                    began = time.monotonic()
        return time.monotonic() - began

    def cpu_seconds(self) -> float:
        """CPU time of all its threads."""
        return _cpu_seconds_of(self.process.pid)


def free_port() -> int:
    """A port of this machine that nothing listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def family(pid: int) -> Iterator[int]:
    """A process and all below it that live."""
    yield pid
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = file.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from family(int(child))


def cpu_seconds_of_family(pid: int) -> float:
    """CPU time of a process and of all below it, those that ended included."""
    return sum(_cpu_seconds_of(each, with_ended=True) for each in family(pid))


def _cpu_seconds_of(pid: int, with_ended: bool = False) -> float:
    """Its own, and on demand that of the children that ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if with_ended else 13])) / _TICKS


def memory_of(pid: int, key: str) -> int:
    """A line of /proc/PID/status in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise BenchError(f"no {key} of process {pid}")


@dataclass(frozen=True, slots=True)
class Neighbours:
    """How much of the machine others use while we measure."""

    at: float
    busy: float
    own: float

    @classmethod
    def now(cls) -> Neighbours:
        """Note the clocks. Only children that have ended count as our own."""
        fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
        ticks = [int(field) for field in fields]
        busy = sum(ticks[:3]) + sum(ticks[5:8])
        usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(time.monotonic(), busy / _TICKS, sum(part.ru_utime + part.ru_stime for part in usage))

    def cores_since(self) -> float:
        """Cores that others kept busy since then, on average."""
        now = Neighbours.now()
        return max(0.0, (now.busy - self.busy) - (now.own - self.own)) / (now.at - self.at)
