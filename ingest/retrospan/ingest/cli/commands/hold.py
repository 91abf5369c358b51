"""`retrospan hold RUN`: forbids that a run is deleted, or lifts that."""

from __future__ import annotations

import argparse

from retrospan.ingest.cli.terminal.arguments import Help, Parser, moment
from retrospan.ingest.cli.terminal.moments import Moment
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.views.marking import add_mark_arguments, mark
from retrospan.schemas.errors import PermanentError

HELP = Help(
    job="Forbid deleting a run, and the runs that its provenance depends on.",
    exits="0 done, 2 wrong use or trouble, such as a hold that lasts longer",
    examples=(
        'retrospan hold 4bf92f35 --reason "case 2026-114"',
        "retrospan hold 4bf92f35 --until 2027-12-31",
        "retrospan hold 4bf92f35 --lift",
    ),
    more="A hold can be extended but not shortened; lift it instead, which the log records too.",
)


def add_arguments(parser: Parser) -> None:
    add_mark_arguments(parser)
    add = parser.flags.add_argument
    add("--until", type=moment, metavar="TIME", help="when it expires (RFC 3339); by default never")
    add("--lift", action="store_true", help="lift the hold")


def run(arguments: argparse.Namespace) -> int:
    if arguments.lift and arguments.until:
        raise PermanentError(
            "--lift and --until exclude each other: lift the hold, then hold until another time."
        )
    told: dict[str, object] = {"lift": True} if arguments.lift else {"until": int(arguments.until or 0)}
    seen = mark(arguments, "hold", told)
    if not arguments.json:
        Screen.open(arguments.color).line(f"run {seen['run']} {_state(seen)}")
    return 0


def _state(seen: dict[str, object]) -> str:
    until = seen.get("until")
    if not seen["set"]:
        return "is no longer held"
    return (
        f"is held until {Moment(until).rfc3339()}"
        if isinstance(until, int)
        else "is held until that is lifted"
    )
