"""`retrospan rebuild`: derives every row, or what some runs mean, again; readers see the old rows until it is done."""

from __future__ import annotations

import argparse
import os
import time

from retrospan.ingest.cli.client.collector_client import CollectorClient
from retrospan.ingest.cli.client.references import find_run
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import (
    RUN_HELP,
    Help,
    Parser,
    add_color_flag,
    add_since_flag,
    moment,
)
from retrospan.ingest.cli.terminal.moments import Zone
from retrospan.ingest.cli.terminal.progress import Progress
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.terminal.text import counted, duration
from retrospan.ingest.cli.terminal.values import dump
from retrospan.schemas.errors import PermanentError

HELP = Help(
    job="Read the whole log again: refill the raw tables and interpret every run again.",
    exits="0 rebuilt, 2 wrong use or trouble",
    examples=("retrospan rebuild", "retrospan rebuild --version 1", "retrospan rebuild --run last"),
    more="With flags that select runs, only runs that match all flags are interpreted again, from the raw tables.\n"
    "Readers see the old rows of a run until its new ones are complete. Safe to repeat, and to stop and start again.",
)


def add_arguments(parser: Parser) -> None:
    parser.flags.add_argument("--run", metavar="RUN", default="", help=f"only this run: {RUN_HELP}")
    parser.flags.add_argument(
        "--version", metavar="V", default="", help="only runs that this version interpreted (interpreted_by)"
    )
    parser.flags.add_argument(
        "--dialect", metavar="NAME", default="", help="only runs read with this dialect"
    )
    add_since_flag(parser)
    parser.flags.add_argument("--until", type=moment, metavar="TIME", help="only what started before TIME")
    parser.output.add_argument(
        "--json", action="store_true", help="the progress as the collector sends it, as JSON lines"
    )
    add_color_flag(parser)


def _selection(
    arguments: argparse.Namespace, screen: Screen, warehouse: CollectorClient
) -> dict[str, object]:
    """Return what the collector is to be asked for, without what was left open."""
    asked: dict[str, object] = {
        "version": arguments.version,
        "dialect": arguments.dialect,
        "since": int(arguments.since or 0),
        "until": int(arguments.until or 0),
    }
    if arguments.run:
        session = Session(arguments, screen, warehouse, Zone(utc=True))
        asked["run"] = find_run(session, arguments.run)
    return {name: value for name, value in asked.items() if value}


def run(arguments: argparse.Namespace) -> int:
    screen = Screen.open(arguments.color)
    warehouse = CollectorClient.from_environ(os.environ)
    started = time.monotonic()
    seen: dict[str, object] = {}
    with Progress(screen) as progress:
        for told in warehouse.admin("rebuild", _selection(arguments, screen, warehouse)):
            seen |= told
            if arguments.json:
                screen.data(dump(told) + "\n")
            if "error" in told:
                raise PermanentError(f"rebuild stopped: {told['error']}")
            if not arguments.json:
                progress.tell(told)
    if seen.get("done") is not True:
        raise PermanentError(
            "the collector stopped before the rebuild ended. Start it and run rebuild again."
        )
    if not arguments.json:
        counts = [
            counted(value, name.removesuffix("s"))
            for name, value in seen.items()
            if name in ("records", "traces", "spans", "runs") and type(value) is int
        ]
        what = f": {', '.join(counts)}" if counts else ""
        screen.line(f"rebuilt{what} in {duration((time.monotonic() - started) * 1000)}")
        if type(absent := seen.get("absent")) is int:
            screen.line(
                (f"  {counted(absent, 'record')} missing from the log: rows of them stay as they were", "dim")
            )
    return 0
