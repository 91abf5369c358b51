"""A real collector: `retrospan serve` in a process of its own, on free ports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import grpc
import pytest

_METHODS = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}


class Served:
    """A running `retrospan serve`. Ports are free ones; `data` survives restarts; `flags` are further ones."""

    prefix: Sequence[str] = ()
    """Words before the command, for a process that starts it otherwise."""

    def __init__(self, data: Path, log: Path, *flags: str) -> None:
        self.data = data
        self._log = log
        self._flags = flags
        self.start()

    def start(self) -> None:
        """Start the collector and wait for its ready line."""
        environ = {
            key: value for key, value in os.environ.items() if not key.startswith(("RETROSPAN_", "OTEL_"))
        }
        environ["PYTHONFAULTHANDLER"] = "1"  # one that does not end says where it is when it is aborted
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *self.prefix,
                    *(sys.executable, "-m", "retrospan.ingest.cli.main", "serve", "--data", str(self.data)),
                    *("--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--sql", "127.0.0.1:0"),
                    *self._flags,
                ],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environ,
            )
        assert self.process.stdout is not None
        ready = self.process.stdout.readline()
        if not ready.startswith("ready "):
            self.kill()
            raise AssertionError(f"the collector did not start: {ready!r}\n{self.stderr()}")
        ports = dict(word.split("=", 1) for word in ready.split()[1:])
        # A process that only interprets has neither of the first two.
        self.grpc, self.http, self.sql = ports.get("grpc", ""), ports.get("http", ""), ports["sql"]
        self.jaeger = ports.get("jaeger", "")

    def stderr(self) -> str:
        return self._log.read_text(errors="replace")

    def kill(self) -> None:
        """SIGKILL. Harmless when it has ended."""
        self.process.kill()
        self.process.wait()
        self._close()

    def stop(self) -> int:
        """SIGTERM; return the exit code.

        Raises:
            AssertionError: it does not end; the message has the stacks of its threads.
        """
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=180)  # it drains, and ends what it is at
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)
            self.process.wait(timeout=30)
            self._close()
            raise AssertionError(f"the collector did not end: {self.stderr()[-20_000:]}") from None
        self._close()
        return code

    def _close(self) -> None:
        if self.process.stdout is not None:
            self.process.stdout.close()

    def rows(self, query: str, **parameters: str | int) -> list[dict[str, Any]]:
        """Ask the SQL port; one dict per row."""
        words = {
            "default_format": "JSONEachRow",
            **{f"param_{name}": value for name, value in parameters.items()},
        }
        request = urllib.request.Request(
            f"http://{self.sql}/?{urllib.parse.urlencode(words)}", query.encode(), method="POST"
        )
        with urllib.request.urlopen(request, timeout=60) as reply:
            return [json.loads(line) for line in reply.read().decode().split("\n") if line]

    def health(self) -> dict[str, Any]:
        """Return what /health says, whatever its status code."""
        try:
            with urllib.request.urlopen(f"http://{self.sql}/health", timeout=30) as reply:
                return cast("dict[str, Any]", json.loads(reply.read()))
        except urllib.error.HTTPError as error:
            with error:
                return cast("dict[str, Any]", json.loads(error.read()))

    def post(self, path: str, body: bytes, content_type: str) -> bytes:
        """Post to the OTLP/HTTP port; urllib's HTTPError for anything but success."""
        request = urllib.request.Request(
            f"http://{self.http}{path}", body, {"Content-Type": content_type}, method="POST"
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            return cast(bytes, reply.read())

    def send(self, traces: Sequence[bytes] = (), logs: Sequence[bytes] = ()) -> None:
        """Send export requests over gRPC, each acknowledged before the next."""
        with grpc.insecure_channel(self.grpc) as channel:
            for signal_name, bodies in (("traces", traces), ("logs", logs)):
                export = channel.unary_unary(_METHODS[signal_name])
                for body in bodies:
                    export(body, timeout=30)

    def until(self, holds: Callable[[], bool], seconds: float = 300.0) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, (
                f"did not come to hold in {seconds} s\n{self.stderr()[-2000:]}"
            )
            time.sleep(0.05)

    def wait_idle(self) -> None:
        """Wait until everything acknowledged is loaded and interpreted: however long, while it gets on."""
        left, moved = (0, 0), time.monotonic()
        while any(now := self._left()):
            if now != left:
                left, moved = now, time.monotonic()
            assert time.monotonic() < moved + 600.0, (
                f"stands still before {left[0]} records and {left[1]} traces\n{self.stderr()[-2000:]}"
            )
            time.sleep(0.1)  # what is asked for costs the collector some milliseconds itself

    def _left(self) -> tuple[int, int]:
        health = self.health()
        return health.get("load_lag_records", 0), health["interpretation_lag_traces"]

    def run(self, *words: str, code: int = 0) -> str:
        """Run a question command against this collector; return its standard output."""
        done = subprocess.run(
            [sys.executable, "-m", "retrospan.ingest.cli.main", *words],
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "RETROSPAN_URL": f"http://{self.sql}"},
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A collector on an empty directory; stopped afterwards if it still runs."""
    collector = Served(tmp_path / "data", tmp_path / "stderr.txt")
    yield collector
    collector.kill()


@pytest.fixture(scope="module")
def module_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One for the tests of a file that read only what they sent, each under names of its own."""
    folder = tmp_path_factory.mktemp("served")
    collector = Served(folder / "data", folder / "stderr.txt")
    yield collector
    collector.kill()
