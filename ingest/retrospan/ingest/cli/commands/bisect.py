"""`retrospan bisect --suite FILE -- COMMAND`: whether an agent still does what a suite of runs says, for `git bisect run`.

The replays happen in the agent's process: they are the exporter's.
"""

from __future__ import annotations

import argparse
import os
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Literal

from retrospan.ingest.cli.terminal.arguments import Help, Parser, UsageError, add_color_flag, number
from retrospan.ingest.cli.terminal.progress import Progress
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.terminal.text import counted
from retrospan.ingest.cli.terminal.values import dump
from retrospan.ingest.cli.views.junit import Case, write_junit
from retrospan.schemas.bundle.container import read_bundle

#: What git takes for "this commit cannot be tested".
GOOD, BAD, TROUBLE = 0, 1, 125
HELP = Help(
    job="Replay a suite of runs with the agent as it is checked out: git bisect run finds the commit that changed what it does.",
    exits="0 good: every run does what is on record, 1 bad: one does something else, 125 any trouble, and wrong use",
    examples=(
        "git bisect run retrospan bisect --suite errors.bundle -- python my_agent.py {question}",
        "retrospan bisect --suite refund.bundle --tool shop:send_email -- python my_agent.py",
    ),
    more="retrospan bundle --where … makes a suite. In COMMAND the word {question} stands for what the run was asked, {run_id} for its\n"
    "id. An agent that ends before it makes any call is trouble, and so is a tool that came to no boundary and is not named with\n"
    "--tool or --run-tool: git skips such a commit. It stops at the first run that differs.",
)


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument("command", metavar="-- COMMAND", nargs="*", help="the agent, as it is started")
    add = parser.flags.add_argument
    add("--suite", metavar="FILE", help="a bundle of the runs to replay")
    add("--all", action="store_true", help="replay every run, also after one that differs")
    add_jobs_flag(parser)
    add_tool_flags(parser)
    add_junit_flag(parser)
    parser.output.add_argument("--json", action="store_true", help="one JSON object per run")
    add_color_flag(parser)


def add_jobs_flag(parser: Parser) -> None:
    """Add how many runs are replayed at a time."""
    parser.flags.add_argument(
        "--jobs", type=number(1, 1_000), default=os.cpu_count() or 1, metavar="N",
        help="how many runs are replayed at a time (one for each processor)",
    )  # fmt: skip


def add_tool_flags(parser: Parser) -> None:
    """Add the flags that name plain functions, and tools that may run."""
    add = parser.flags.add_argument
    add(
        "--tool", action="append", default=[], metavar="MODULE:FUNCTION",
        help="a plain function that is a tool; may be given again",
    )  # fmt: skip
    add(
        "--run-tool", action="append", default=[], metavar="NAME",
        help="a tool that may run, whatever it does; may be given again",
    )  # fmt: skip


def add_junit_flag(parser: Parser) -> None:
    """Add where a report for servers for builds goes."""
    parser.output.add_argument(
        "--junit", type=Path, metavar="FILE", help="write a report there, as JUnit's XML"
    )


def run(arguments: argparse.Namespace) -> int:
    if not arguments.suite:
        raise UsageError("name the suite: --suite FILE. `retrospan bundle --where SQL` makes one.", "bisect")
    if not arguments.command:
        raise UsageError("say how the agent is started: … -- COMMAND.", "bisect")
    from retrospan.exporter.replay.suite import Verdict, replay_run, several

    bundle = read_bundle(arguments.suite)
    if not bundle.runs:
        raise UsageError(f"{arguments.suite} holds no run.", "bisect")
    screen = Screen.open(arguments.color)
    verdicts = list[Verdict]()
    how = {"tools": list(arguments.tool), "live_tools": list(arguments.run_tool)}
    replays = [partial(replay_run, each, bundle, arguments.command, how) for each in bundle.runs]
    with Progress(screen) as progress, closing(several(replays, arguments.jobs)) as found:
        for done, verdict in enumerate(found, 1):
            progress.tell({"phase": "replaying", "done": done, "total": len(bundle.runs), "unit": "runs"})
            verdicts.append(verdict)
            if verdicts[-1].kind == "changed" and not arguments.all:
                break
    for verdict in verdicts:
        _tell(screen, verdict, arguments.json)
    kinds = [verdict.kind for verdict in verdicts]
    if arguments.junit:
        outcomes: dict[str, Literal["passed", "failure"]] = {"same": "passed", "changed": "failure"}
        cases = [
            Case(each.run_id, outcomes.get(each.kind, "error"), each.kind, each.refused if each.kind == "same" else each.lines)
            for each in verdicts
        ]  # fmt: skip
        write_junit(arguments.junit, f"retrospan bisect {arguments.suite}", cases)
    if not arguments.json:
        do = "does" if len(bundle.runs) == 1 else "do"
        screen.line(f"{kinds.count('same')} of {counted(len(bundle.runs), 'run')} {do} what is on record")
    return BAD if "changed" in kinds else GOOD if {*kinds} == {"same"} else TROUBLE


def _tell(screen: Screen, verdict: object, as_json: bool) -> None:
    from retrospan.exporter.replay.suite import Verdict

    assert isinstance(verdict, Verdict)
    if as_json:
        screen.data(
            dump({"run_id": verdict.run_id, "verdict": verdict.kind, "lines": list(verdict.lines)}) + "\n"
        )
    elif verdict.kind != "same":
        screen.line("run ", (verdict.run_id, "cyan"), ": ", (verdict.kind, "red"))
        for line in verdict.lines:
            screen.line(f"  {line}")
