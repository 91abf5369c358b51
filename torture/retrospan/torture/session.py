"""A torture: exporters send without pause, the collector is killed again and again, and at the end all is compared.

What must hold, whatever the moments of the kills:

- every acknowledged span is in the view `spans`, with its content;
- no view holds a row twice;
- nothing is stored that was not sent, and nothing that was rejected or refused;
- sent = stored + rejected + refused, and each rejected or refused request is found in the view `rejects`.

Every second kill is at a point of `failpoints`, one after the other; the others are at random moments.
"""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from retrospan.torture.exporters import Account, Addresses, Exporter
from retrospan.torture.failpoints import FAILPOINTS
from retrospan.torture.victim import Victim

EXPORTERS = 8
_SETTLE_SECONDS = 120.0
#: So long nothing may be loaded and nothing interpreted while there is something to do: how fast it goes is the
#: machine's.
_STUCK_SECONDS = 300.0
#: A kill comes within these many seconds: of the start for some, of being ready for the others.
_DURING_START_SHARE, _DURING_START_SECONDS, _AFTER_READY_SECONDS = 0.2, 1.5, 2.5
#: How long a point is waited for, and at which time that it is reached the kill comes.
_POINT_SECONDS, _MOST_TIMES = 30.0, 4
_UNIQUE = {
    "spans": "trace_id, span_id",
    "runs": "run_id",
    "steps": "run_id, step",
    "model_calls": "run_id, ordinal",
    "tool_calls": "run_id, ordinal",
}

Say = Callable[[str], None]


@dataclass(slots=True)
class Verdict:
    """What a torture run did and found. `broken` lists the broken promises; empty if all held."""

    seed: int
    kills: int = 0
    kills_during_start: int = 0
    points: list[str] = field(default_factory=list)
    """The points of `failpoints` at which it was killed, in order."""
    sent: int = 0
    acknowledged: int = 0
    stored: int = 0
    rejected: int = 0
    refused: int = 0
    repeated: int = 0
    archived_segments: int = 0
    broken: list[str] = field(default_factory=list)


class Torture:
    """One session in one directory, which must not hold anything yet."""

    def __init__(self, directory: Path, seed: int, seconds: float, say: Say, *, least_kills: int = 0) -> None:
        """Kill for so many seconds, and at least so many times. `log_event` gets a line now and then."""
        self.verdict = Verdict(seed)
        self._directory = directory
        self._data = directory / "data"
        self._log = directory / "collector.log"
        self._seconds = seconds
        self._least_kills = least_kills
        self._say = say
        self._chance = random.Random(f"kills {seed}")
        self._addresses: Addresses | None = None
        self._victim: Victim | None = None
        self._pause = threading.Event()
        # An interrupt comes to the main thread: never between the start of a process and the note of it.
        self._starter = ThreadPoolExecutor(1, "torture-starter")
        # Its thread is there from now on: interrupted while it is made, it would not be waited for.
        self._starter.submit(int).result()
        self._exporters = [
            Exporter(
                number, seed, "http" if number % 2 else "grpc", lambda: self._addresses,
                directory / f"exporter-{number}.jsonl",
            )
            for number in range(EXPORTERS)
        ]  # fmt: skip

    def run(self) -> Verdict:
        """Torture for the given time, then let everything settle and compare. Leaves no process behind."""
        try:
            for exporter in self._exporters:
                exporter.start()
            self._kill_until(time.monotonic() + self._seconds)
            victim = self._start()
            if victim is not None:
                self._settle(victim)
                code = victim.stop()
                if code != 0:
                    self.verdict.broken.append(f"the collector ended with exit code {code} on SIGTERM")
        finally:
            for exporter in self._exporters:
                exporter.abandon()
            self._starter.shutdown()
            if self._victim is not None:
                self._victim.kill()
            for exporter in self._exporters:
                exporter.join(10.0)
        return self.verdict

    def _kill_until(self, deadline: float) -> None:
        verdict = self.verdict
        points = cycle(FAILPOINTS)
        while (time.monotonic() < deadline or verdict.kills < self._least_kills) and not verdict.broken:
            if verdict.kills % 2 == 0:
                what = self._kill_at(next(points))
            elif self._chance.random() < _DURING_START_SHARE:
                moment = self._chance.uniform(0.0, _DURING_START_SECONDS)
                self._new_victim()
                self._pause.wait(moment)
                what = f"{moment:.2f} s after it was started"
                verdict.kills_during_start += 1
            else:
                moment = self._chance.uniform(0.0, _AFTER_READY_SECONDS)
                if self._start() is None:
                    return
                self._pause.wait(moment)
                what = f"{moment:.2f} s after it was ready"
            assert self._victim is not None
            self._victim.kill()
            self._addresses = None
            verdict.kills += 1
            acknowledged = sum(len(each.account.acknowledged) for each in self._exporters)
            self._say(f"kill {verdict.kills:>4}  {what:<32} {acknowledged:>10,} spans acknowledged")

    def _kill_at(self, point: str) -> str:
        """Let a collector kill itself at a point; return where it ended."""
        # What is written at a start is written once.
        times = 1 if point.startswith("summary") else self._chance.randint(1, _MOST_TIMES)
        victim = self._new_victim((point, times))
        deadline = time.monotonic() + _POINT_SECONDS
        while (code := victim.wait_ended(0.05)) is None and time.monotonic() < deadline:
            self._addresses = victim.addresses
        if code is None:
            return f"in vain for '{point}'"
        if code != -signal.SIGKILL:
            self.verdict.broken.append(f"the collector ended by itself with {code}, see {self._log}")
        self.verdict.points.append(point)
        return f"at '{point}'"

    def _new_victim(self, point: tuple[str, int] | None = None) -> Victim:
        def start() -> Victim:
            self._victim = Victim(self._data, self._log, point)
            return self._victim

        return self._starter.submit(start).result()

    def _start(self) -> Victim | None:
        """Return a collector that answers; None, and a broken promise, when it does not start."""
        victim = self._new_victim()
        if not victim.wait_ready():
            self.verdict.broken.append(f"the collector no longer starts, see {self._log}")
            return None
        self._addresses = victim.addresses
        return victim

    def _settle(self, victim: Victim) -> None:
        """Let every request be settled and every record loaded and interpreted, then compare."""
        self._say("letting everything settle")
        for exporter in self._exporters:
            exporter.finish()
        deadline = time.monotonic() + _SETTLE_SECONDS
        if not all(each.join(max(0.1, deadline - time.monotonic())) for each in self._exporters):
            self.verdict.broken.append(f"requests were not answered within {_SETTLE_SECONDS:.0f} s")
            return
        left: tuple[object, object] = (0, 0)
        moved = time.monotonic()
        while (health := victim.health())["load_lag_records"] or health["interpretation_lag_traces"]:
            now = (health["load_lag_records"], health["interpretation_lag_traces"])
            if now != left:
                left, moved = now, time.monotonic()
            if victim.ended or time.monotonic() > moved + _STUCK_SECONDS:
                self.verdict.broken.append(f"what was accepted is not loaded: {health}")
                return
            self._pause.wait(0.2)
        self.verdict.archived_segments = len(list((self._data / "log" / "archive").glob("*.zst")))
        compare([each.account for each in self._exporters], victim.rows, self.verdict)


def compare(accounts: Sequence[Account], rows: Callable[[str], list[list[object]]], verdict: Verdict) -> None:
    """Compare the exporters' answers with the views, and write the result into the verdict."""
    acknowledged: dict[tuple[str, str], str] = {}
    hashes: set[str] = set()
    for account in accounts:
        acknowledged |= account.acknowledged
        hashes |= account.hashes
        verdict.sent += account.sent
        verdict.rejected += account.rejected
        verdict.refused += account.refused
        verdict.repeated += account.repeated
        verdict.broken += account.complaints[:5]
    stored = {
        (str(trace), str(span)): str(name)
        for trace, span, name in rows("SELECT trace_id, span_id, name FROM spans")
    }
    verdict.acknowledged, verdict.stored = len(acknowledged), len(stored)
    broken = verdict.broken
    missing = acknowledged.keys() - stored.keys()
    if missing:
        broken.append(f"{len(missing)} acknowledged spans are missing, such as {min(missing)}")
    changed = [key for key, name in acknowledged.items() if stored.get(key, name) != name]
    if changed:
        broken.append(f"{len(changed)} spans are stored with another content, such as {min(changed)}")
    invented = stored.keys() - acknowledged.keys()
    if invented:
        broken.append(f"{len(invented)} spans are stored that were not acknowledged, such as {min(invented)}")
    if verdict.sent != verdict.stored + verdict.rejected + verdict.refused:
        broken.append(
            f"sent {verdict.sent:,} is not stored {verdict.stored:,} + rejected {verdict.rejected:,} "
            f"+ refused {verdict.refused:,}"
        )
    for view, key in _UNIQUE.items():
        [[count, distinct]] = rows(f"SELECT count(), uniqExact({key}) FROM {view}")
        if count != distinct:
            broken.append(f"the view {view} has {count} rows for {distinct} keys ({key})")
    said = {str(row[0]) for row in rows("SELECT DISTINCT request_hash FROM rejects")}
    if not hashes <= said:
        broken.append(f"{len(hashes - said)} rejected or refused requests are not in the view rejects")
