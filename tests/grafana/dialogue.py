"""What the real driver of Grafana's data source says to the SQL port, byte by byte; recorded with Go, replayed without.

.venv/bin/python tests/grafana/dialogue.py     records it again: do so when a dashboard's query changes
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fix_collector import Served
from grafana.dashboards import expand, panels, variables

HERE = Path(__file__).parent
FILE = HERE / "dialogue.jsonl"
#: What the data source asks beside the panels: its health check, its editor, kinds of columns that panels lack.
OTHERS = {
    "health": "SELECT 1",
    "databases": "SHOW DATABASES",
    "tables": 'SHOW TABLES FROM "retrospan"',
    "columns": 'DESC TABLE "retrospan"."runs"',
    "columns of all": "SELECT name, type, table FROM system.columns WHERE database IN ('retrospan')",
    "functions": "SELECT name, is_aggregate FROM system.functions LIMIT 5",
    "values": "SELECT DISTINCT outcome FROM retrospan.runs LIMIT 1000 SETTINGS max_execution_time=10",
    "arrays": "SELECT run_id, dialects, trace_ids FROM retrospan.runs ORDER BY run_id",
    "many rows": "SELECT number, toString(number) AS text FROM numbers(70000)",
    "no rows": "SELECT run_id FROM retrospan.runs WHERE 0",
}


def questions() -> dict[str, str]:
    """Everything that is asked, by a name for it."""
    menus = {f"menu {board}: {name}": query for (board, name), query in variables().items()}
    return {**OTHERS, **menus, **{panel.name: expand(panel.sql) for panel in panels()}}


@dataclass
class Recorder:
    """Stands between the driver and the port, and keeps what the driver sends. One connection at a time speaks."""

    port: str
    requests: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(connection,), daemon=True).start()

    def _pass_on(self, connection: socket.socket) -> None:
        host, _, port = self.port.rpartition(":")
        with (
            connection,
            socket.create_connection((host, int(port))) as far,
            connection.makefile("rb") as asked,
            far.makefile("rb") as answered,
        ):
            while request := message(asked):
                self.requests.append(request)
                far.sendall(request)
                connection.sendall(message(answered))

    def close(self) -> None:
        self._listening.close()


def message(stream: Any) -> bytes:
    """One HTTP message with its body, as it came; empty at the end of the stream."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line:
            return b""
        head += line
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
    if fields.get(b"transfer-encoding") == b"chunked":
        body = b""
        while not body.endswith(b"0\r\n\r\n"):
            size = stream.readline()
            body += size + stream.read(int(size, 16) + 2)
        return head + body
    return head + bytes(stream.read(int(fields.get(b"content-length", b"0"))))


def driver() -> Path:
    """The program with the real driver, built once and kept in the cache.

    Raises:
        LookupError: Go, or a module, cannot be had.
    """
    source = b"".join((HERE / "driver" / name).read_bytes() for name in ("main.go", "go.mod", "go.sum"))
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "retrospan-tests"
    program = caches / f"grafana-driver-{hashlib.sha256(source).hexdigest()[:16]}"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        raise LookupError("go is not on this machine, so the driver of Grafana's data source cannot be built")
    caches.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=caches) as directory:
        built = Path(directory) / "driver"
        words = [go, "build", "-buildvcs=false", "-mod=readonly", "-o", str(built), "."]
        done = subprocess.run(
            words, cwd=HERE / "driver", capture_output=True, text=True, check=False, timeout=600
        )
        if done.returncode != 0:
            raise LookupError(f"the driver cannot be built here: {done.stderr[-400:]}")
        built.replace(program)
    return program


def drive(address: str, asked: Sequence[str]) -> list[Mapping[str, Any]]:
    """What the driver makes of the answers."""
    done = subprocess.run(
        [str(driver()), address],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found: list[Mapping[str, Any]] = json.loads(done.stdout)
    return found


def record(served: Served) -> None:
    """Write the dialogue over a collector that holds the demo's runs."""
    recorder = Recorder(served.sql)
    asked = questions()
    made = drive(recorder.address, list(asked.values()))
    recorder.close()
    lines = [{"name": "hello", "request": recorder.requests[0].decode()}]
    # The check of the connection comes twice: once by itself, once as the first question.
    opening = len(recorder.requests) - len(asked)
    for request in recorder.requests[1:opening]:
        lines.append({"name": "opening", "request": request.decode()})
    for (name, sql), request, answer in zip(asked.items(), recorder.requests[opening:], made, strict=True):
        assert "error" not in answer, (name, answer)
        lines.append({"name": name, "sql": sql, "request": request.decode(), **answer})
    for line in lines:
        line.pop("first", None)
    FILE.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")


def main() -> None:
    from grafana.conftest import play

    with tempfile.TemporaryDirectory() as directory:
        served = play(Path(directory))
        try:
            record(served)
        finally:
            served.kill()


if __name__ == "__main__":
    main()
