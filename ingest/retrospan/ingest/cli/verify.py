"""`retrospan verify`: checks the chains of loaded batches and of receipts, and names the first wrong place."""

from __future__ import annotations

import argparse
import os

from retrospan.ingest.cli.arguments import Help, Parser, add_color_flag
from retrospan.ingest.cli.screen import Screen
from retrospan.ingest.cli.text import counted
from retrospan.ingest.cli.values import dump
from retrospan.ingest.cli.warehouse import Warehouse
from retrospan.schemas.errors import PermanentError

HELP = Help(
    job="Check that no row of the batches that were loaded, and of the receipts of deletions, was tampered with.",
    exits="0 every link holds, 1 one does not, 2 wrong use or trouble",
    examples=("retrospan verify", "retrospan verify --json"),
    sql="SELECT number, receipt_hash, previous_hash FROM retention_log ORDER BY log, number",
    more="Each row holds the hash of the row before it. What was edited, removed, added or moved is named.",
)


def add_arguments(parser: Parser) -> None:
    parser.output.add_argument("--json", action="store_true", help="one JSON object per chain and line")
    add_color_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    screen = Screen.open(arguments.color)
    wrong = done = False
    for told in Warehouse.from_environ(os.environ).admin("verify"):
        if "error" in told:
            raise PermanentError(f"verify stopped: {told['error']}")
        if "chain" not in told:
            done = told.get("done") is True
            continue
        wrong = wrong or bool(told["wrong"])
        if arguments.json:
            screen.data(dump(told) + "\n")
        else:
            _show(screen, told)
    if not done:
        raise PermanentError("the collector went away before it was done. Ask again.")
    return 1 if wrong else 0


def _show(screen: Screen, told: dict[str, object]) -> None:
    number = told["links"] if isinstance(told["links"], int) else 0
    one, several = ("batch", "batches") if told["chain"] == "batches" else ("receipt", "receipts")
    links = counted(number, one, several)
    log = f" of log {told['log']}" if told["log"] else ""
    if told["wrong"]:
        screen.line(("wrong", "red"), f"  {told['chain']}{log}: {told['wrong']} ({links} before it hold)")
    else:
        screen.line(("ok", "green"), f"     {told['chain']}{log}: {links}, each linked to the one before")
