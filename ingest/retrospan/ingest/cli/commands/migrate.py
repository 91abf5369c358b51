"""`retrospan migrate`: brings tables and views to this release, as every collector does at its start."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from retrospan.ingest.cli.client.collector_client import CollectorClient
from retrospan.ingest.cli.terminal.arguments import Help, Parser, add_color_flag
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.terminal.text import counted
from retrospan.ingest.cli.terminal.values import dump
from retrospan.schemas.errors import CollectorUnreachable, NotFound, PermanentError

HELP = Help(
    job="Migrate the tables and views to this release. A collector does this itself when it starts.",
    exits="0 done, or nothing to do; 2 wrong use or trouble, such as data of a later release",
    examples=("retrospan migrate --dry-run", "retrospan migrate --data retrospan-data --dry-run"),
    more="Asks the running collector. With --data it opens the directory itself, which no collector may be using\n"
    "meanwhile. Migrations only add: they can be stopped and repeated, and lose nothing.",
)


def add_arguments(parser: Parser) -> None:
    add = parser.flags.add_argument
    add("--dry-run", action="store_true", help="only print what would be done")
    add("--data", metavar="DIR", help="the directory of a collector that is not running")
    parser.output.add_argument("--json", action="store_true", help="the progress, as JSON lines")
    add_color_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    screen = Screen.open(arguments.color)
    told = _in_directory(arguments.data, arguments.dry_run) if arguments.data else _asked(arguments.dry_run)
    seen: dict[str, object] = {}
    for progress in told:
        seen |= progress
        if arguments.json:
            screen.data(dump(progress) + "\n")
        if "error" in progress:
            raise PermanentError(f"migrating stopped: {progress['error']}")
        if "migration" in progress and not arguments.json:
            verb = "would apply" if arguments.dry_run else "applied"
            screen.line(f"{verb} {progress['migration']}")
    if "migrations" not in seen:
        raise PermanentError("the collector stopped before it was done. Start it: it continues by itself.")
    if not arguments.json:
        screen.line(_summary(seen, arguments.dry_run))
    return 0


def _summary(seen: dict[str, object], dry_run: bool) -> str:
    number = seen["migrations"] if isinstance(seen["migrations"], int) else 0
    if dry_run:
        return f"{counted(number, 'migration')} pending; nothing was changed"
    views = seen.get("views")
    return f"{counted(number, 'migration')} applied, {views} views are those of this release"


def _asked(dry_run: bool) -> Iterator[dict[str, object]]:
    warehouse = CollectorClient.from_environ(os.environ)
    try:
        yield from warehouse.admin("migrate", {"dry_run": dry_run})
    except CollectorUnreachable as error:
        raise CollectorUnreachable(
            f"{error}\nA collector migrates when it starts. Without one: retrospan migrate --data DIR"
        ) from error


def _in_directory(directory: str, dry_run: bool) -> Iterator[dict[str, object]]:
    """As the collector would do it: in its place, so the directory is claimed meanwhile."""
    # Imported here: only this needs the engine.
    from pathlib import Path

    from retrospan.ingest.load.migrating import migrate
    from retrospan.ingest.log.directory import claim, require_own
    from retrospan.ingest.machine.privacy import close_to_others
    from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse

    close_to_others()
    data = Path(directory)
    if not (data / "warehouse").is_dir():
        raise NotFound(f"{data} has no warehouse: nothing was ever stored there. Name another directory.")
    require_own(data)
    told: list[dict[str, object]] = []
    with claim(data):
        warehouse = EmbeddedWarehouse(data / "warehouse")
        try:
            migrate(warehouse, lambda progress: told.append(dict(progress)), dry_run=dry_run)
        finally:
            warehouse.close()
    yield from told
