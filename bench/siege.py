"""`python -m bench.siege`: what acknowledging is worth while everything else is attacked.

For two minutes eight exporters send, and meanwhile queries run away, 256 slow sockets sit on every port, and the process
of the warehouse is killed with SIGKILL twenty times. Then everything settles and is compared, span by span, with what
was acknowledged.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from retrospan.torture.exporters import Exporter
from retrospan.torture.session import EXPORTERS, Verdict, compare
from retrospan.torture.victim import Victim

RUNAWAY = "SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number, {n}) = 1"
RUNAWAYS = 4
LIVE_EVERY, ASK_EVERY = 0.2, 0.05
IDLE_SECONDS = 300.0
_BEGINNINGS = {
    "grpc": b"PRI * HTTP/2.0\r\n\r\nSM",
    "http": b"POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le",
    "sql": b"GET /?query=SELECT+1 HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
}


@dataclass(slots=True)
class Outcome:
    """What a siege found. Seconds; `broken` names what did not hold."""

    kills: int = 0
    requests: int = 0
    ack_median: float = 0.0
    ack_p99: float = 0.0
    ack_slowest: float = 0.0
    live_slowest: float = 0.0
    live_failures: int = 0
    answered_again: list[float] = field(default_factory=list)
    acknowledged: int = 0
    stored: int = 0
    receiving_peak_bytes: int = 0
    broken: list[str] = field(default_factory=list)


class Siege:
    """One siege of one collector, in an empty directory."""

    def __init__(self, directory: Path, *, seconds: float, kills: int, sockets: int, seed: int = 1) -> None:
        self.outcome = Outcome()
        self._directory = directory
        self._seconds = seconds
        self._kills = kills
        self._sockets = sockets
        self._ending = threading.Event()
        self._victim = Victim(directory / "data", directory / "collector.log")
        self._exporters = [
            Exporter(number, seed, "http" if number % 2 else "grpc", lambda: self._victim.addresses,
                     directory / f"exporter-{number}.jsonl")
            for number in range(EXPORTERS)
        ]  # fmt: skip

    def run(self) -> Outcome:
        """Besiege, let everything settle, compare. Leaves no process behind."""
        try:
            if not self._victim.wait_ready():
                self.outcome.broken.append("the collector did not start")
                return self.outcome
            threads = [
                threading.Thread(target=work, daemon=True)
                for work in [self._watch_live, *(self._run_away for _ in range(RUNAWAYS))]
            ]
            threads += [threading.Thread(target=self._sit, args=(port,), daemon=True) for port in _BEGINNINGS]
            for thread in threads:
                thread.start()
            for exporter in self._exporters:
                exporter.start()
            for number in range(self._kills):
                self._ending.wait(self._seconds / self._kills * (1 if number else 0.5))
                self._kill()
            self._ending.wait(self._seconds / self._kills * 0.5)
            self._ending.set()
            for thread in threads:
                thread.join()
            self._settle()
            if (code := self._victim.stop()) != 0:
                self.outcome.broken.append(f"the collector ended with exit code {code}")
        finally:
            self._ending.set()
            for exporter in self._exporters:
                exporter.abandon()
            self._victim.kill()
        return self.outcome

    def _kill(self) -> None:
        """End the process of the warehouse; note how long until a question is answered again."""
        pid = warehouse_of(self._victim.pid)
        if pid:
            os.kill(pid, signal.SIGKILL)
            self.outcome.kills += 1
        began = time.monotonic()
        while not self._ending.is_set() and time.monotonic() < began + 60:
            if (
                warehouse_of(self._victim.pid) not in (0, pid)
                and self._get("sql", "/?query=SELECT+1", 5) == 200
            ):
                break
            time.sleep(ASK_EVERY)
        self.outcome.answered_again.append(time.monotonic() - began)

    def _watch_live(self) -> None:
        outcome = self.outcome
        while not self._ending.wait(LIVE_EVERY):
            began = time.monotonic()
            status = self._get("http", "/health/live", 30)
            outcome.live_slowest = max(outcome.live_slowest, time.monotonic() - began)
            outcome.live_failures += status != 200

    def _run_away(self) -> None:
        for number in itertools.count():
            if self._ending.is_set():
                return
            query = RUNAWAY.format(n=number)
            self._get("sql", "/?" + urllib.parse.urlencode({"query": query}), 3)
            self._ending.wait(0.2)

    def _sit(self, port: str) -> None:
        """Hold slow sockets on a port: each says the beginning of a request, and later one byte now and then."""
        held: list[socket.socket] = []
        while not self._ending.wait(0.5):
            for sitting in list(held):
                try:
                    sitting.send(b"x")
                except BlockingIOError:
                    continue
                except OSError:
                    sitting.close()
                    held.remove(sitting)
            while len(held) < self._sockets and not self._ending.is_set():
                try:
                    sitting = socket.create_connection(self._victim.address(port), timeout=2)
                    sitting.send(_BEGINNINGS[port])
                    sitting.setblocking(False)
                except OSError:
                    break
                held.append(sitting)
        for sitting in held:
            sitting.close()

    def _get(self, port: str, path: str, timeout: float) -> int:
        connection = http.client.HTTPConnection(*self._victim.address(port), timeout=timeout)
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            reply.read()
            return reply.status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def _settle(self) -> None:
        outcome = self.outcome
        for exporter in self._exporters:
            exporter.finish()
        if not all(exporter.join(60.0) for exporter in self._exporters):
            outcome.broken.append("requests were not answered within 60 s")
        waits = sorted(seconds for each in self._exporters for seconds in each.account.seconds)
        if not waits:
            outcome.broken.append("nothing was acknowledged")
            return
        outcome.requests = len(waits)
        outcome.ack_median, outcome.ack_slowest = waits[len(waits) // 2], waits[-1]
        outcome.ack_p99 = waits[min(len(waits) - 1, int(len(waits) * 0.99))]
        outcome.receiving_peak_bytes = peak_bytes(self._victim.pid)
        deadline = time.monotonic() + IDLE_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, ValueError, KeyError):
                health = self._victim.health()
                if not health["load_lag_records"] and not health["interpretation_lag_traces"]:
                    break
            time.sleep(0.2)
        else:
            outcome.broken.append("what was accepted is not loaded and interpreted")
            return
        verdict = Verdict(0)
        compare([each.account for each in self._exporters], self._victim.rows, verdict)
        outcome.acknowledged, outcome.stored = verdict.acknowledged, verdict.stored
        outcome.broken += verdict.broken


def warehouse_of(pid: int) -> int:
    """The process of the warehouse of a collector; 0 while there is none."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in children.read_text().split():
                if b"warehouse_process" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
    return 0


def peak_bytes(pid: int) -> int:
    """The most memory that a process ever held."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0


def main(words: list[str] | None = None, say: Callable[[str], object] = print) -> int:
    """Besiege once and print the outcome as JSON; 1 when something did not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--sockets", type=int, default=256)
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="retrospan-siege-") as directory:
        siege = Siege(Path(directory), seconds=asked.seconds, kills=asked.kills, sockets=asked.sockets)
        outcome = siege.run()
    say(json.dumps(asdict(outcome), indent=2))
    return 1 if outcome.broken else 0


if __name__ == "__main__":
    sys.exit(main())
