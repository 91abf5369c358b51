"""`retrospan runs`: the runs, newest first."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from retrospan.ingest.cli.client.collector_client import Parameter, Row
from retrospan.ingest.cli.client.empty import OPEN, no_runs_match
from retrospan.ingest.cli.client.parameters import parameters_of
from retrospan.ingest.cli.client.references import short, short_length
from retrospan.ingest.cli.client.rows import moment_of, number_of, text_of, texts_of, whole
from retrospan.ingest.cli.client.run_filters import cost_condition, score_condition
from retrospan.ingest.cli.client.runs_where import runs_where
from retrospan.ingest.cli.client.session import Asked, Session
from retrospan.ingest.cli.commands.find import pattern_of
from retrospan.ingest.cli.terminal.arguments import (
    Help,
    Parser,
    UsageError,
    add_output_flags,
    add_since_flag,
    number,
)
from retrospan.ingest.cli.terminal.screen import Style
from retrospan.ingest.cli.terminal.table import Column, show_table
from retrospan.ingest.cli.terminal.text import count, counted, duration
from retrospan.ingest.cli.views.money import money
from retrospan.ingest.cli.views.tokens import tokens

HELP = Help(
    job="List runs, newest first.",
    exits="0 answered; with --exit-code 1 if the list is empty; 2 wrong use or trouble",
    examples=(
        "retrospan runs -n 5",
        "retrospan runs --outcome error --since '2h ago' --json",
        "retrospan runs --tool send_mail --cost 0.5 --where 'errors = 0'",
    ),
    sql="SELECT run_id, outcome FROM runs ORDER BY started_at DESC",
)
OUTCOMES = ("ok", "error", "incomplete", "running", "killed", "lost")
FILTERS = (
    ("--user", "ID", "only runs for this user"),
    ("--conversation", "ID", "only runs of this conversation"),
    ("--tool", "NAME", "only runs that called this tool"),
    ("--version", "VERSION", "only runs of this version of the agent or the service"),
    ("--cost", "AMOUNT", "only runs that cost so much or more; or '<0.01', or unknown"),
    ("--score", "NAME", "only runs with this evaluation; or 'relevance<0.5', or 'verdict=fail'"),
    ("--text", "TEXT", "only runs in which this was said, as retrospan find finds it"),
    ("--where", "SQL", "only runs of which this condition over the view runs is true"),
)
#: How many runs of a condition in SQL are looked at, the newest.
MOST_CHOSEN = 5_000
#: From so many columns on there is room for what a run cost.
COST_FROM = 120
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
    for flag, metavar, what in FILTERS:
        parser.flags.add_argument(flag, default="", metavar=metavar, help=what)
    parser.flags.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a value for {NAME:Type} in --where",
    )
    parser.flags.add_argument("--exit-code", action="store_true", help="exit 1 if no run is listed")
    add_output_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    session = Session.open(arguments)
    since = OPEN if arguments.since is None else arguments.since.clickhouse()
    conditions = {"since": since, "outcome": arguments.outcome, "agent": arguments.agent}
    chosen = _chosen(session, arguments, conditions)
    if isinstance(chosen, list):
        return session.print_sql(*chosen)
    newest: dict[str, Parameter] = {
        **conditions,
        "chosen": int(chosen is not None),
        "run_ids": chosen.run_ids if chosen else [],
        "most": arguments.n,
    }
    if arguments.sql:
        return session.print_sql(("list_runs", newest))
    if not arguments.json:
        session.ask_ahead(("list_runs", newest), ("count_runs", conditions))
    rows = session.ask("list_runs", **newest)
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
        more = [
            f"{flag} {value}"
            for flag, _, _ in FILTERS
            if (value := getattr(arguments, flag.removeprefix("--")))
        ]
        session.screen.say(
            no_runs_match(session, counts, arguments.since, arguments.outcome, arguments.agent, more)
        )
        return none_found
    _show(session, rows)
    matching = chosen.matching if chosen is not None else whole(counts, "matching")
    _say_how_many(session, len(rows), matching or len(rows))
    if chosen is not None and chosen.is_cut:
        session.screen.note(
            (f"--where holds of more: only the newest {MOST_CHOSEN:,} were looked at", "yellow")
        )
    return 0


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The newest runs that meet the conditions, and how many do."""

    run_ids: list[str]
    matching: int
    is_cut: bool


def _chosen(
    session: Session, arguments: argparse.Namespace, conditions: dict[str, str]
) -> _Chosen | list[Asked] | None:
    """Return the runs that the filters leave, None without any; for `--sql` what would be asked."""
    if not any(getattr(arguments, flag.removeprefix("--")) for flag, _, _ in FILTERS):
        if arguments.param:
            raise UsageError("--param is for --where.", "runs")
        return None
    try:
        cost_is, cost = cost_condition(arguments.cost) if arguments.cost else ("", "0")
    except ValueError as error:
        raise UsageError(f"--cost: '{arguments.cost}' is {error}.", "runs") from error
    try:
        score, score_is, score_value = score_condition(arguments.score) if arguments.score else ("", "", "")
    except ValueError as error:
        raise UsageError(f"--score: '{arguments.score}' is {error}.", "runs") from error
    held = _held(session, arguments) if arguments.where else None
    asked: dict[str, Parameter] = {
        **conditions,
        "user": arguments.user,
        "conversation": arguments.conversation,
        "version": arguments.version,
        "tool": arguments.tool,
        "cost_is": cost_is,
        "cost": cost,
        "pattern": pattern_of(arguments.text) if arguments.text else "",
        "said": arguments.text,
        "score": score,
        "score_is": score_is,
        "score_value": score_value,
        "chosen": int(held is not None),
        "run_ids": (held or [])[:MOST_CHOSEN],
        "most": arguments.n,
    }
    if arguments.sql:
        return [("runs_that", asked)]
    rows = session.ask("runs_that", **asked)
    return _Chosen(
        [str(row["run_id"]) for row in rows],
        whole(rows[0], "matching") or 0 if rows else 0,
        held is not None and len(held) > MOST_CHOSEN,
    )


def _held(session: Session, arguments: argparse.Namespace) -> list[str]:
    """Return the newest runs of which the user's condition is true: a statement of theirs, guarded as any."""
    values = parameters_of(arguments.param, arguments.where, "runs")
    try:
        return runs_where(session, arguments.where, values, MOST_CHOSEN + 1)
    except ValueError as error:
        raise UsageError(f"--where: {error}.", "runs") from error


def _show(session: Session, rows: list[Row]) -> None:
    run_ids = [str(row["run_id"]) for row in rows]
    length = short_length(run_ids)
    session.ask_ahead(*((name, {"run_ids": run_ids}) for name in ("longest_loops", "scores_of_runs")))
    loops = {
        str(row["run_id"]): whole(row, "repeats") or 0
        for row in session.ask("longest_loops", run_ids=run_ids)
    }
    scores = _scores(session, run_ids)
    costs = session.screen.width is None or session.screen.width >= COST_FROM
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
        *([Column("COST", right=True, priority=9)] if costs else []),
        *([Column("SCORE", priority=4, limit=32)] if scores else []),
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
                *([money(row["cost"], text_of(row, "currency"))] if costs else []),
                *([scores.get(str(row["run_id"]), "")] if scores else []),
                duration(number_of(row, "duration_ms")),
                "⊘ not recorded" if row["input"] is None else str(row["input"]),
            ]
            for row in rows
        ],
    )  # fmt: skip
    if loops:
        worst = max(loops.values())
        session.screen.note((f"⟳{worst}: the same call {worst} times in a row (retrospan loops)", "dim"))


def _scores(session: Session, run_ids: list[str]) -> dict[str, str]:
    """Return what evaluations say of each run that has any: the mean of the scores, or the labels, by name."""
    said: dict[str, list[str]] = {}
    for row in session.ask("scores_of_runs", run_ids=run_ids):
        mean = number_of(row, "mean")
        result = f"{mean:.2g}" if mean is not None else "/".join(texts_of(row, "labels"))
        said.setdefault(str(row["run_id"]), []).append(f"{row['name']} {result}".rstrip())
    return {run_id: ", ".join(each) for run_id, each in said.items()}


def _say_how_many(session: Session, shown: int, matching: int) -> None:
    said = f"{counted(matching, 'run')}, newest first" if shown >= matching else (
        f"{count(shown)} of {counted(matching, 'run')}, newest first; more: -n {min(matching, shown * 4)}, or --since '2h ago'"
    )  # fmt: skip
    session.screen.note((f"{said}; {session.zone_note()}", "dim"))
