"""`retrospan retention plan|apply`: lists what the policy would delete, or deletes it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from retrospan.ingest.cli.client.collector_client import CollectorClient
from retrospan.ingest.cli.terminal.arguments import Help, Parser, add_color_flag, moment
from retrospan.ingest.cli.terminal.moments import Moment
from retrospan.ingest.cli.terminal.progress import Progress
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.terminal.table import Column, show_table
from retrospan.ingest.cli.terminal.text import count, counted, size
from retrospan.ingest.cli.terminal.values import dump
from retrospan.ingest.cli.views.marking import who
from retrospan.schemas.errors import ConfigError, PermanentError

HELP = Help(
    job="Show what the policy would delete (plan), or delete what is due (apply), with a receipt for each deletion.",
    exits="0 planned or done, 1 a segment of the log was left alone: not what was loaded, or no room, 2 wrong use or trouble, such as a refused policy",
    examples=(
        "retrospan retention plan",
        "retrospan retention plan --policy keep.toml --at 2026-12-24",
        "retrospan retention apply --plan 1798761600000000000-12-5f0c1d…",
        "retrospan retention apply --json",
    ),
    sql="SELECT deleted_at, what, subject, rule, spans FROM retention_log ORDER BY log, number",
    more="Without --policy: the policy of the collector's settings, or the defaults (docs/retention.md). Held runs,\n"
    "and runs that held, flagged and golden runs depend on, are kept. Safe to stop and to repeat.\n"
    "A plan ends with a line for `apply --plan`: that deletes what the plan listed or, if this has changed, nothing.",
)


_COLUMNS = (
    Column("class"),
    Column("rule", text=True, priority=1),
    Column("runs", right=True),
    Column("spans", right=True),
    Column("size", right=True),
    Column("last arrival (UTC)", priority=2),
)


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument("action", choices=("plan", "apply"), metavar="ACTION", help="plan or apply")
    add = parser.flags.add_argument
    add("--policy", metavar="FILE", help="a TOML file of rules, instead of the collector's")
    add("--at", type=moment, metavar="TIME", help="plan only: what would be deleted at TIME (RFC 3339)")
    add("--plan", metavar="PLAN", help="apply only: delete just what that plan listed, or nothing")
    parser.output.add_argument(
        "--json", action="store_true", help="each run to delete, the progress and the summary, as JSON lines"
    )
    add_color_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    screen = Screen.open(arguments.color)
    seen: dict[str, object] = {}
    with Progress(screen) as progress:
        for told in CollectorClient.from_environ(os.environ).admin("retention", _asked(arguments)):
            if "error" in told:
                raise PermanentError(f"retention {arguments.action}: {told['error']}")
            if arguments.json:
                screen.data(dump(told) + "\n")
            else:
                progress.tell(told)
            if "wrong" in told and not arguments.json:
                screen.line(("wrong", "red"), f"  {told['where']}: {told['wrong']}")
            seen |= {name: told[name] for name in ("summary", "done") if name in told}
    summary = seen.get("summary")
    if seen.get("done") is not True or not isinstance(summary, dict):
        raise PermanentError(
            "the collector stopped before it was done. Runs with a receipt are deleted; repeat the command for the rest."
        )
    if not arguments.json:
        _show(screen, summary, arguments.action)
    return 1 if _whole(summary, "segments_altered") or _whole(summary, "segments_waiting") else 0


def _asked(arguments: argparse.Namespace) -> dict[str, object]:
    asked: dict[str, object] = {"action": arguments.action, "listed": bool(arguments.json)}
    if arguments.policy:
        try:
            asked["policy"] = Path(arguments.policy).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read {arguments.policy}: {error}.") from error
        asked["file"] = arguments.policy
    if arguments.action == "apply":
        asked["by"] = who()
    if arguments.plan:
        asked["plan"] = arguments.plan
    if arguments.at:
        asked["at"] = int(arguments.at)
    return asked


def _show(screen: Screen, summary: dict[str, object], action: str) -> None:
    groups = summary["groups"]
    rows = [group for group in groups if isinstance(group, dict)] if isinstance(groups, list) else []
    if rows:
        show_table(screen, _COLUMNS, [_cells(row) for row in rows])
    verb = "would go" if action == "plan" else "deleted"
    screen.line(f"{verb}: {counted(_whole(summary, 'runs'), 'run')} under {summary['policy']}")
    for name, words in _NOTES:
        if number := _whole(summary, name):
            screen.line((f"  {count(number)} {words}", "dim"))
    if (plan := summary.get("plan")) and rows:
        screen.line(f"to delete just that: retrospan retention apply --plan {plan}")
    if freed := _whole(summary, "archive_bytes"):
        screen.line((f"  {size(freed)} of the log's archive freed", "dim"))


_NOTES = (
    ("payloads", "runs stay, without their payloads"),
    ("pinned", "due runs kept: held, flagged or golden runs depend on them"),
    ("returned", "due runs received new spans: they are deleted later"),
    ("unlisted", "due runs are not in the plan, and were kept"),
    ("held", "due runs kept: they were held or flagged at another collector meanwhile"),
    ("partitions", "days of a table dropped as a whole"),
    ("segments_removed", "segments of the log removed"),
    ("segments_rewritten", "segments of the log rewritten"),
    (
        "segments_altered",
        "segments of the log left alone: altered, damaged or missing (`retrospan verify --full`)",
    ),
    (
        "segments_waiting",
        "segments of the log left alone: the disk is full. Free some space, and repeat this",
    ),
)


def _cells(group: dict[str, object]) -> list[str]:
    return [
        str(group["class"]),
        str(group["rule"]),
        count(_whole(group, "runs")),
        count(_whole(group, "spans")),
        size(_whole(group, "bytes")),
        f"{_day(group, 'oldest')} … {_day(group, 'newest')}",
    ]


def _day(group: dict[str, object], name: str) -> str:
    return Moment(_whole(group, name)).rfc3339()[:10]


def _whole(told: dict[str, object], name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) else 0
