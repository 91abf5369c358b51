"""`retrospan alerts list|test`: which rules there are and whom they told; or whether rules and targets work."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from retrospan.ingest.cli.client.collector_client import CollectorClient
from retrospan.ingest.cli.terminal.arguments import Help, Parser, add_color_flag
from retrospan.ingest.cli.terminal.moments import Moment
from retrospan.ingest.cli.terminal.screen import Screen, Style
from retrospan.ingest.cli.terminal.table import Column, show_table
from retrospan.ingest.cli.terminal.text import counted
from retrospan.ingest.cli.terminal.values import dump
from retrospan.schemas.errors import PermanentError

HELP = Help(
    job="List the alert rules with their last alerts; or evaluate them now and send their targets a test.",
    exits="0 done, 1 test: a rule could not be evaluated or a target not reached, 2 wrong use or trouble",
    examples=(
        "retrospan alerts list",
        "retrospan alerts test failing-runs --dry-run",
        "retrospan alerts test --json",
    ),
    more="A test is sent whether or not the condition holds, is marked as a test, and starts no cooldown.\n"
    "To turn rules on: alerts.rules in the collector's configuration (docs/alerts.md).",
)
_COLUMNS = (
    Column("rule"),
    Column("severity", priority=2),
    Column("view", priority=3),
    Column("condition", text=True, priority=1),
    Column("now"),
    Column("last alert"),
)
_STYLES: dict[str, Style] = {"sent": "green", "refused": "yellow", "given_up": "red"}
_NOT_HERE = "another process evaluates them; /metrics of each says what it did"


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument("action", choices=("list", "test"), metavar="ACTION", help="list or test")
    parser.inputs.add_argument("rule", nargs="?", metavar="[RULE]", help="test only this one")
    parser.flags.add_argument("--dry-run", action="store_true", help="test: evaluate, and send nothing")
    parser.output.add_argument("--json", action="store_true", help="one JSON object per line")
    add_color_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    screen = Screen.open(arguments.color)
    if arguments.action == "list" and (arguments.rule or arguments.dry_run):
        raise PermanentError(
            "alerts list takes neither a rule nor --dry-run: it shows all, and sends nothing."
        )
    asked: dict[str, object] = {"action": arguments.action}
    if arguments.rule:
        asked["rule"] = arguments.rule
    if arguments.dry_run:
        asked["dry_run"] = True
    lines = _answered(asked)
    if arguments.json:
        shown = list(lines)
        for line in shown:
            screen.data(dump(line) + "\n")
        return _code(shown)
    if arguments.action == "list":
        return _list(screen, list(lines))
    shown = []
    for line in lines:
        shown.append(line)
        _show_tested(screen, line)
    return _code(shown)


def _answered(asked: dict[str, object]) -> Iterator[dict[str, object]]:
    ended = False
    for told in CollectorClient.from_environ(os.environ).admin("alerts", asked):
        if "error" in told:
            raise PermanentError(f"alerts {asked['action']}: {told['error']}")
        if told.get("done") is True:
            ended = True
        elif "phase" not in told:
            yield told
    if not ended:
        raise PermanentError("the collector stopped before it was done. Repeat the command.")


def _list(screen: Screen, lines: list[dict[str, object]]) -> int:
    if not lines:
        screen.say("there are no alert rules: alerts.rules names a file of them (docs/alerts.md)")
        return 0
    show_table(screen, _COLUMNS, [_cells(line) for line in lines])
    for line in lines:
        for alert in _tables(line, "alerts"):
            if alert["outcome"] != "sent":
                _show_trouble(screen, _table(line, "rule"), alert)
    if not lines[0]["evaluated_here"]:
        screen.line((_NOT_HERE, "dim"))
    return 0


def _cells(line: dict[str, object]) -> list[str]:
    rule = _table(line, "rule")
    alerts = _tables(line, "alerts")
    told = Moment(_whole(alerts[0]["at"]) * 1_000_000).rfc3339()[:19] + "Z" if alerts else "never"
    return [
        *(str(rule[name]) for name in ("name", "severity", "view", "condition")),
        _now(_table(line, "last")),
        told,
    ]


def _now(last: dict[str, object]) -> str:
    if not last:
        return "not evaluated"
    if last["failure"]:
        return f"fails: {str(last['failure'])[:60]}"
    return f"{'fires' if last['fires'] else 'quiet'} ({counted(_whole(last['matched']), 'row')})"


def _show_trouble(screen: Screen, rule: dict[str, object], alert: dict[str, object]) -> None:
    attempts = counted(_whole(alert["attempts"]), "attempt")
    screen.line(
        (f"  {rule['name']!s} → {alert['target']!s}: {alert['outcome']}", "yellow"),
        f" after {attempts}: {alert['reason']!s}" if alert["reason"] else f" after {attempts}",
    )


def _show_tested(screen: Screen, line: dict[str, object]) -> None:
    name = str(line["rule"])
    if "evaluated" in line:
        found = _table(line, "evaluated")
        if found["failure"]:
            screen.line(name, ": ", ("fails", "red"), f": {found['failure']!s}")
            return
        state = "the condition holds" if found["fires"] else "the condition does not hold"
        screen.line(f"{name}: {state}; {counted(_whole(found['matched']), 'row')} in the window")
        return
    outcome = str(line["outcome"])
    words = {"sent": "told", "refused": "not told", "given_up": "not told"}[outcome]
    reason = f": {line['reason']!s}" if line["reason"] else ""
    screen.line(f"  {line['target']!s}: ", (words, _STYLES[outcome]), reason)


def _code(lines: list[dict[str, object]]) -> int:
    for line in lines:
        if _table(line, "evaluated").get("failure") or line.get("outcome") in ("refused", "given_up"):
            return 1
    return 0


def _table(line: dict[str, object], key: str) -> dict[str, object]:
    value = line.get(key)
    return value if isinstance(value, dict) else {}


def _tables(line: dict[str, object], key: str) -> list[dict[str, object]]:
    value = line.get(key)
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
