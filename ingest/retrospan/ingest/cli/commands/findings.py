"""`retrospan findings`: what rules found wrong with runs, one row each, or by rule, agent, tool or day."""

from __future__ import annotations

import argparse

from retrospan.ingest.cli.client.collector_client import Parameter, Row
from retrospan.ingest.cli.client.empty import OPEN, no_runs_yet, since_text
from retrospan.ingest.cli.client.references import find_run, short, short_length, step_address
from retrospan.ingest.cli.client.rows import moment_of, text_of, texts_of, whole
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import (
    RUN_HELP,
    Help,
    Parser,
    UsageError,
    add_output_flags,
    add_since_flag,
    number,
)
from retrospan.ingest.cli.terminal.table import Column, show_table
from retrospan.ingest.cli.terminal.text import count, counted, nearest

RULES = (
    "exact_loop",
    "wording_loop",
    "alternation",
    "repeated_failures",
    "idle_growth",
    "full_context",
    "lost_context",
    "contradiction",
    "unconfirmed_effect",
    "odd_sequence",
)
SEVERITIES = ("info", "warning", "error")
WAYS = ("rule", "agent", "tool", "day")
HELP = Help(
    job="List what rules found wrong with runs: loops, contradictions, lost context, effects nobody confirms, and more.",
    exits="0 answered; with --exit-code 1 if something is found; 2 wrong use or trouble",
    examples=(
        "retrospan findings --since '1 day ago'",
        "retrospan findings --rule contradiction --json",
        "retrospan findings --by rule --severity warning",
    ),
    sql="SELECT run_id, rule, severity, step, explanation FROM findings ORDER BY at DESC",
    more="A rule speaks of what is on record only: no finding does not mean that nothing is wrong.",
)


def add_arguments(parser: Parser) -> None:
    parser.flags.add_argument("--run", metavar="RUN", help=f"only of this run: {RUN_HELP}")
    parser.flags.add_argument(
        "--rule", metavar="RULE", default="", help=f"only by this rule: {', '.join(RULES)}"
    )
    parser.flags.add_argument(
        "--severity",
        choices=SEVERITIES,
        metavar="LEAST",
        default="info",
        help="info (default), warning or error: no less than that",
    )
    parser.flags.add_argument("--agent", default="", metavar="NAME", help="only about this agent")
    parser.flags.add_argument("--tool", default="", metavar="NAME", help="only about this tool")
    parser.flags.add_argument(
        "--by",
        choices=WAYS,
        metavar="WAY",
        default="",
        help=f"count them by {', '.join(WAYS[:-1])} or {WAYS[-1]} (UTC)",
    )
    add_since_flag(parser)
    parser.flags.add_argument("-n", type=number(1), default=50, metavar="N", help="at most N rows (50)")
    parser.flags.add_argument("--exit-code", action="store_true", help="exit 1 if something is found")
    add_output_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.rule and arguments.rule not in RULES:
        near = nearest(arguments.rule, [*RULES])
        hint = f"Did you mean {near}?" if near else f"There are: {', '.join(RULES)}."
        raise UsageError(f"{arguments.rule!r} is not a rule. {hint}", "findings")
    session = Session.open(arguments)
    asked: dict[str, Parameter] = {
        "since": OPEN if arguments.since is None else arguments.since.clickhouse(),
        "run_id": find_run(session, arguments.run) if arguments.run else "",
        "agent": arguments.agent,
        "rule": arguments.rule,
        "tool": arguments.tool,
        "severities": [*SEVERITIES[SEVERITIES.index(arguments.severity) :]],
        "most": arguments.n + (not arguments.sql),  # one more, to know whether there are more
    }
    question = "findings_by" if arguments.by else "list_findings"
    if arguments.by:
        asked["by"] = arguments.by
    if arguments.sql:
        return session.print_sql((question, asked))
    rows = session.ask(question, **asked)
    found = 1 if arguments.exit_code and rows else 0
    more, rows = len(rows) > arguments.n, rows[: arguments.n]
    if arguments.json:
        session.print_json(rows)
        return found
    if not rows:
        session.screen.say(_why_none(session, arguments, str(asked["run_id"])))
        return found
    if arguments.by:
        _show_counts(session, rows, arguments.by)
        said = counted(sum(whole(row, "findings") or 0 for row in rows), "finding")
    else:
        _show(session, rows)
        said = f"{counted(len(rows), 'finding')} in {counted(len({row['run_id'] for row in rows}), 'run')}"
    said += f", and more: -n {arguments.n * 4}" if more else ""
    zone = f"days are UTC; {session.zone_note()}" if arguments.by == "day" else session.zone_note()
    session.screen.note((f"{said}{since_text(session, arguments.since)}; {zone}", "dim"))
    return found


def _show(session: Session, rows: list[Row]) -> None:
    length = short_length([str(row["run_id"]) for row in rows])
    show_table(
        session.screen,
        [
            Column("RUN", style="cyan"),
            Column("AT", priority=2),
            Column("AGENT", priority=3, limit=24),
            Column("SEVERITY", priority=1),
            Column("RULE", style="yellow"),
            Column("WHAT", text=True),
        ],
        [
            [
                short(str(row["run_id"]), length)
                if row["step"] is None
                else step_address(str(row["run_id"]), row["step"]),
                session.zone.exact(moment_of(row, "at")),
                text_of(row, "agent_name") or "-",
                str(row["severity"]),
                str(row["rule"]),
                str(row["explanation"]),
            ]
            for row in rows
        ],
    )


def _show_counts(session: Session, rows: list[Row], by: str) -> None:
    runs = [run_id for row in rows for run_id in texts_of(row, "examples")]
    length = short_length(runs)
    show_table(
        session.screen,
        [
            Column(by.upper(), style="yellow", limit=40),
            Column("FINDINGS", right=True),
            Column("RUNS", right=True),
            Column("GRAVEST", priority=1),
            Column("NEWEST", priority=2),
            Column("FOR EXAMPLE", style="cyan"),
        ],
        [
            [
                text_of(row, "name") or "-",
                count(whole(row, "findings")),
                count(whole(row, "runs")),
                str(row["gravest"]),
                session.zone.exact(moment_of(row, "newest_at")),
                ", ".join(short(run_id, length) for run_id in texts_of(row, "examples")),
            ]
            for row in rows
        ],
    )


def _why_none(session: Session, arguments: argparse.Namespace, run_id: str) -> str:
    since = OPEN if arguments.since is None else arguments.since.clickhouse()
    counts = session.one("count_runs", since=since, outcome="", agent="") or {"matching": 0, "total": 0}
    if not whole(counts, "total"):
        return no_runs_yet(session)
    narrowed = [f"--{flag}" for flag in ("rule", "agent", "tool") if getattr(arguments, flag)]
    narrowed += ["--severity"] if arguments.severity != SEVERITIES[0] else []
    none = f"Nothing that fits {', '.join(narrowed)} was found" if narrowed else "No findings"
    without = [*(["--run"] if run_id else []), *narrowed]
    hint = f" Try without {', '.join(without)}." if without else ""
    where = f"run {short(run_id)}" if run_id else counted(whole(counts, "matching") or 0, "run")
    return f"{none} in {where}{since_text(session, arguments.since)}.{hint}"
