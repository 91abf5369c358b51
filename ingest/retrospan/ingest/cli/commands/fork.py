"""`retrospan fork RUN --step N -- COMMAND`: a run goes another way from a step on, and is a run of its own."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from urllib.parse import urlsplit

from retrospan.ingest.cli.commands.replay import add_cage_flags, caged, require_command, source_of, tell
from retrospan.ingest.cli.terminal.arguments import RUN_HELP, Help, Parser, UsageError, number
from retrospan.ingest.cli.terminal.screen import Screen

HELP = Help(
    job="Run an agent again: as recorded before a step, with something changed there, and live from there on.",
    exits="the exit code of the command; 1 if it left the record before the step; 2 wrong use or trouble",
    examples=(
        "retrospan fork last --step 4 --prompt strict.txt --host api.openai.com -- python my_agent.py",
        "retrospan fork 4bf92f35 --step 6 --set request.model=gpt-5 --host api.openai.com -- python my_agent.py",
        "retrospan fork refund.bundle --step 3 --set 'answer=I do not know.' -- python my_agent.py",
    ),
    more="The new run names its parent, the step and what was changed: `retrospan diff RUN last` begins at the fork.\n"
    "Where the agent records to may be reached. Tools that write are refused from the step on, unless --run-tool\n"
    "names them.",
)
#: Where OTLP goes when nothing says otherwise.
_COLLECTORS = ("localhost:4317", "localhost:4318", "127.0.0.1:4317", "127.0.0.1:4318")
_ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
)


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument("run", metavar="RUN|FILE", help=f"{RUN_HELP}; or a bundle of runs")
    add_cage_flags(parser)
    add = parser.flags.add_argument
    add("--step", type=number(1), metavar="N", required=True, help="the first step that is not as recorded")
    add("--prompt", type=Path, metavar="FILE", help="the instructions from that step on")
    add(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="answer=TEXT: what the model says at that step; result=JSON: what the next tool returns; "
        "request.FIELD=JSON: a field of every request from there on",
    )


def run(arguments: argparse.Namespace) -> int:
    require_command(arguments, "fork")
    from retrospan.exporter.replay.commanding import run_command
    from retrospan.exporter.replay.conditions import Edits
    from retrospan.exporter.replay.descent import Descent

    prompt = None if arguments.prompt is None else _read(arguments.prompt)
    changes = _changes(arguments.set)
    edits = Edits(
        prompt=prompt,
        answer=changes.get("answer"),
        result=_value(changes.get("result")),
        has_result="result" in changes,
        request={
            key.removeprefix("request."): _value(text)
            for key, text in changes.items()
            if key.startswith("request.")
        },
    )
    source, parent = source_of(arguments)
    cage = caged(arguments)
    how = {
        **cage,
        "hosts": [*arguments.host, *_COLLECTORS, *_endpoints()],
        "mode": "edit" if edits.there else "until",
        "until": arguments.step,
        "edits": edits,
    }
    ran = run_command(arguments.command, source, how, Descent("forks", parent, arguments.step, edits.patch()))
    tell(arguments, ran)
    if not arguments.json and not ran.report["miss"]:
        Screen.open(arguments.color).note(f"  compare: retrospan diff {parent} last")
    return 1 if ran.report["miss"] else ran.exit_code


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--prompt: {file} cannot be read as text: {error}.", "fork") from error


def _changes(words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if key.startswith("state."):
            raise UsageError(
                f"--set {key}: the state of an agent is its program's own, and cannot be set from here; "
                "change what it is told: answer=, result=, request.FIELD= or --prompt.",
                "fork",
            )
        if not equals or not (key in ("answer", "result") or (key.startswith("request.") and key[8:])):
            raise UsageError(f"--set {word}: write answer=TEXT, result=JSON or request.FIELD=JSON.", "fork")
        found[key] = value
    return found


def _value(text: str | None) -> object:
    """Return the JSON value of a text, or the text itself where it is not JSON."""
    if text is None:
        return None
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    return value


def _endpoints() -> list[str]:
    """Return where this agent's spans go by its variables."""
    urls = [urlsplit(os.environ[name]) for name in _ENDPOINTS if os.environ.get(name)]
    return [url.netloc.rpartition("@")[2] for url in urls if url.netloc]
