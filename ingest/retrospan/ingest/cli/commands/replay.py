"""`retrospan replay RUN|FILE -- COMMAND`: an agent runs again, in the cage of its record.

The replay itself is the exporter's: it happens in the agent's process.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from retrospan.ingest.cli.terminal.arguments import RUN_HELP, Help, Parser, UsageError, add_color_flag, number
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.schemas.bundle.archive import run_ids_in
from retrospan.schemas.errors import PermanentError

if TYPE_CHECKING:
    from retrospan.exporter.replay.commanding import Ran
    from retrospan.ingest.cli.client.session import Session
    from retrospan.schemas.bundle.form import Bundle

HELP = Help(
    job="Run an agent again, every model call and tool call answered from the record of a run, and nothing let out.",
    exits="0 it did what is on record, to the end; 1 it left the record, stopped before its end, or called tools at no boundary; "
    "2 wrong use or trouble",
    examples=(
        "retrospan replay last -- python my_agent.py",
        "retrospan replay refund.bundle --tool shop.tools:send_email -- python my_agent.py",
        "retrospan replay 4bf92f35 --until 6 --host api.openai.com -- python my_agent.py",
    ),
    more="The command needs no change: its Python begins the replay before the agent. Tools of LangChain, LangGraph,\n"
    "OpenAI Agents, Pydantic AI and MCP are answered without being named; plain functions are named with --tool.\n"
    "docs/replay.md says what is answered.",
)


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument("run", metavar="RUN|FILE", help=f"{RUN_HELP}; or a bundle of runs")
    add_cage_flags(parser)
    parser.flags.add_argument(
        "--until", type=number(1), metavar="N", help="answer the steps before N; from there on calls go out"
    )
    parser.flags.add_argument(
        "--shadow", action="store_true", help="let every model call out, and say what differs from the record"
    )


def add_cage_flags(parser: Parser) -> None:
    """Add the command, and what lets it do more than the record holds."""
    parser.runs_a_command = True
    parser.inputs.add_argument("command", metavar="-- COMMAND", nargs="*", help="the agent, as it is started")
    add = parser.flags.add_argument
    add(
        "--tool",
        action="append",
        default=[],
        metavar="MODULE:FUNCTION",
        help="a plain function that is a tool, of the program by its file: my_agent:find; may be given again",
    )
    add("--host", action="append", default=[], metavar="HOST", help="a host that may be reached")
    add(
        "--process",
        action="append",
        default=[],
        metavar="NAME",
        help="a program that may be started; fork: forks",
    )
    add(
        "--run-tool",
        action="append",
        default=[],
        metavar="NAME",
        help="a tool that may run, whatever it does",
    )
    add(
        "--redaction",
        default="off",
        metavar="RULES",
        help="what is taken out of requests before they are compared: off, secrets, all, or a TOML file",
    )
    add("--report", metavar="FILE", type=Path, help="write the report there, as a JSON object")
    parser.output.add_argument(
        "--json", action="store_true", help="the report as a JSON object, on standard output"
    )
    add_color_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    require_command(arguments, "replay")
    if arguments.shadow and arguments.until:
        raise UsageError("--shadow lets every call out: leave out --until.", "replay")
    from retrospan.exporter.replay.commanding import run_command
    from retrospan.exporter.replay.descent import Descent

    source, parent = source_of(arguments)
    mode = "shadow" if arguments.shadow else "until" if arguments.until else "strict"
    how = {**caged(arguments), "mode": mode, "until": arguments.until}
    ran = run_command(arguments.command, source, how, Descent("replays", parent))
    tell(arguments, ran)
    return 0 if ran.is_identical or (mode != "strict" and ran.report["verdict"] == "live") else 1


def require_command(arguments: argparse.Namespace, name: str) -> None:
    """Raise UsageError where no command is given."""
    if not arguments.command:
        raise UsageError(f"say how the agent is started: retrospan {name} {arguments.run} -- COMMAND.", name)


def source_of(arguments: argparse.Namespace) -> tuple[Bundle | Path, str]:
    """Return the file of a bundle, or a bundle of a run in the warehouse; and the id of the first run."""
    if arguments.run.endswith(".bundle") or Path(arguments.run).is_file():
        # The agent's process reads the rest.
        run_ids = run_ids_in(arguments.run)
        if not run_ids:
            raise PermanentError(f"{arguments.run} holds no run.")
        return Path(arguments.run), run_ids[0]
    # Here: a file needs no collector, and nothing that asks one.
    from retrospan.ingest.cli.client.arriving import find_whole_run
    from retrospan.ingest.cli.main import version
    from retrospan.ingest.cli.views.bundle_rows import read_run
    from retrospan.schemas.bundle.form import Bundle

    session = session_of(arguments)
    found, rules = read_run(session, find_whole_run(session, arguments.run))
    return Bundle(made_by=f"retrospan {version()}", rules=rules, runs=(found,)), found.run_id


def session_of(arguments: argparse.Namespace) -> Session:
    """Return what asks the collector."""
    from retrospan.ingest.cli.client.session import Session

    return Session.open(argparse.Namespace(**vars(arguments), wide=False, utc=False))


def caged(arguments: argparse.Namespace) -> dict[str, object]:
    """Return what the flags say of the cage, as `replay` takes it."""
    return {
        "tools": list(arguments.tool),
        "hosts": list(arguments.host),
        "processes": list(arguments.process),
        "live_tools": list(arguments.run_tool),
        "redaction": arguments.redaction,
    }


def tell(arguments: argparse.Namespace, ran: Ran) -> None:
    """Print the report beside what the agent printed, and write it where that is asked for."""
    report: Mapping[str, object] = {**ran.report, "exit_code": ran.exit_code}
    screen = Screen.open(arguments.color)
    if arguments.report:
        arguments.report.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if arguments.json:
        screen.line(json.dumps(report, ensure_ascii=False))
        return
    for line in ran.lines:
        screen.note(line)
    if ran.exit_code:
        screen.note(f"  the command ended with exit code {ran.exit_code}")
