"""What `flag` and `hold` share: finding the run, asking the collector, and printing the state afterwards. `golden --hold` asks as well."""

from __future__ import annotations

import argparse
import getpass
import os
import socket

from retrospan.ingest.cli.client.collector_client import CollectorClient
from retrospan.ingest.cli.client.references import find_run
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import RUN_HELP, Parser, add_color_flag
from retrospan.ingest.cli.terminal.moments import Zone
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.terminal.values import dump
from retrospan.schemas.errors import PermanentError


def add_mark_arguments(parser: Parser) -> None:
    """RUN and the flags of both commands."""
    parser.inputs.add_argument("run", metavar="RUN", help=RUN_HELP)
    parser.flags.add_argument("--reason", metavar="TEXT", default="", help="why; stored with it")
    parser.output.add_argument("--json", action="store_true", help="the state afterwards, as a JSON object")
    add_color_flag(parser)


def mark(arguments: argparse.Namespace, command: str, told: dict[str, object]) -> dict[str, object]:
    """Have the collector mark the run; return the state afterwards, with `screen` to print it on."""
    screen = Screen.open(arguments.color)
    warehouse = CollectorClient.from_environ(os.environ)
    run_id = find_run(Session(arguments, screen, warehouse, Zone(utc=True)), arguments.run)
    seen = mark_run(warehouse, command, run_id, arguments.reason, told)
    if arguments.json:
        screen.data(dump(seen) + "\n")
    return seen


def mark_run(
    warehouse: CollectorClient, command: str, run_id: str, reason: str, told: dict[str, object]
) -> dict[str, object]:
    """Have the collector mark a run whose whole id is known; return the state afterwards."""
    asked = {"run": run_id, "reason": reason, "by": who(), **told}
    seen: dict[str, object] = {}
    for line in warehouse.admin(command, asked):
        if "error" in line:
            raise PermanentError(f"{command}: {line['error']}")
        seen |= line
    if seen.get("done") is not True:
        raise PermanentError("the collector went away before it answered. Ask again: it is safe to repeat.")
    del seen["done"]
    return seen


def who() -> str:
    """Return who asks, as it is kept with what was asked: the user of this machine."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"
