"""`retrospan runs`: the runs, newest first."""

from __future__ import annotations

import argparse

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.empty import OPEN, no_runs_match
from retrospan.ingest.cli.client.references import short, short_length
from retrospan.ingest.cli.client.rows import moment_of, number_of, text_of, whole
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import Help, Parser, add_output_flags, add_since_flag, number
from retrospan.ingest.cli.terminal.screen import Style
from retrospan.ingest.cli.terminal.table import Column, show_table
from retrospan.ingest.cli.terminal.text import count, counted, duration
from retrospan.ingest.cli.views.tokens import tokens

HELP = Help(
    job="List runs, newest first.",
    exits="0 answered; with --exit-code 1 if the list is empty; 2 wrong use or trouble",
    examples=("retrospan runs -n 5", "retrospan runs --outcome error --since '2h ago' --json"),
    sql="SELECT run_id, outcome FROM runs ORDER BY started_at DESC",
)
OUTCOMES = ("ok", "error", "incomplete", "running", "killed", "lost")
_STYLES: dict[str, Style] = {
    "ok": "green",
    "error": "red",
    "incomplete": "yellow",
    "running": "blue",
    "killed": "red",
    "lost": "yellow",
}


def add_arguments(parser: Parser) -> None:
    parser.flags.add_argument("-n", type=number(1), default=50, metavar="N", help="at most N runs (50)")
    add_since_flag(parser)
    parser.flags.add_argument(
        "--outcome",
        choices=OUTCOMES,
        default="",
        metavar="HOW",
        help="only runs with this outcome: " + ", ".join(OUTCOMES),
    )
    parser.flags.add_argument("--agent", default="", metavar="NAME", help="only runs of this agent")
    parser.flags.add_argument("--exit-code", action="store_true", help="exit 1 if no run is listed")
    add_output_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    session = Session.open(arguments)
    since = OPEN if arguments.since is None else arguments.since.clickhouse()
    conditions = {"since": since, "outcome": arguments.outcome, "agent": arguments.agent}
    if arguments.sql:
        return session.print_sql(("list_runs", {**conditions, "most": arguments.n}))
    rows = session.ask("list_runs", **conditions, most=arguments.n)
    none_found = 1 if arguments.exit_code and not rows else 0
    if arguments.json:
        session.print_json(rows)
        return none_found
    counts = session.one("count_runs", **conditions) or {
        "matching": 0,
        "total": 0,
        "agents": [],
        "newest": None,
    }
    if not rows:
        session.screen.say(
            no_runs_match(session, counts, arguments.since, arguments.outcome, arguments.agent)
        )
        return none_found
    _show(session, rows)
    _say_how_many(session, len(rows), whole(counts, "matching") or len(rows))
    return 0


def _show(session: Session, rows: list[Row]) -> None:
    length = short_length([str(row["run_id"]) for row in rows])
    loops = {
        str(row["run_id"]): whole(row, "repeats") or 0
        for row in session.ask("longest_loops", run_ids=[str(row["run_id"]) for row in rows])
    }
    columns = [
        Column("RUN", style="cyan"),
        Column("STARTED", priority=2),
        Column("AGENT", priority=3, limit=24),
        Column("OUTCOME", style=lambda outcome: _STYLES.get(outcome.split(" ")[0], "")),
        Column("STEPS", right=True, priority=4),
        Column("MODEL", right=True, priority=7),
        Column("TOOLS", right=True, priority=6),
        Column("ERR", right=True, priority=5, style=lambda errors: "" if errors == "0" else "red"),
        Column("TOKENS", right=True, priority=8),
        Column("TOOK", right=True, priority=4),
        Column("INPUT", text=True, priority=1),
    ]
    show_table(
        session.screen,
        columns,
        [
            [
                short(str(row["run_id"]), length),
                session.zone.listed(moment_of(row, "started_at"), session.now),
                text_of(row, "agent_name") or "-",
                f"{row['outcome']} ⟳{repeats}" if (repeats := loops.get(str(row["run_id"]), 0)) else str(row["outcome"]),
                count(whole(row, "steps")),
                count(whole(row, "model_calls")),
                count(whole(row, "tool_calls")),
                count(whole(row, "errors")),
                tokens(row),
                duration(number_of(row, "duration_ms")),
                "⊘ not recorded" if row["input"] is None else str(row["input"]),
            ]
            for row in rows
        ],
    )  # fmt: skip
    if loops:
        worst = max(loops.values())
        session.screen.note((f"⟳{worst}: the same call {worst} times in a row (retrospan loops)", "dim"))


def _say_how_many(session: Session, shown: int, matching: int) -> None:
    said = f"{counted(matching, 'run')}, newest first" if shown >= matching else (
        f"{count(shown)} of {counted(matching, 'run')}, newest first; more: -n {min(matching, shown * 4)}, or --since '2h ago'"
    )  # fmt: skip
    session.screen.note((f"{said}; {session.zone_note()}", "dim"))
