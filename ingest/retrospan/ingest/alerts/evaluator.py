"""Evaluates every rule at intervals, and notes durably who is to be told. Who tells them is the sender.

On a server several processes have the rules; the one that holds the first part of the runs evaluates them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from retrospan.ingest.alerts.book import AlertBook
from retrospan.ingest.alerts.question import evaluation, samples
from retrospan.ingest.alerts.reader import AlertReader
from retrospan.ingest.alerts.rules import AlertRule
from retrospan.ingest.service import Service
from retrospan.ingest.status.counting import AlertCounters
from retrospan.schemas.errors import RetrospanError

_LOG = logging.getLogger("retrospan.alerts")


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What a rule came to. `fires` is None when it is not known, and `failure` says why; times in Unix milliseconds."""

    at: int
    since: int
    matched: int = 0
    fires: bool | None = None
    failure: str = ""


class Evaluator(Service):
    """One pass evaluates all rules. A rule that fails holds up no other."""

    thread_name = "retrospan-alerts"
    work = "evaluating alert rules"

    def __init__(
        self,
        rules: tuple[AlertRule, ...],
        reader: AlertReader,
        book: AlertBook,
        counters: AlertCounters,
        *,
        every_seconds: float,
        is_mine: Callable[[], bool],
        clock: Callable[[], int],
    ) -> None:
        """`is_mine` says whether this process is the one that evaluates; `clock` gives Unix milliseconds."""
        super().__init__(every_seconds)
        self._rules = rules
        self._reader = reader
        self._book = book
        self._counters = counters
        self._is_mine = is_mine
        self._clock = clock
        self.last: dict[str, Evaluated] = {}
        """What each rule came to last, by its name."""

    def run_once(self) -> None:
        """Evaluate what is this process's, and note what is to be told."""
        if not self._is_mine():
            self.last = {}
            return
        fired: list[tuple[AlertRule, Evaluated]] = []
        for rule in self._rules:
            if self.is_stopping:
                return
            evaluated = self._counted(rule)
            self.last[rule.name] = evaluated
            if evaluated.fires:
                fired.append((rule, evaluated))
        if fired:
            self._decide(fired)

    def evaluate(self, rule: AlertRule) -> Evaluated:
        """Ask what a rule comes to now. What fails is said in the answer."""
        at = self._clock()
        since = at - round(rule.window * 1000)
        try:
            ((matched, fires),) = self._reader.rows(
                evaluation(rule), parameters(rule, since, at), rule.tenant
            )
        except RetrospanError as error:
            return Evaluated(at, since, failure=_sentence(error))
        if fires is None and not matched:
            # An aggregate of no rows, such as a maximum, is NULL: nothing happened, and nothing is wrong with the rule.
            return Evaluated(at, since, fires=False)
        if fires is None:
            return Evaluated(at, since, int(str(matched)), None, "the condition is NULL for these rows")
        return Evaluated(at, since, int(str(matched)), bool(fires))

    def sampled(self, rule: AlertRule, since: int, until: int) -> list[list[object]]:
        """Return the newest rows that match. Raises as `AlertReader.rows`."""
        return self._reader.rows(samples(rule), parameters(rule, since, until), rule.tenant)

    def _counted(self, rule: AlertRule) -> Evaluated:
        began = time.monotonic()
        evaluated = self.evaluate(rule)
        self._counters.evaluations += 1
        self._counters.seconds += time.monotonic() - began
        before = self.last.get(rule.name)
        if evaluated.failure and evaluated.matched == 0 and evaluated.fires is None:
            self._counters.failures += 1
        if evaluated.failure and (before is None or before.failure != evaluated.failure):
            _LOG.warning("the alert rule %s: %s", rule.name, evaluated.failure)
        return evaluated

    def _decide(self, fired: list[tuple[AlertRule, Evaluated]]) -> None:
        # What was decided further ahead than a cooldown was decided by a clock that was wrong: it must silence nobody.
        before = {rule.name: evaluated.at + round(rule.cooldown * 1000) for rule, evaluated in fired}
        decided = self._book.last_decisions(before)
        for rule, evaluated in fired:
            last = decided.get(rule.name)
            if last is not None and evaluated.at - last < rule.cooldown * 1000:
                continue
            if not self._is_mine():
                return  # another process took over meanwhile
            self._book.decide(rule.name, rule.to, evaluated.since, evaluated.at, evaluated.matched)
            self._counters.decisions += 1


def parameters(rule: AlertRule, since: int, until: int) -> dict[str, str]:
    """Return what the statements of a rule are asked with."""
    told = {"since": _written(since), "until": _written(until)}
    return {**told, "tenant": rule.tenant} if rule.tenant else told


def _written(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03d}"


def _sentence(error: RetrospanError) -> str:
    return " ".join(str(error).split())[:300]
