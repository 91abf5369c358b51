"""The collector that is tortured: `retrospan serve` in a process of its own, on free ports."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.parse
from pathlib import Path
from typing import cast

from retrospan.torture.exporters import Addresses

_READY_SECONDS = 180.0
_STOP_SECONDS = 120.0
#: Small segments, so that rotation and archiving happen between kills; runs are read soon after they end.
_SETTINGS = {
    "RETROSPAN_LIMITS_SEGMENT_BYTES": str(128 << 10),
    "RETROSPAN_LIMITS_LOW_WATER_BYTES": str(64 << 20),
    "RETROSPAN_INTERPRETER_QUIET_SECONDS": "0.3",
}
#: Rotation and archiving must come soon after the start.
_SETTINGS_AT_A_POINT = {"RETROSPAN_LIMITS_SEGMENT_BYTES": str(32 << 10)}


class Victim:
    """One process. What it says on standard error is appended to `log`.

    With a `point` of `failpoints` it ends itself there, the given time that it gets there.
    """

    def __init__(self, data: Path, log: Path, point: tuple[str, int] | None = None) -> None:
        environ = {
            name: value for name, value in os.environ.items() if not name.startswith(("RETROSPAN_", "OTEL_"))
        }
        self.addresses: Addresses | None = None
        """Set once it is ready."""
        self._sql = ""
        self._ready = threading.Event()
        program, settings = ["retrospan.ingest.cli.main"], _SETTINGS
        if point is not None:
            program = ["retrospan.torture.failpoints", point[0], str(point[1])]
            settings = _SETTINGS | _SETTINGS_AT_A_POINT
        with log.open("ab") as errors:
            # A session of its own: Ctrl-C is for the torturer, who then ends it.
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", *program, "serve", "--data", str(data)),
                    *("--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--sql", "127.0.0.1:0"),
                ],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environ | settings,
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, name="torture-reader", daemon=True)
        self._reader.start()

    def wait_ready(self, timeout: float = _READY_SECONDS) -> bool:
        """Wait until it answers, or has ended; whether it answers."""
        self._ready.wait(timeout)
        return self.addresses is not None

    @property
    def pid(self) -> int:
        """The process that receives."""
        return self._process.pid

    def address(self, port: str) -> tuple[str, int]:
        """Return where `grpc`, `http` or `sql` listens, once it is ready."""
        assert self.addresses is not None
        where = {"grpc": self.addresses.grpc, "http": self.addresses.http, "sql": self._sql}[port]
        host, _, number = where.rpartition(":")
        return host, int(number)

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def wait_ended(self, timeout: float) -> int | None:
        """Wait until it has ended of itself; its exit code, or None when it has not."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """SIGKILL, and wait for the end. Harmless when repeated."""
        self._process.kill()
        self._close()

    def stop(self) -> int:
        """SIGTERM; returns the exit code. Killed when it does not end in time."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._close()
        return self._process.returncode

    @property
    def url(self) -> str:
        """Its SQL port, as RETROSPAN_URL takes it."""
        return f"http://{self._sql}"

    def rows(self, query: str) -> list[list[object]]:
        """Ask its SQL port."""
        path = "/?" + urllib.parse.urlencode({"default_format": "JSONCompactEachRow"})
        status, content = self._request("POST", path, query.encode())
        if status != 200:
            raise OSError(f"the collector answered {status}: {content[:300]!r}")
        return [cast("list[object]", json.loads(line)) for line in content.split(b"\n") if line]

    def health(self) -> dict[str, object]:
        return cast("dict[str, object]", json.loads(self._request("GET", "/health")[1]))

    def _request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self._sql, timeout=120)
        try:
            connection.request(method, path, body)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line.startswith("ready "):
            ports = dict(word.split("=", 1) for word in line.split()[1:])
            self._sql = ports["sql"]
            self.addresses = Addresses(ports["grpc"], ports["http"])
        self._ready.set()

    def _close(self) -> None:
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
