"""`retrospan demo`: recorded agent runs through a real collector, and the answers."""

from __future__ import annotations

import argparse

from retrospan.ingest.cli.terminal.arguments import Help, Parser, add_color_flag
from retrospan.ingest.cli.terminal.screen import Screen

HELP = Help(
    job="Replay recorded agent runs into a temporary collector, and ask what happened.",
    exits="0 shown, 2 trouble",
    examples=("retrospan demo", "retrospan demo --serve"),
    more="Uses free ports and a temporary directory; needs no key, no account and no network.",
)


def add_arguments(parser: Parser) -> None:
    parser.flags.add_argument(
        "--serve", action="store_true", help="keep running afterwards and print the address, until Ctrl-C"
    )
    add_color_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    from retrospan.ingest.machine.operating_system import require_collectors

    require_collectors()
    # Imported here: it needs the engine and gRPC.
    from retrospan.ingest.demo.play import run_demo
    from retrospan.ingest.machine.privacy import close_to_others

    close_to_others()
    return run_demo(serve=arguments.serve, screen=Screen.open(arguments.color), color=arguments.color)
