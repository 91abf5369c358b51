"""`retrospan verify`: compares stored data with its hashes, and names every difference."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import cast

from retrospan.ingest.cli.client.collector_client import CollectorClient
from retrospan.ingest.cli.client.references import find_run
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import RUN_HELP, Help, Parser, add_color_flag
from retrospan.ingest.cli.terminal.moments import Zone
from retrospan.ingest.cli.terminal.progress import Progress
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.terminal.text import count, counted, duration
from retrospan.ingest.cli.terminal.values import dump
from retrospan.schemas.errors import PermanentError

HELP = Help(
    job="Compare stored data with its hashes: chains, the log, raw rows, and derived rows on request.",
    exits="0 what was checked is unaltered, 1 something differs, 2 wrong use or trouble",
    examples=(
        "retrospan verify",
        "retrospan verify --full --derived",
        "retrospan verify --run last --derived",
    ),
    sql="SELECT number, batch_hash, previous_hash FROM batches ORDER BY log, number",
    more="Chains are checked whole. Log and raw rows are checked in a sample, whole with --full, or of one run: the log\n"
    "against the hashes made when it was loaded, raw rows against the log. The output says what was not checked.\n"
    "Anyone who can write to the directory can rewrite all of it: store the printed head elsewhere, for --expect.",
)


def add_arguments(parser: Parser) -> None:
    parser.flags.add_argument("--full", action="store_true", help="every record and every raw row")
    parser.flags.add_argument(
        "--run", metavar="RUN", default="", help=f"what belongs to this run: {RUN_HELP}"
    )
    parser.flags.add_argument(
        "--derived", action="store_true", help="also interpret the runs again, and compare derived rows"
    )
    parser.flags.add_argument(
        "--expect",
        metavar="HEAD",
        default="",
        help="a head printed earlier: the chains must begin with it",
    )
    parser.flags.add_argument(
        "--seed",
        metavar="N",
        type=int,
        default=0,
        help="draw the same sample as an earlier run with this seed",
    )
    parser.output.add_argument("--json", action="store_true", help="what the collector sends, as JSON lines")
    add_color_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    screen = Screen.open(arguments.color)
    warehouse = CollectorClient.from_environ(os.environ)
    wrong = done = False
    with Progress(screen) as progress:
        for told in warehouse.admin("verify", _asked(arguments, screen, warehouse)):
            if arguments.json:
                screen.data(dump(told) + "\n")
            if "error" in told:
                raise PermanentError(f"verify stopped: {told['error']}")
            if "phase" in told and not arguments.json:
                progress.tell(told)
            done = done or told.get("done") is True
            wrong = wrong or bool(told.get("wrong") or told.get("wrong_places"))
            if not arguments.json:
                _show(screen, told)
    if not done:
        raise PermanentError("the collector went away before it was done. Ask again.")
    return 1 if wrong else 0


def _asked(arguments: argparse.Namespace, screen: Screen, warehouse: CollectorClient) -> dict[str, object]:
    """Return what the collector is to be asked for, without what was left open."""
    asked: dict[str, object] = {
        "full": arguments.full,
        "derived": arguments.derived,
        "expect": arguments.expect,
        "seed": arguments.seed,
    }
    if arguments.run:
        asked["run"] = find_run(Session(arguments, screen, warehouse, Zone(utc=True)), arguments.run)
    return {name: value for name, value in asked.items() if value}


def _show(screen: Screen, told: Mapping[str, object]) -> None:
    if "chain" in told:
        _show_chain(screen, told)
    elif "covered" in told:
        _show_covered(screen, told)
    elif "wrong" in told:
        screen.line(("wrong", "red"), f"  {told['where']}: {told['wrong']}")
    elif "head" in told:
        screen.line(f"head   {told['head']}")


def _show_chain(screen: Screen, told: Mapping[str, object]) -> None:
    number = told["links"] if isinstance(told["links"], int) else 0
    one, several = ("batch", "batches") if told["chain"] == "batches" else ("receipt", "receipts")
    links = counted(number, one, several)
    log = f" of log {told['log']}" if told["log"] else ""
    if told["wrong"]:
        screen.line(("wrong", "red"), f"  {told['chain']}{log}: {told['wrong']} ({links} before it hold)")
    else:
        screen.line(("ok", "green"), f"     {told['chain']}{log}: {links}, each linked to the one before")


def _show_covered(screen: Screen, told: Mapping[str, object]) -> None:
    covered = cast("Mapping[str, int]", told["covered"])
    numbers = ", ".join(
        f"{count(number)} {name.replace('_', ' ')}" for name, number in covered.items() if number
    )
    took = duration(float(str(told["seconds"])) * 1000)
    line = f"{told['part']}: {numbers or 'nothing to compare'}, {took}"
    if told["wrong_places"]:
        places = counted(int(str(told["wrong_places"])), "place differs", "places differ")
        screen.line(("wrong", "red"), f"  {line}; {places}")
    else:
        screen.line(("ok", "green"), f"     {line}")
    for left_out in cast("list[str]", told["not_covered"]):
        screen.line(f"       not covered: {left_out}")
