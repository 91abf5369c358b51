"""`retrospan golden add|list|run|update`: runs kept beside the agent's code, which it has to do again as they are."""

from __future__ import annotations

import argparse
import shlex
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from retrospan.ingest.cli.client.arriving import find_whole_run
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.commands.bisect import add_jobs_flag, add_junit_flag, add_tool_flags
from retrospan.ingest.cli.terminal.arguments import Help, Parser, UsageError, add_color_flag
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.terminal.table import Column, show_table
from retrospan.ingest.cli.terminal.text import counted
from retrospan.ingest.cli.terminal.values import dump
from retrospan.ingest.cli.views.bundle_rows import read_run
from retrospan.ingest.cli.views.golden_checks import require_met, unmet_in_sql
from retrospan.ingest.cli.views.junit import Case, junit_of
from retrospan.ingest.cli.views.marking import mark_run
from retrospan.schemas.bundle.changes import changes
from retrospan.schemas.bundle.comparison import compare
from retrospan.schemas.bundle.expectation import check_expectation
from retrospan.schemas.bundle.form import Bundle, RunRecord
from retrospan.schemas.bundle.golden import (
    FOLDER,
    Golden,
    bundle_file,
    check_name,
    names_in,
    read_golden,
    write_golden,
)
from retrospan.schemas.bundle.sql_expectation import check_sql
from retrospan.schemas.errors import NotFound, PermanentError

if TYPE_CHECKING:
    from retrospan.exporter.replay.suite import Verdict

HELP = Help(
    job="Keep runs as golden: the agent has to do them again as they are on record, model calls and tools answered from it.",
    exits="0 done; run: 1 if a golden run is not done again as it is; 2 wrong use or trouble",
    examples=(
        "retrospan golden add 4bf92f35 refund --expect 'search_docs <= 3' --command 'python my_agent.py {question}'",
        "retrospan golden run",
        "retrospan golden update refund 7f3e91d0",
        "retrospan golden update refund -- python my_agent.py {question}",
    ),
    more="add RUN NAME writes the folder; list; run [NAME …]; update NAME RUN puts another run in its place, if that meets what is\n"
    "expected; update NAME -- COMMAND makes that run: what is on record is answered from it, the rest is really asked.\n"
    "An expectation is tools = NAME, NAME (these, in this order), NAME <= NUMBER (so many calls at most),\n"
    "NAME.ARGUMENT = JSON, or answer ~ WORDS; in SQL: SELECT … FROM tool_calls WHERE run_id = {run:String}.\n"
    "In pytest: the marker golden and the fixture replayed (docs/golden.md).",
)
_COLUMNS = (
    Column("NAME", style="cyan"),
    Column("RUN", priority=2),
    Column("CALLS", right=True, priority=3),
    Column("EXPECTED", right=True, priority=3),
    Column("DESCRIPTION", text=True, priority=1),
)


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument(
        "action", choices=("add", "list", "run", "update"), metavar="ACTION", help="add, list, run or update"
    )
    parser.inputs.add_argument("words", metavar="[RUN|NAME …]", nargs="*", help="see below")
    parser.runs_a_command = True
    parser.inputs.add_argument(
        "command", metavar="[-- COMMAND]", nargs="*", help="update: the changed agent, as it is started"
    )
    add = parser.flags.add_argument
    add("--dir", type=Path, default=Path(FOLDER), metavar="DIR", help=f"the folder of golden runs ({FOLDER})")
    add("--description", default="", metavar="TEXT", help="add: what the run shows")
    add(
        "--expect",
        action="append",
        default=[],
        metavar="TEXT",
        help="add: what it is held to; may be given again",
    )
    add(
        "--expect-sql",
        action="append",
        default=[],
        metavar="SQL",
        help="add: the same in SQL, one true value about {run:String}",
    )
    add(
        "--command",
        dest="start",
        default="",
        metavar="COMMAND",
        help="how the agent is started; add keeps it",
    )
    add(
        "--hold",
        action="store_true",
        help="add, update: the collector keeps the run and what it rests on",
    )
    add("--host", action="append", default=[], metavar="HOST", help="update: a host that may be reached")
    add_jobs_flag(parser)
    add_tool_flags(parser)
    add_junit_flag(parser)
    parser.output.add_argument("--json", action="store_true", help="one JSON object per golden run")
    parser.output.add_argument("--wide", action="store_true", help="do not cut lines to the terminal's width")
    add_color_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    arguments.utc = True
    if arguments.action != "add" and (arguments.expect or arguments.expect_sql or arguments.description):
        raise UsageError("--expect, --expect-sql and --description are for golden add.", "golden")
    if arguments.hold and arguments.action not in ("add", "update"):
        raise UsageError("--hold is for golden add and golden update.", "golden")
    if arguments.command and arguments.action != "update":
        raise UsageError("-- COMMAND is for golden update; elsewhere --command 'COMMAND'.", "golden")
    if arguments.junit and arguments.action != "run":
        raise UsageError("--junit is for golden run.", "golden")
    if arguments.host and not arguments.command:
        raise UsageError("--host is for golden update NAME -- COMMAND.", "golden")
    act = {"add": _add, "list": _list, "run": _run, "update": _update}[arguments.action]
    return act(arguments)


def _two(arguments: argparse.Namespace, wanted: str) -> tuple[str, str]:
    if len(arguments.words) != 2:
        raise UsageError(f"golden {arguments.action} {wanted}: give both, and no more.", "golden")
    return arguments.words[0], arguments.words[1]


def _add(arguments: argparse.Namespace) -> int:
    typed, name = _two(arguments, "RUN NAME")
    check_name(name)
    if name in names_in(arguments.dir):
        raise UsageError(f"there is a golden run '{name}' already: golden update {name} {typed}.", "golden")
    for flag, texts, check in (
        ("--expect", arguments.expect, check_expectation),
        ("--expect-sql", arguments.expect_sql, check_sql),
    ):
        for text in texts:
            try:
                check(text)
            except ValueError as error:
                raise UsageError(f"{flag}: {error}.", "golden") from error
    from retrospan.exporter.replay.redacting import rules_of

    session = Session.open(arguments)
    found, bundle = _read(session, typed)
    golden = Golden(
        name=name,
        run_id=found.run_id,
        description=arguments.description,
        expect=tuple(arguments.expect),
        expect_sql=tuple(arguments.expect_sql),
        command=tuple(shlex.split(arguments.start)),
        tools=tuple(arguments.tool),
        run_tools=tuple(arguments.run_tool),
        redaction=rules_of(found),
    )
    require_met(golden, found, session)
    _hold(arguments, session, golden)
    write_golden(arguments.dir, golden, bundle, is_new=True)
    session.screen.line(f"golden run {name}: {arguments.dir / name}.bundle and .toml")
    return 0


def _read(session: Session, typed: str) -> tuple[RunRecord, Bundle]:
    from retrospan.ingest.cli.main import version

    found, rules = read_run(session, find_whole_run(session, typed))
    return found, Bundle(made_by=f"retrospan {version()}", rules=rules, runs=(found,))


def _hold(arguments: argparse.Namespace, session: Session, golden: Golden) -> None:
    """Place a hold where that is asked for. Before the files are written: a golden run that was to be held never stands there unheld."""
    if arguments.hold:
        mark_run(session.warehouse, "hold", golden.run_id, f"golden run {golden.name}", {"until": 0})
        session.screen.note(f"run {golden.run_id} is held until that is lifted")


def _list(arguments: argparse.Namespace) -> int:
    screen = Screen.open(arguments.color, wide=arguments.wide)
    rows = list[list[str]]()
    for name in names_in(arguments.dir):
        golden, bundle = read_golden(arguments.dir, name)
        run = bundle.run(golden.run_id)
        calls = 0 if run is None else len(run.calls)
        if arguments.json:
            told = {"name": name, "run_id": golden.run_id, "calls": calls, "expect": list(golden.expect)}
            told["expect_sql"] = list(golden.expect_sql)
            screen.data(
                dump({**told, "description": golden.description, "command": list(golden.command)}) + "\n"
            )
        rows.append(
            [
                name,
                golden.run_id,
                str(calls),
                str(len(golden.expect) + len(golden.expect_sql)),
                golden.description,
            ]
        )
    if not arguments.json and rows:
        show_table(screen, _COLUMNS, rows)
    if not arguments.json:
        screen.note((f"{counted(len(rows), 'golden run')} in {arguments.dir}", "dim"))
    return 0


def _run(arguments: argparse.Namespace) -> int:
    from retrospan.exporter.replay.suite import several

    names = arguments.words or names_in(arguments.dir)
    if not names:
        raise NotFound(
            f"there is no golden run in {arguments.dir}. `retrospan golden add RUN NAME` makes one."
        )
    screen = Screen.open(arguments.color, wide=arguments.wide)
    red = 0
    replays = [partial(_replay, arguments, name) for name in names]
    in_sql = dict(zip(names, unmet_in_sql(arguments.dir, names), strict=True))
    cases = list[Case]()
    with (
        junit_of(arguments.junit, "retrospan golden run", cases),
        closing(several(replays, arguments.jobs)) as found,
    ):
        for golden, verdict, unmet in found:
            if verdict.kind == "trouble":
                cases.append(Case(golden.name, "error", verdict.kind, verdict.lines))
                raise PermanentError(f"golden run {golden.name}: {' '.join(verdict.lines)}")
            unmet += in_sql[golden.name]
            is_red = verdict.kind != "same" or bool(unmet)
            red += is_red
            said = [*(verdict.lines if verdict.kind != "same" else verdict.refused), *unmet]
            cases.append(Case(golden.name, "failure" if is_red else "passed", verdict.kind, said))
            if arguments.json:
                told = {
                    "name": golden.name,
                    "run_id": golden.run_id,
                    "verdict": verdict.kind,
                    "unmet": unmet,
                }
                screen.data(dump({**told, "lines": list(verdict.lines)}) + "\n")
                continue
            screen.line(("✗ " if is_red else "✓ ", "red" if is_red else "green"), golden.name)
            for line in [*(verdict.lines if verdict.kind != "same" else ()), *unmet]:
                screen.line(f"  {line}")
            for line in verdict.refused:
                screen.line((f"  {line}", "yellow"))
    if not arguments.json:
        screen.line(f"{len(names) - red} of {counted(len(names), 'golden run')} done again as on record")
    return 1 if red else 0


def _replay(arguments: argparse.Namespace, name: str) -> tuple[Golden, Verdict, list[str]]:
    """Replay a golden run; return what came of it, and which expectations the run does not meet."""
    from retrospan.exporter.replay.suite import replay_run

    golden, bundle = read_golden(arguments.dir, name)
    command = shlex.split(arguments.start) or list(golden.command)
    if not command:
        raise UsageError(
            f"say how the agent of '{name}' is started: --command 'python my_agent.py'.", "golden"
        )
    found = bundle.run(golden.run_id)
    assert found is not None
    how = {
        "tools": [*golden.tools, *arguments.tool],
        "live_tools": [*golden.run_tools, *arguments.run_tool],
        "redaction": golden.redaction or "off",
    }
    return golden, replay_run(found, bundle_file(arguments.dir, name), command, how), golden.unmet(found)


def _update(arguments: argparse.Namespace) -> int:
    if arguments.command:
        return _update_by_command(arguments)
    from retrospan.exporter.replay.redacting import rules_of

    name, typed = _two(arguments, "NAME RUN")
    golden, bundle = read_golden(arguments.dir, name)
    before = bundle.run(golden.run_id)
    assert before is not None
    session = Session.open(arguments)
    found, fresh = _read(session, typed)
    updated = replace(
        golden.updated(found.run_id),
        command=tuple(shlex.split(arguments.start)) or golden.command,
        tools=(*golden.tools, *(tool for tool in arguments.tool if tool not in golden.tools)),
        run_tools=tuple(dict.fromkeys([*golden.run_tools, *arguments.run_tool])),
        redaction=rules_of(found),
    )
    require_met(updated, found, session)
    _hold(arguments, session, updated)
    write_golden(arguments.dir, updated, fresh)
    session.screen.line(f"golden run {name}: {compare(before, found).told()}")
    return 0


def _update_by_command(arguments: argparse.Namespace) -> int:
    """Run the changed agent; put the run that comes of it in the place of the golden one, and say what changed."""
    from retrospan.exporter.replay.redacting import rules_of
    from retrospan.exporter.replay.suite import update_run

    if len(arguments.words) != 1:
        raise UsageError("golden update NAME -- COMMAND: give one name, and no run.", "golden")
    if arguments.hold:
        raise UsageError("--hold is for a run of the collector: golden update NAME RUN --hold.", "golden")
    (name,) = arguments.words
    golden, bundle = read_golden(arguments.dir, name)
    before = bundle.run(golden.run_id)
    assert before is not None
    redaction = golden.redaction if golden.redaction is not None else rules_of(before)
    how = {
        "tools": [*golden.tools, *arguments.tool],
        "redaction": redaction,
        "hosts": list(arguments.host),
        "live_tools": [*golden.run_tools, *arguments.run_tool],
    }
    made = update_run(before, bundle_file(arguments.dir, name), arguments.command, how)
    screen = Screen.open(arguments.color, wide=arguments.wide)
    for line in made.lines:
        screen.note(line)
    told = changes(before, made.run)
    if not told:
        screen.line(f"golden run {name}: nothing changed")
        return 0
    updated = replace(
        golden.updated(made.run.run_id),
        command=tuple(arguments.command),
        redaction=redaction,
        tools=(*golden.tools, *(tool for tool in arguments.tool if tool not in golden.tools)),
    )
    require_met(updated, made.run)
    write_golden(arguments.dir, updated, Bundle(made_by=bundle.made_by, rules=bundle.rules, runs=(made.run,)))
    screen.line(f"golden run {name} is another one now:")
    for line in told:
        screen.line(f"  {line}")
    return 0
