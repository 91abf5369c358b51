"""A watched collector under hostile statements: what was answered, what was touched, what changed."""

from __future__ import annotations

import http.client
import itertools
import os
import secrets
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from attacks import watching
from attacks.hostile import Attempt, Bait, attempt
from fix_collector import Served
from fix_recordings import load_recording

_CONFIG = "[limits]\nquery_seconds = 20.0\nquery_memory_bytes = 1073741824\n"
_DIED = (http.client.HTTPException, OSError)


class Besieged(Served):
    """A collector of its own environment, watched where strace is installed."""

    def __init__(self, place: Path, *, watched: bool) -> None:
        self.trace = place / "trace.txt" if watched else None
        self.home = place / "home"  # a new directory is made durable in the one above it
        self.home.mkdir()
        (place / "serve.toml").write_text(_CONFIG)
        (place / "secret.txt").write_text(secrets.token_hex(16))
        (place / "tokens.toml").write_text("nobody's\n")
        self.secret = (place / "secret.txt").read_text()
        (place / "zone.txt").write_text(self.secret)
        self.bait = Bait(
            *(str(place / name) for name in ("secret.txt", "stolen.txt", "tokens.toml", "zone.txt"))
        )
        self.prefix = watching.command(self.trace) if self.trace else []
        super().__init__(self.home / "data", place / "stderr.txt", "--config", str(place / "serve.toml"))

    @property
    def pid(self) -> int:
        """The collector itself, below what watches it."""
        if self.trace is None:
            return self.process.pid
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0])

    def kill(self) -> None:
        """SIGKILL. Harmless when it has ended."""
        if self.trace is not None and self.process.poll() is None:
            os.kill(self.pid, signal.SIGKILL)  # strace ends with it, and by itself would leave it running
        super().kill()

    def stop(self) -> int:
        """SIGTERM; return the exit code."""
        os.kill(self.pid, signal.SIGTERM)
        code = self.process.wait(timeout=180)
        self._close()
        return code

    def fill(self) -> None:
        """Have something to read."""
        for name in ("google-adk/normal", "google-adk/loop"):
            recording = load_recording(name)
            self.send(recording.traces, recording.logs)
        self.wait_idle()

    def unchanged(self) -> list[dict[str, str]]:
        """What a reader sees of the settings, but for the mark of its own query."""
        return self.rows(
            "SELECT name, value FROM system.settings WHERE changed AND name != 'log_comment' ORDER BY name"
        )

    @property
    def engine_pid(self) -> int:
        """The process of the warehouse."""
        children = Path(f"/proc/{self.pid}/task").glob("*/children")
        (engine,) = [
            int(child)
            for each in children
            for child in each.read_text().split()
            if b"warehouse_process" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
        return engine

    def environment(self) -> set[str]:
        """The names of the variables that the process of the warehouse was started with."""
        words = Path(f"/proc/{self.engine_pid}/environ").read_bytes().split(b"\0")
        return {word.partition(b"=")[0].decode() for word in words if word}

    def touched_outside(self) -> list[watching.Touched]:
        """What the engine's process and its children had of places that are on no list, and what they tried to have
        of the bait. Call it after the end."""
        if self.trace is None:
            return []
        with self.trace.open(errors="replace") as lines:
            found = set(
                watching.touched(watching.of_program(list(lines), "retrospan.ingest.warehouse_process"))
            )
        baits = (self.bait.secret, self.bait.target, self.bait.tokens)
        beyond = watching.outside(found, self.data)
        return [each for each in beyond if each.done or each.path in baits]


@dataclass
class Tally:
    """What became of the statements."""

    statuses: Counter[int] = field(default_factory=Counter[int])
    leaked: list[Attempt] = field(default_factory=list[Attempt])
    unanswered: list[Attempt] = field(default_factory=list[Attempt])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, asked: Attempt, status: int, leaked: bool) -> None:
        with self._lock:
            self.statuses[status] += 1
            if leaked:
                self.leaked.append(asked)
            if not status:
                self.unanswered.append(asked)


def besiege(collector: Besieged, numbers: Sequence[int], threads: int = 6) -> Tally:
    """Send the statements of these numbers over connections that are kept, and judge every answer."""
    tally, waiting = Tally(), itertools.count()

    def send() -> None:
        connection = http.client.HTTPConnection(collector.sql, timeout=60)
        while (at := next(waiting)) < len(numbers):
            asked = attempt(numbers[at], collector.bait)
            try:
                status, answer = ask(connection, asked)
            except _DIED:
                connection.close()
                status, answer = 0, b""
            tally.add(asked, status, collector.secret.encode() in answer or b"root:x:0:" in answer)
        connection.close()

    workers = [threading.Thread(target=send) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return tally


def ask(connection: http.client.HTTPConnection, asked: Attempt) -> tuple[int, bytes]:
    """Return the status and the answer. Raises what http.client does, where there is none.

    The port closes a kept connection on which nothing was asked for ten seconds, as when this process gets no
    processor for so long. The statement is then sent again, on a new one, as every client does.
    """
    kept = connection.sock is not None
    try:
        return _answer(connection, asked)
    except ConnectionError:
        connection.close()
        if not kept:
            raise
    return _answer(connection, asked)


def _answer(connection: http.client.HTTPConnection, asked: Attempt) -> tuple[int, bytes]:
    words = {**asked.words, **({"query": asked.text} if asked.in_address else {})}
    target = "/?" + urlencode(words, errors="surrogateescape")
    if len(target) > 8000:
        words.pop("query", None)
        target = "/?" + urlencode(words, errors="surrogateescape")
    body = b"" if "query" in words else asked.text.encode("utf-8", "surrogateescape")
    connection.request("POST", target, body)
    with connection.getresponse() as reply:
        try:
            return reply.status, reply.read()
        except http.client.IncompleteRead as broken:
            # An answer without end (generateRandom) runs into a limit: it says so last, and breaks off on purpose.
            if b"__exception__" not in broken.partial[-4096:]:
                raise
            connection.close()
            return reply.status, broken.partial


def can_watch() -> bool:
    return shutil.which("strace") is not None
