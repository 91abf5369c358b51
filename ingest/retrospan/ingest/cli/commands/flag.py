"""`retrospan flag RUN`: marks a run as worth keeping, or takes the mark away."""

from __future__ import annotations

import argparse

from retrospan.ingest.cli.terminal.arguments import Help, Parser
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.views.marking import add_mark_arguments, mark

HELP = Help(
    job="Mark a run as worth keeping: it is kept as long as the policy keeps flagged runs.",
    exits="0 done, 2 wrong use or trouble",
    examples=(
        'retrospan flag last --reason "wrong refund"',
        "retrospan flag 4bf92f35 --remove",
    ),
    more="Overrides what the agent stated. Stored in the log, so a rebuild keeps it.",
)


def add_arguments(parser: Parser) -> None:
    add_mark_arguments(parser)
    parser.flags.add_argument("--remove", action="store_true", help="remove the flag")


def run(arguments: argparse.Namespace) -> int:
    seen = mark(arguments, "flag", {"remove": bool(arguments.remove)})
    if not arguments.json:
        state = "is flagged" if seen["set"] else "is no longer flagged"
        Screen.open(arguments.color).line(f"run {seen['run']} {state}")
    return 0
