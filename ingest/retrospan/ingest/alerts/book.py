"""The state of every alert (decided, being sent, delivered, given up) as durable rows that survive restarts and rebuilds.

They hold no text of any run, so that no text outlives its run: the rows that a payload shows are read again for each
attempt.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Literal, NamedTuple

from retrospan.ingest.alerts.sql import load
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.store import Parameters
from retrospan.schemas.typed_rows import typed_rows

Event = Literal["decided", "begun", "refused", "sent", "given_up"]
_LONGEST_REASON = 500
#: Alerts of each rule that are listed.
LISTED = 3


@dataclass(frozen=True, slots=True)
class Decision:
    """That somebody is to be told. Times are Unix milliseconds; the rows that match lie after `since`, up to `until`."""

    alert_id: str
    rule: str
    at: int
    since: int
    until: int
    matched: int


class Pending(NamedTuple):
    """A decision that one target has yet to hear of."""

    alert_id: str
    rule: str
    target: str
    at: int
    since: int
    until: int
    matched: int
    begun: int
    """Attempts that were begun, whatever became of them."""
    tried_at: int

    @property
    def decision(self) -> Decision:
        """What was decided."""
        return Decision(self.alert_id, self.rule, self.at, self.since, self.until, self.matched)


class Outcome(NamedTuple):
    """What became of telling one target."""

    rule: str
    alert_id: str
    target: str
    at: int
    matched: int
    attempts: int
    outcome: str
    ended_at: int
    reason: str


class AlertBook:
    """Reads and writes the table. Each method opens a connection of its own and raises as a Store does."""

    def __init__(self, warehouse: Warehouse, clock: Callable[[], int]) -> None:
        """`clock` gives Unix milliseconds."""
        self._warehouse = warehouse
        self._clock = clock

    def decide(self, rule: str, targets: tuple[str, ...], since: int, until: int, matched: int) -> Decision:
        """Note that these are to be told; in one insert, so that all of them are or none."""
        decision = Decision(secrets.token_hex(8), rule, self._clock(), since, until, matched)
        self._write(decision, targets, "decided", "", decision.at)
        return decision

    def note(self, decision: Decision, target: str, event: Event, reason: str = "") -> None:
        """Note what became of telling a target."""
        self._write(decision, (target,), event, reason, self._clock())

    def last_decisions(self, before: Mapping[str, int]) -> dict[str, int]:
        """Return when each of these rules was last decided to tell, before its time."""
        asked: Parameters = {"rules": [*before], "before": [*before.values()]}
        with closing(self._warehouse.connect()) as store:
            return dict(typed_rows(store, tuple[str, int], load("read_last_decisions"), asked))

    def pending(self, since: int) -> list[Pending]:
        """Return what was decided since a time and is still to be told, oldest first."""
        with closing(self._warehouse.connect()) as store:
            return typed_rows(store, Pending, load("read_pending"), {"since": since})

    def outcomes(self) -> list[Outcome]:
        """Return what became of the newest alerts of each rule."""
        with closing(self._warehouse.connect()) as store:
            return typed_rows(store, Outcome, load("read_outcomes"), {"rows": LISTED})

    def _write(
        self, decision: Decision, targets: tuple[str, ...], event: Event, reason: str, at: int
    ) -> None:
        told: dict[str, str | int | list[str]] = {
            "alert_id": decision.alert_id,
            "rule": decision.rule,
            "targets": list(targets),
            "event": event,
            "at": at,
            "since": decision.since,
            "until": decision.until,
            "matched": decision.matched,
            "reason": reason[:_LONGEST_REASON],
        }
        with closing(self._warehouse.connect()) as store:
            store.command(load("write_events"), told)
