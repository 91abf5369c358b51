"""`retrospan doctor`: looks at everything a collector needs, or at what a run's instrumentation leaves out."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from retrospan.ingest.cli.client.collector_client import DEFAULT_URL, CollectorClient
from retrospan.ingest.cli.terminal.arguments import RUN_HELP, Help, Parser, add_color_flag
from retrospan.ingest.cli.terminal.screen import Screen, Style
from retrospan.ingest.cli.terminal.text import counted
from retrospan.ingest.cli.terminal.values import dump
from retrospan.schemas.errors import CollectorUnreachable

if TYPE_CHECKING:
    from retrospan.ingest.doctor.finding import Finding
    from retrospan.ingest.settings.config import Config

HELP = Help(
    job="Check everything a collector needs; with --run, what a run's instrumentation leaves out.",
    exits="0 nothing failed, 1 something failed (with --exit-code: or a warning), 2 wrong use or trouble",
    examples=(
        "retrospan doctor",
        "retrospan doctor --data /var/lib/retrospan --json",
        "retrospan doctor --run last",
    ),
    more="Asks the running collector. Without one it examines the directory, unless another process uses that:\n"
    "give doctor the same --data, --config and variables as serve. It changes nothing.\n"
    "Lists every setting in force and its source; docs/configuration.md explains them.",
)
_STYLES: dict[str, Style] = {"ok": "green", "warning": "yellow", "failed": "red"}
_LONGEST_NAME = 14


def add_arguments(parser: Parser) -> None:
    add = parser.flags.add_argument
    add("--run", metavar="RUN", help=f"what this run lacks, and how to turn it on: {RUN_HELP}")
    add("--data", metavar="DIR", help="the collector's directory (./retrospan-data; RETROSPAN_DATA)")
    add("--config", metavar="FILE", help="the collector's TOML file (RETROSPAN_CONFIG)")
    add("--exit-code", action="store_true", help="exit 1 also for a warning")
    parser.output.add_argument("--json", action="store_true", help="one JSON object per finding and line")
    add_color_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    screen = Screen.open(arguments.color)
    found: dict[str, int] = {"ok": 0, "warning": 0, "failed": 0}
    for finding in _of_run(arguments) if arguments.run else _of_collector(arguments):
        found[finding.result] += 1
        if arguments.json:
            shown = {name: value for name, value in asdict(finding).items() if name != "settings" or value}
            screen.data(dump(shown) + "\n")
            continue
        screen.line(
            (f"{finding.result:<8}", _STYLES[finding.result]),
            f" {finding.check:<{_LONGEST_NAME}} ",
            finding.said,
        )
        if finding.todo:
            screen.line(" " * (_LONGEST_NAME + 10), ("→ ", "dim"), finding.todo)
        if finding.settings:
            _list_settings(screen, finding)
    if not arguments.json:
        screen.line(_summary(found))
    return 1 if found["failed"] or (arguments.exit_code and found["warning"]) else 0


def _list_settings(screen: Screen, finding: Finding) -> None:
    # Imported here: --run does without it.
    from retrospan.ingest.settings.setting_values import readable

    for key, each in finding.settings.items():
        value = readable(key, each["value"]) or "none"
        screen.line(" " * (_LONGEST_NAME + 10), f"{key:<26} {value:<15} ", (str(each["source"]), "dim"))


def _summary(found: dict[str, int]) -> str:
    if not found["failed"] and not found["warning"]:
        return f"all {found['ok']} well"
    return f"{found['failed']} failed, {counted(found['warning'], 'warning')}, {found['ok']} ok"


def _of_run(arguments: argparse.Namespace) -> Iterator[Finding]:
    from retrospan.ingest.cli.client.session import Session
    from retrospan.ingest.cli.views.left_out import left_out

    arguments.wide, arguments.utc = True, True
    return left_out(Session.open(arguments), arguments.run)


def _of_collector(arguments: argparse.Namespace) -> Iterator[Finding]:
    # Imported here, as everything that only this command needs; --run does without it.
    from pathlib import Path

    from retrospan.ingest.doctor import machine, settings, targets
    from retrospan.ingest.doctor.running import check_running
    from retrospan.ingest.machine.privacy import close_to_others
    from retrospan.ingest.settings.config import Config

    close_to_others()
    file = None if arguments.config is None else Path(arguments.config)
    warehouse = CollectorClient.from_environ(os.environ)
    page: dict[str, object] = {}
    silent: Finding | None = None
    try:
        page = warehouse.state()
    except CollectorUnreachable as error:
        silent = _unreachable(warehouse, error)
    config, finding = settings.check_settings(
        lambda: Config.read({"data": arguments.data}, os.environ, file), os.environ, page
    )
    yield finding
    if silent is not None:
        yield silent
        yield from _without(config)
    else:
        yield from check_running(page, warehouse.url)
        if page.get("now"):
            behind = page.get("clock_behind_seconds")
            yield machine.check_clock(str(page["now"]), behind if isinstance(behind, float) else 0.0)
        if page.get("data") and settings.is_here(warehouse.url):
            yield settings.check_open_ports(page)
            yield from filter(None, [machine.check_private(Path(str(page["data"])))])
            yield machine.check_sync(Path(str(page["data"])))
            yield machine.check_core()
    if not page:
        yield settings.check_tokens(config)
    elif "settings" in page:
        yield settings.check_tokens_of(page, is_near=settings.is_here(warehouse.url))
    else:
        yield settings.check_own_token(lambda: warehouse.ask("SELECT 1"), has_token=warehouse.has_token)
    yield from filter(None, (settings.check_tls(config), settings.check_exporters(os.environ, page)))
    yield from targets.check_targets(config)


def _unreachable(warehouse: CollectorClient, error: CollectorUnreachable) -> Finding:
    from retrospan.ingest.doctor.finding import failed, warning

    said = str(error).partition("\n")[0]
    if os.environ.get("RETROSPAN_URL", "").strip():
        return failed("collector", said, "start it, or correct RETROSPAN_URL")
    return warning("collector", f"none answers at {DEFAULT_URL}", "retrospan serve, or set RETROSPAN_URL")


def _without(config: Config) -> Iterator[Finding]:
    """Yield what can be looked at while no collector answers."""
    from retrospan.ingest.doctor import machine, settings

    yield settings.check_free_ports(config)
    yield machine.check_disk(config.data, config.limits.low_water_bytes)
    yield from filter(None, [machine.check_private(config.data)])
    yield machine.check_sync(config.data)
    yield machine.check_system()
    yield machine.check_core()
    engine = machine.check_engine()
    yield engine
    yield machine.check_confinement()
    # Imported here: it needs what reads the log, and perhaps the engine.
    from retrospan.ingest.doctor.directory import check_directory

    yield from check_directory(config.data, engine=engine.result == "ok")
