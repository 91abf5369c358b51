"""The alerts of one process: the evaluator and the sender over one warehouse, and the commands that query them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace

from retrospan.ingest.alerts.attempt import Message
from retrospan.ingest.alerts.book import AlertBook, Decision
from retrospan.ingest.alerts.evaluator import Evaluated, Evaluator
from retrospan.ingest.alerts.reader import AlertReader
from retrospan.ingest.alerts.rules import AlertRule, AlertRules
from retrospan.ingest.alerts.sender import Deliver, Sender
from retrospan.ingest.settings.config import AlertSettings, Limits
from retrospan.ingest.status.counting import AlertCounters
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import BadRequest, ConfigError
from retrospan.schemas.store import Store

Report = Callable[[Mapping[str, object]], None]
_KNOWN = {"action": str, "rule": str, "dry_run": bool}


def _now() -> int:
    return time.time_ns() // 1_000_000


class Alerting:
    """Start once, stop once. Without rules it does nothing."""

    def __init__(
        self,
        rules: AlertRules,
        warehouse: Warehouse,
        limits: Limits,
        settings: AlertSettings,
        reader_of: Callable[[str], Store],
        deliver: Deliver,
        is_mine: Callable[[], bool] = lambda: True,
        *,
        fault: str = "",
    ) -> None:
        """`is_mine` says whether this process evaluates: of several that have the rules, one does. `fault` is why there
        are no rules where there should be some.
        """
        self._fault = fault
        self._rules = rules
        self._deliver = deliver
        self._is_mine = is_mine
        self._counters = AlertCounters()
        self._book = AlertBook(warehouse, _now)
        self._reader = AlertReader(warehouse, limits, settings, reader_of)
        self._evaluator = Evaluator(
            rules.rules,
            self._reader,
            self._book,
            self._counters,
            every_seconds=settings.every_seconds,
            is_mine=is_mine,
            clock=_now,
        )
        self._sender = Sender(
            rules.rules,
            self._book,
            self._counters,
            deliver,
            self._evaluator.sampled,
            is_mine=is_mine,
            clock=_now,
        )

    @property
    def counters(self) -> AlertCounters:
        """A copy."""
        return replace(self._counters)

    @property
    def complaint(self) -> str:
        """What a person should look at, in one sentence; '' for nothing."""
        said = [self._fault] if self._fault else []
        said += [
            f"the rule {name}: {last.failure}"
            for name, last in list(self._evaluator.last.items())
            if last.failure
        ]
        said += [f"the target {name}: {reason}" for name, reason in list(self._sender.complaints.items())]
        said += [service.failure for service in (self._evaluator, self._sender) if service.failure]
        return "; ".join(said)[:1000]

    def start(self) -> None:
        """Begin to evaluate and to tell, if there is a rule."""
        if self._rules.rules:
            self._sender.start()
            self._evaluator.start()

    def stop(self) -> None:
        """Finish the rule and the attempt in hand. What is still to be told is told after the next start."""
        self._sender.ask_to_stop()
        self._evaluator.stop()
        self._sender.stop()

    def learn(self) -> None:
        """Call it after views changed."""
        if self._rules.rules:
            self._reader.learn()

    def command(self, arguments: Mapping[str, object], report: Report) -> None:
        """Carry out `alerts`: list the rules, or test one.

        Raises:
            BadRequest: an argument that it does not take.
            ConfigError: there is no such rule.
        """
        told = _read(arguments)
        if told["action"] == "list":
            self._list(report)
            return
        wanted = told.get("rule")
        if not self._rules.rules:
            raise ConfigError("there are no alert rules: name a file of them (alerts.rules).")
        rules = [self._rules.named(str(wanted))] if wanted else list(self._rules.rules)
        for rule in rules:
            self._test(rule, report, send=told.get("dry_run") is not True)

    def _list(self, report: Report) -> None:
        outcomes = self._book.outcomes()
        for rule in self._rules.rules:
            last = self._evaluator.last.get(rule.name)
            report(
                {
                    "rule": asdict(rule),
                    "last": asdict(last) if last is not None else None,
                    "evaluated_here": self._is_mine(),
                    "alerts": [each._asdict() for each in outcomes if each.rule == rule.name],
                }
            )

    def _test(self, rule: AlertRule, report: Report, *, send: bool) -> None:
        found = self._evaluator.evaluate(rule)
        report({"rule": rule.name, "evaluated": asdict(found), "condition": rule.condition})
        if not send:
            return
        body = self._test_body(rule, found)
        for target in rule.to:
            attempt = self._deliver(target, Message("test", 1, body))
            report(
                {"rule": rule.name, "target": target, "outcome": attempt.outcome, "reason": attempt.reason}
            )

    def _test_body(self, rule: AlertRule, found: Evaluated) -> bytes:
        decision = Decision("test", rule.name, found.at, found.since, found.at, found.matched)
        return self._sender.body(rule, decision, test=True)


def _read(arguments: Mapping[str, object]) -> Mapping[str, object]:
    for name, value in arguments.items():
        if name not in _KNOWN:
            raise BadRequest(f"alerts does not take '{name}'. It takes: {', '.join(_KNOWN)}.")
        if type(value) is not _KNOWN[name]:
            raise BadRequest(f"alerts: '{name}' is {str(value)[:80]!r}, which has the wrong type.")
    if arguments.get("action") not in ("list", "test"):
        raise BadRequest("alerts needs 'action': list or test.")
    return arguments
