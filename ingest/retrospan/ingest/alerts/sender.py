"""Delivers alerts to their targets, trying again until they are delivered or given up.

Each attempt is recorded before it begins. If the process dies, the next one finds the attempts that never ended: their
targets may have received the alert, and get it again under the same id, with a higher attempt number.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from retrospan.ingest.alerts.attempt import Attempt, Message
from retrospan.ingest.alerts.book import AlertBook, Decision, Pending
from retrospan.ingest.alerts.payload import payload
from retrospan.ingest.alerts.question import SAMPLE_ROWS
from retrospan.ingest.alerts.rules import AlertRule
from retrospan.ingest.service import Service
from retrospan.ingest.status.counting import AlertCounters
from retrospan.schemas.errors import RetrospanError

_LOG = logging.getLogger("retrospan.alerts")
_NEVER = 2**63
Deliver = Callable[[str, Message], Attempt]
Sampled = Callable[[AlertRule, int, int], list[list[object]]]
LOOK_SECONDS = 1.0
FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS = 2.0, 300.0
#: With the pauses doubling, the last attempt is an hour after the first.
MOST_ATTEMPTS = 18
#: What is older is history: it is given up, with that reason.
LATEST_SECONDS = 6 * 3600.0
#: As far back the table is looked at for what is still to be told. Its rows are kept for 90 days.
_LOOK_BACK_SECONDS = 80 * 86_400.0


class Sender(Service):
    """One pass makes the attempts that are due."""

    thread_name = "retrospan-alert-sender"
    work = "telling of alerts"

    def __init__(
        self,
        rules: tuple[AlertRule, ...],
        book: AlertBook,
        counters: AlertCounters,
        deliver: Deliver,
        sampled: Sampled,
        *,
        is_mine: Callable[[], bool],
        clock: Callable[[], int],
        first_pause: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        """`clock` gives Unix milliseconds."""
        super().__init__(LOOK_SECONDS)
        self._rules = {rule.name: rule for rule in rules}
        self._book = book
        self._counters = counters
        self._deliver = deliver
        self._sampled = sampled
        self._is_mine = is_mine
        self._clock = clock
        self._first_pause = first_pause
        self._known_decisions = -1
        self._due_at = self._looked_at = 0
        self.complaints: dict[str, str] = {}
        """Why the last attempt failed, by target, as long as none went well since."""

    def run_once(self) -> None:
        """Tell whom it is time to tell."""
        if not self._is_mine():
            self.complaints = {}
            self._known_decisions = -1
            return
        # What is in the table changes by this process alone: while nothing is due, it is not asked.
        # A clock that was set back is asked anew: what was due by the old one may wait for hours.
        now = self._clock()
        if self._looked_at <= now < self._due_at and self._known_decisions == self._counters.decisions:
            return
        self._looked_at = now
        decisions = self._counters.decisions
        pending = self._book.pending(self._clock() - round(_LOOK_BACK_SECONDS * 1000))
        self._counters.pending = len(pending)
        deaf: set[str] = set()
        for each in pending:
            if self.is_stopping:
                return
            # One that does not hear holds up the others once in a pass, not with each of its alerts.
            if each.target not in deaf and self._clock() >= self._due(each) and not self._tell(each):
                deaf.add(each.target)
        left = self._book.pending(self._clock() - round(_LOOK_BACK_SECONDS * 1000)) if pending else []
        self._counters.pending, self._known_decisions = len(left), decisions
        self._due_at = min((self._due(each) for each in left), default=_NEVER)

    def _due(self, pending: Pending) -> int:
        if not pending.begun or pending.tried_at > self._clock():
            return 0
        return pending.tried_at + round(1000 * self.pause_after(pending.begun))

    def pause_after(self, attempts: int) -> float:
        """Return the seconds to wait after so many attempts."""
        return float(min(self._first_pause * 2 ** min(attempts - 1, 30), LAST_PAUSE_SECONDS))

    def _tell(self, pending: Pending) -> bool:
        """Make one attempt, or give up. Returns whether the target may be told more."""
        rule = self._rules.get(pending.rule)
        if rule is None or pending.target not in rule.to:
            self._end(pending, Attempt("given_up", "the rules no longer say to tell this target"))
            return True
        hours = (self._clock() - pending.at) / 3_600_000
        if hours * 3600 > LATEST_SECONDS:
            self._end(
                pending,
                Attempt("given_up", f"it is {hours:.0f} hours old, for want of a collector or target"),
            )
            return True
        decision, number = pending.decision, pending.begun + 1
        body = self.body(rule, decision, number)
        self._book.note(decision, pending.target, "begun")
        self._counters.attempts += 1
        try:
            attempt = self._deliver(pending.target, Message(decision.alert_id, number, body))
        except RetrospanError as error:
            attempt = Attempt("refused", str(error)[:300])
        if attempt.outcome == "refused" and number >= MOST_ATTEMPTS:
            attempt = Attempt("given_up", f"after {number} attempts: {attempt.reason}")
        self._end(pending, attempt)
        return attempt.outcome == "sent"

    def body(self, rule: AlertRule, decision: Decision, attempt: int = 1, *, test: bool = False) -> bytes:
        """Return what is sent, with the rows as they are now: what was deleted meanwhile is not told."""
        rows: list[list[object]] = []
        missing = ""
        try:
            rows = self._sampled(rule, decision.since, decision.until)
        except RetrospanError as error:
            # That it happened is to be told even so.
            missing = " ".join(str(error).split())[:300]
        else:
            wanted = min(decision.matched, SAMPLE_ROWS)
            if len(rows) < wanted:
                missing = (
                    f"{len(rows)} of the {wanted} newest rows that matched when it was decided are left: "
                    "what is gone was deleted since, or read again"
                )
        return payload(rule, decision, rows, attempt=attempt, test=test, missing=missing)

    def _end(self, pending: Pending, attempt: Attempt) -> None:
        self._book.note(pending.decision, pending.target, attempt.outcome, attempt.reason)
        if attempt.outcome == "sent":
            self._counters.sent += 1
            self.complaints.pop(pending.target, None)
            return
        self._counters.refusals += attempt.outcome == "refused"
        self._counters.given_up += attempt.outcome == "given_up"
        self.complaints[pending.target] = attempt.reason
        _LOG.warning(
            "the alert %s of the rule %s did not reach %s (%s): %s",
            *(pending.alert_id, pending.rule, pending.target, attempt.outcome, attempt.reason),
        )
