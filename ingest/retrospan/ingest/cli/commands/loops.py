"""`retrospan loops`: the same tool called again and again with equal arguments."""

from __future__ import annotations

import argparse

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.empty import OPEN, no_runs_yet, since_text
from retrospan.ingest.cli.client.references import find_run, short, short_length
from retrospan.ingest.cli.client.rows import text_of, texts_of, whole
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import (
    RUN_HELP,
    Help,
    Parser,
    add_output_flags,
    add_since_flag,
    number,
)
from retrospan.ingest.cli.terminal.table import Column, show_table
from retrospan.ingest.cli.terminal.text import count, counted
from retrospan.ingest.cli.terminal.values import brief_json

HELP = Help(
    job="Find loops: one agent calling one tool three or more times in a row with equal arguments.",
    exits="0 answered; with --exit-code 1 if a loop is found; 2 wrong use or trouble",
    examples=("retrospan loops", "retrospan loops --by day", "retrospan loops --run last --exit-code"),
    sql="SELECT run_id, tool_name, repeats FROM loops",
)


def add_arguments(parser: Parser) -> None:
    parser.flags.add_argument("--run", metavar="RUN", help=f"only in this run: {RUN_HELP}")
    parser.flags.add_argument(
        "--min", type=number(3), default=3, metavar="N", help="at least N equal calls (3)"
    )
    parser.flags.add_argument("--by", choices=("day",), metavar="day", help="count them by day (UTC)")
    parser.flags.add_argument(
        "-n", type=number(1), default=50, metavar="N", help="at most N loops, or days (50)"
    )
    add_since_flag(parser)
    parser.flags.add_argument("--agent", default="", metavar="NAME", help="only of this agent")
    parser.flags.add_argument("--exit-code", action="store_true", help="exit 1 if a loop is found")
    add_output_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    session = Session.open(arguments)
    run_id = find_run(session, arguments.run) if arguments.run else ""
    since = OPEN if arguments.since is None else arguments.since.clickhouse()
    # One more than asked for, to know whether there are more.
    asked = {
        "since": since,
        "run_id": run_id,
        "agent": arguments.agent,
        "least": arguments.min,
        "most": arguments.n + 1,
    }
    question = "loops_by_day" if arguments.by else "list_loops"
    if arguments.sql:
        return session.print_sql((question, {**asked, "most": arguments.n}))
    rows = session.ask(question, **asked)
    found = 1 if arguments.exit_code and rows else 0
    more, rows = len(rows) > arguments.n, rows[: arguments.n]
    if arguments.json:
        session.print_json(rows)
        return found
    if not rows:
        session.screen.say(_why_none(session, arguments, run_id))
        return 0
    if arguments.by:
        _show_days(session, rows)
    else:
        _show(session, rows)
    loops = sum(whole(row, "loops") or 0 for row in rows) if arguments.by else len(rows)
    said = counted(loops, "loop") + (f", and more: -n {arguments.n * 4}" if more else "")
    said += f"{since_text(session, arguments.since)}; at least {arguments.min} equal calls (--min)"
    session.screen.note((said + ("; days are UTC" if arguments.by else ""), "dim"))
    return found


def _show(session: Session, rows: list[Row]) -> None:
    length = short_length([str(row["run_id"]) for row in rows])
    show_table(
        session.screen,
        [
            Column("RUN", style="cyan"),
            Column("AGENT", priority=2, limit=24),
            Column("TOOL", limit=32),
            Column("ARGUMENTS", text=True),
            Column("REPEATS", right=True, style="yellow"),
            Column("STEPS", right=True),
            Column("RESULT", priority=1),
        ],
        [
            [
                short(str(row["run_id"]), length),
                text_of(row, "agent_name") or "-",
                str(row["tool_name"]),
                brief_json(text_of(row, "arguments")),
                count(whole(row, "repeats")),
                f"{row['first_step']}-{row['last_step']}",
                "same each time" if row["same_result"] else "differs",
            ]
            for row in rows
        ],
    )


def _show_days(session: Session, rows: list[Row]) -> None:
    length = short_length([run_id for row in rows for run_id in texts_of(row, "examples")])
    show_table(
        session.screen,
        [
            Column("DAY"),
            Column("LOOPS", right=True),
            Column("RUNS", right=True),
            Column("CALLS", right=True),
            Column("LONGEST", right=True, style="yellow"),
            Column("TOOL", limit=32),
            Column("FOR EXAMPLE", style="cyan", priority=1),
        ],
        [
            [
                str(row["day"]),
                count(whole(row, "loops")),
                count(whole(row, "runs")),
                count(whole(row, "calls")),
                count(whole(row, "longest")),
                str(row["longest_tool"]),
                ", ".join(short(run_id, length) for run_id in texts_of(row, "examples")),
            ]
            for row in rows
        ],
    )


def _why_none(session: Session, arguments: argparse.Namespace, run_id: str) -> str:
    conditions = {"since": OPEN, "outcome": "", "agent": arguments.agent}
    if arguments.since is not None:
        conditions["since"] = arguments.since.clickhouse()
    counts = session.one("count_runs", **conditions) or {"matching": 0, "total": 0}
    if not whole(counts, "total"):
        return no_runs_yet(session)
    where = f"run {short(run_id)}" if run_id else counted(whole(counts, "matching") or 0, "run")
    of = f" of agent {arguments.agent}" if arguments.agent and not run_id else ""
    return (
        f"No loops in {where}{of}{since_text(session, arguments.since)}. "
        f"Threshold: {arguments.min} equal calls of one tool in a row (--min {arguments.min})."
    )
