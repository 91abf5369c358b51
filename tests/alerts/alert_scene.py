"""One process's alerts over a real engine, under a clock that only goes when it is told to."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from retrospan.ingest.alerts.attempt import Attempt, Message
from retrospan.ingest.alerts.book import AlertBook
from retrospan.ingest.alerts.evaluator import Evaluator
from retrospan.ingest.alerts.reader import AlertReader
from retrospan.ingest.alerts.rules import AlertRule, read_rules
from retrospan.ingest.alerts.sender import Sender
from retrospan.ingest.settings.config import AlertSettings, Limits
from retrospan.ingest.status.counting import AlertCounters
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse

SETTINGS = AlertSettings(query_seconds=2.0, query_memory_bytes=64 << 20)
HEAD = """
[[target]]
name = "one"
command = ["/bin/true"]
[[target]]
name = "two"
command = ["/bin/true"]
"""
TARGET = """
[[target]]
name = "{name}"
command = ["/bin/true"]
"""
RULE = """
[[rule]]
name = "{name}"
view = "rejects"
condition = "{condition}"
window = "1h"
cooldown = "10m"
show = ["reason", "sample", "spans"]
to = {to}
"""
TRUE, FALSE = "count() >= 0", "count() > 1000"


def rule(condition: str = TRUE, name: str = "r", to: tuple[str, ...] = ("one",)) -> AlertRule:
    more = [TARGET.format(name=target) for target in to if target not in ("one", "two")]
    text = "".join([HEAD, *more]) + RULE.format(name=name, condition=condition, to=json.dumps(list(to)))
    return read_rules(text, "alerts.toml").rules[0]


@dataclass
class Scene:
    """One process's alerts, over an engine that outlives it. Its clock only goes when it is told to."""

    warehouse: EmbeddedWarehouse
    now: int = field(default_factory=lambda: time.time_ns() // 10**6)
    answers: dict[str, Attempt] = field(default_factory=dict)
    told: list[tuple[str, Message]] = field(default_factory=list)
    mine: bool = True
    on_deliver: Callable[[], None] = lambda: None

    def start(self, *rules: AlertRule) -> None:
        """As a process that begins: nothing is remembered but what is in the engine."""
        self.counters = AlertCounters()
        self.book = AlertBook(self.warehouse, lambda: self.now)
        reader = AlertReader(self.warehouse, Limits(), SETTINGS, lambda tenant: self.warehouse.connect())
        self.evaluator = Evaluator(
            rules,
            reader,
            self.book,
            self.counters,
            every_seconds=60,
            is_mine=lambda: self.mine,
            clock=lambda: self.now,
        )
        self.sender = Sender(
            rules,
            self.book,
            self.counters,
            self.deliver,
            self.evaluator.sampled,
            is_mine=lambda: self.mine,
            clock=lambda: self.now,
        )

    def deliver(self, target: str, message: Message) -> Attempt:
        self.told.append((target, message))
        self.on_deliver()
        return self.answers.get(target, Attempt("sent"))

    def run(self) -> list[tuple[str, int]]:
        """One pass of both; whom it told, and the number of the attempt."""
        before = len(self.told)
        self.evaluator.run_once()
        self.sender.run_once()
        return [(target, message.attempt) for target, message in self.told[before:]]

    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.told[-1][1].body)
        return found

    def reject(self, reason: str) -> None:
        """Put a row of three rejected spans into the view, ten seconds ago."""
        row = {
            "tenant": "default",
            "sequence": 1,
            "arrived_at": f"{self.now / 1000:.3f}",
            "signal": "traces",
            "spans": 3,
            "reason": reason,
        }
        store = self.warehouse.connect()
        store.insert("INSERT INTO raw_rejects", json.dumps(row).encode(), "JSONEachRow")
        store.close()
        self.wait(10)

    def wait(self, seconds: float) -> None:
        self.now += round(seconds * 1000)
