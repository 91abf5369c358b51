"""Delivers alerts from the process that has the files of secrets and may connect to other machines.

The process of the engine, which answers strangers' queries, can only name a target of the rules and say what to send.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrospan.ingest.alerts.attempt import ATTEMPT_SECONDS, BODY_BYTES, Attempt, Deadline, Message
from retrospan.ingest.alerts.program import execute
from retrospan.ingest.alerts.rules import AlertRules, Program
from retrospan.ingest.alerts.webhook import post


class Deliverer:
    """Safe to use from several threads."""

    def __init__(self, rules: AlertRules, seconds: float = ATTEMPT_SECONDS) -> None:
        self._targets = rules.targets or {}
        self._seconds = seconds

    def deliver(self, target: str, message: Message) -> Attempt:
        """Make one attempt."""
        found = self._targets.get(target)
        if found is None:
            return Attempt(
                "given_up", f"there is no target {target[:64]!r} in the rules this collector started with"
            )
        if len(message.body) > BODY_BYTES:
            return Attempt("given_up", f"{len(message.body):,} bytes, and {BODY_BYTES:,} are the most")
        deadline = Deadline(self._seconds)
        if isinstance(found, Program):
            return execute(found, message, deadline)
        return post(found, message, deadline)

    def answer(self, asked: Mapping[str, Any]) -> dict[str, object]:
        """Make one attempt for the other process."""
        message = Message(str(asked["alert_id"]), int(asked["attempt"]), str(asked["body"]).encode())
        attempt = self.deliver(str(asked["target"]), message)
        return {"outcome": attempt.outcome, "reason": attempt.reason}
