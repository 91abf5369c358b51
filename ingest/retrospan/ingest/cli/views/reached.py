"""Which runs a walk reached, in a few lines before it is drawn; and the walk cut down to some of them."""

from __future__ import annotations

import argparse

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.empty import OPEN
from retrospan.ingest.cli.client.rows import moment_of, text_of, texts_of, whole
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import Parser, add_since_flag
from retrospan.ingest.cli.terminal.text import counted, safe

#: Lines of the summary; the rest is counted.
MOST_GROUPS = 8


def add_run_flags(parser: Parser) -> None:
    """Add the flags that choose among the runs that a walk reached."""
    add = parser.flags.add_argument
    add("--service", metavar="NAME", help="only what leads to runs of this service")
    add("--agent", metavar="NAME", help="only what leads to runs of this agent")
    add_since_flag(parser)


def chooses(arguments: argparse.Namespace) -> bool:
    """Return whether such a flag was given."""
    return bool(arguments.service or arguments.agent or arguments.since is not None)


def groups_reached(session: Session, rows: list[Row]) -> list[Row]:
    """Return the runs of a walk's edges that are asked for, by agent and service with their versions."""
    arguments = session.arguments
    run_ids = sorted({str(row["run_id"]) for row in rows if row["depth"] != 0} - {""})
    if not run_ids:
        return []
    return session.ask(
        "runs_reached",
        run_ids=run_ids,
        service=arguments.service or "",
        agent=arguments.agent or "",
        since=OPEN if arguments.since is None else arguments.since.clickhouse(),
    )


def leading_to(rows: list[Row], groups: list[Row], *, down: bool) -> list[Row]:
    """Return the edges that lie in one of the runs, and those by which the walk came there."""
    wanted = {run_id for group in groups for run_id in texts_of(group, "run_ids")}
    near, far = ("object", "subject") if down else ("subject", "object")
    first: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: whole(row, "depth") or 0):
        if row["depth"] != 0:
            first.setdefault(str(row[far]), row)
    kept: set[int] = set()
    for row in rows:
        if row["depth"] == 0:
            kept.add(id(row))
        edge: Row | None = row if row["depth"] != 0 and row["run_id"] in wanted else None
        while edge is not None and id(edge) not in kept:
            kept.add(id(edge))
            edge = first.get(str(edge[near]))
    return [row for row in rows if id(row) in kept]


def show_reached(session: Session, groups: list[Row]) -> None:
    """Write how many runs were reached, and which: by agent and service with their versions."""
    runs, failed = _sum(groups, "runs"), _sum(groups, "failed")
    tail = f", {failed:,} of them not ok" if failed else ""
    zone = f"; {session.zone_note()}" if groups else ""
    session.screen.line((f"reached {counted(runs, 'run')}{tail}", "bold"), (zone, "dim"))
    for group in groups[:MOST_GROUPS]:
        session.screen.line(f"  {counted(whole(group, 'runs') or 0, 'run')}  {_named(session, group)}")
    if len(groups) > MOST_GROUPS:
        rest = groups[MOST_GROUPS:]
        others = counted(len(rest), "other version")
        session.screen.line((f"  {counted(_sum(rest, 'runs'), 'run')}  of {others}", "dim"))


def _named(session: Session, group: Row) -> str:
    zone = session.zone
    names = [
        f"{what} {text_of(group, f'{what}_name')}"
        + (f" {version}" if (version := text_of(group, f"{what}_version")) else "")
        for what in ("agent", "service")
        if text_of(group, f"{what}_name")
    ]
    first = zone.listed(moment_of(group, "first_at"), session.now)
    last = zone.listed(moment_of(group, "last_at"), session.now)
    span = first if first == last else f"{first} … {last}"
    return safe(", ".join([*(names or ["of an unnamed agent"]), span]))


def _sum(groups: list[Row], name: str) -> int:
    return sum(whole(group, name) or 0 for group in groups)
