"""`retrospan spool send DIR`: delivers what an agent that is dead left in its spool.

The delivery is the exporter's own. This is the one module of the collector's side that imports it, and only when the
command runs: questions load nothing of it.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from retrospan.ingest.cli.terminal.arguments import Help, Parser, add_color_flag
from retrospan.ingest.cli.terminal.progress import Progress
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.terminal.text import counted
from retrospan.schemas.errors import CollectorUnreachable, PermanentError

if TYPE_CHECKING:
    from retrospan.exporter.delivery.estate import Estate

HELP = Help(
    job="Deliver what agents that have died left in their spool, and say of each that it was killed.",
    exits="0 delivered, or there was nothing; 2 wrong use or trouble: what was not delivered is still there",
    examples=(
        "retrospan spool send /var/lib/support/spool",
        "retrospan spool send spool --endpoint http://collector:4318 --json",
    ),
    more="Sends as the exporter in the agent does: OTEL_EXPORTER_OTLP_ENDPOINT, RETROSPAN_TOKEN and its other variables.",
)


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument("action", metavar="send", choices=("send",), help="deliver")
    parser.inputs.add_argument("directory", metavar="DIR", type=Path, help="the agent's spool")
    parser.flags.add_argument("--endpoint", metavar="URL", help="where the collector listens, instead")
    parser.output.add_argument("--json", action="store_true", help="what was delivered, as a JSON object")
    add_color_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    from retrospan.exporter.delivery.estate import deliver
    from retrospan.exporter.delivery.transports import load_transport, made_transport
    from retrospan.exporter.endpoints import shown
    from retrospan.exporter.settings import Settings

    screen = Screen.open(arguments.color)
    settings = Settings.read({"endpoint": arguments.endpoint}, os.environ, screen.note)
    load_transport(settings)
    # What the exporter would log in an agent is said below, once.
    logging.getLogger("retrospan.exporter").addHandler(logging.NullHandler())
    logging.getLogger("retrospan.exporter").propagate = False
    with Progress(screen) as progress:
        estate = deliver(
            arguments.directory,
            settings,
            lambda: made_transport(settings),
            lambda done, total: progress.tell(
                {"phase": "sending", "done": done, "total": total, "unit": "requests"}
            ),
        )
    _show(screen, estate, arguments)
    if estate.left:
        raise CollectorUnreachable(
            f"{counted(estate.left, 'request')} could not be delivered to {shown(settings.endpoint)}, and wait in "
            f"{arguments.directory} on: {estate.trouble}"
        )
    if estate.lost:
        reasons = "; ".join(f"{number}: {reason}" for reason, number in sorted(estate.lost.items()))
        raise PermanentError(f"not everything arrived ({reasons}).")
    return 0


def _show(screen: Screen, estate: Estate, arguments: argparse.Namespace) -> None:
    if arguments.json:
        found = {
            "spans": estate.spans,
            "log_records": estate.records,
            "killed": estate.killed,
            "requests_left": estate.left,
            "lost": estate.lost,
            "living": estate.living,
        }
        screen.line(json.dumps(found))
        return
    is_rest = bool(estate.left or estate.lost)
    if estate.spans or estate.records or (estate.killed and is_rest):
        screen.line(
            f"delivered {counted(estate.spans, 'span')} and {counted(estate.records, 'log record')}"
            + (f" of {_processes(estate.killed)} that died" if estate.killed else "")
        )
    elif estate.killed:
        which = "it was" if estate.killed == 1 else "they were"
        screen.line(
            f"{_processes(estate.killed)} died: the spool held nothing more to deliver, and the collector now knows "
            f"that {which} killed"
        )
    elif not is_rest:
        screen.line(f"there is nothing to send in {arguments.directory}")
    if estate.living:
        screen.note(
            f"{_processes(len(estate.living))} that live use the directory too, and deliver what is theirs"
        )


def _processes(number: int) -> str:
    return counted(number, "process", "processes")
