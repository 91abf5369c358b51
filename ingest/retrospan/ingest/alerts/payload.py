"""The JSON that a target receives. Text from agents is only data in it: escaped, cut, and never part of a command."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import quote

from retrospan.ingest.alerts.book import Decision
from retrospan.ingest.alerts.question import SAMPLE_CHARACTERS
from retrospan.ingest.alerts.rule_values import duration_text
from retrospan.ingest.alerts.rules import AlertRule

VERSION = 1


def payload(
    rule: AlertRule,
    decision: Decision,
    rows: Sequence[Sequence[object]],
    *,
    attempt: int = 1,
    test: bool = False,
    missing: str = "",
) -> bytes:
    """Return the body. `rows` are those of `question.samples`; `missing` is why there are none,
    or fewer than there were; '' when they are there.

    From the second attempt on the same alert may have arrived before: whoever receives it tells it by its id.
    """
    told = {
        "version": VERSION,
        "text": _sentence(rule, decision, test),
        "test": test,
        "attempt": attempt,
        "alert": {
            "id": decision.alert_id,
            "rule": rule.name,
            "severity": rule.severity,
            "view": rule.view,
            "where": rule.where,
            "condition": rule.condition,
            "window_seconds": rule.window,
            "cooldown_seconds": rule.cooldown,
            "tenant": rule.tenant or None,
            "decided_at": _time(decision.at),
            "since": _time(decision.since),
            "until": _time(decision.until),
            "matched": decision.matched,
        },
        "rows": [_row(rule, row) for row in rows],
        "rows_missing": missing or None,
    }
    # Every character beyond ASCII is escaped, so that halves of a pair are sent as they are.
    return json.dumps(told, ensure_ascii=True, separators=(",", ":")).encode()


def _sentence(rule: AlertRule, decision: Decision, test: bool) -> str:
    counted = f"{decision.matched:,} row{'' if decision.matched == 1 else 's'}"
    begins = "TEST: " if test else ""
    return (
        f"{begins}{rule.severity}: {rule.name}: {counted} of {rule.view} within {duration_text(rule.window)}"
    )


def _row(rule: AlertRule, row: Sequence[object]) -> dict[str, object]:
    values = {name: _cut(value) for name, value in zip(rule.show, row[1:], strict=True)}
    told: dict[str, object] = {"at": row[0], **values}
    run_id = values.get("run_id")
    if run_id and run_id.isprintable():
        told["why"] = f"retrospan why {'-- ' if run_id.startswith('-') else ''}{shlex.quote(run_id)}"
        if rule.link:
            told["link"] = rule.link.replace("{run_id}", quote(run_id, safe="", errors="surrogateescape"))
    return told


def _cut(value: object) -> str | None:
    if value is None:
        return None
    text = str(value)
    return text if len(text) <= SAMPLE_CHARACTERS else text[:SAMPLE_CHARACTERS] + "…"


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
