"""`retrospan fork RUN --step N -- COMMAND`: a run goes another way from a step on, and is a run of its own."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from retrospan.ingest.cli.commands.replay import (
    add_cage_flags,
    caged,
    require_command,
    session_of,
    source_of,
    tell,
)
from retrospan.ingest.cli.terminal.arguments import RUN_HELP, Help, Parser, UsageError, number
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.schemas.bundle.form import Bundle, RunRecord
from retrospan.schemas.errors import ConfigError

if TYPE_CHECKING:
    from retrospan.exporter.replay.conditions import Edits
    from retrospan.ingest.cli.client.collector_client import Row

HELP = Help(
    job="Run an agent again: as recorded before a step, with something changed there, and live from there on.",
    exits="the exit code of the command; 1 if it left the record before the step, or did nothing from it on, or the change had no effect; "
    "2 wrong use or trouble",
    examples=(
        "retrospan fork last --step 4 --prompt strict.txt --host api.openai.com -- python my_agent.py",
        "retrospan fork 4bf92f35 --step 6 --set request.model=gpt-5 --host api.openai.com -- python my_agent.py",
        "retrospan fork refund.bundle --step 3 --set 'answer=I do not know.' -- python my_agent.py",
        "retrospan fork last --step 4 --set state.price=9 --host api.openai.com -- python my_agent.py",
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
        "--type",
        action="append",
        default=[],
        metavar="MODULE:CLASS",
        help="a class of the program in a LangGraph graph's state; may be given again",
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="answer=TEXT: what the model says at that step; result=JSON: what the next tool returns; "
        "request.FIELD=JSON: a field of every request from there on; state.KEY=JSON: a key of the state that "
        "the agent begins with, state.KEY.KEY one inside; may be given again",
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
        state={
            key.removeprefix("state."): _value(text)
            for key, text in changes.items()
            if key.startswith("state.")
        },
    )
    source, parent = source_of(arguments)
    thread = _thread(arguments, source, edits) if edits.state else None
    how = {
        **caged(arguments),
        "hosts": [*arguments.host, *_COLLECTORS, *_endpoints()],
        "mode": "edit" if edits.there else "until",
        "until": arguments.step,
        "edits": edits,
        "thread": thread,
    }
    ran = run_command(arguments.command, source, how, Descent("forks", parent, arguments.step, edits.patch()))
    tell(arguments, ran)
    if not arguments.json and not ran.report["miss"]:
        Screen.open(arguments.color).note(f"  compare: retrospan diff {parent} last")
    has_no_effect = bool(edits.state) and not ran.report["state_to"]
    if not (edits.state or ran.report["live"] or ran.report["miss"]):
        has_no_effect = True
        if not arguments.json:
            Screen.open(arguments.color).note(
                f"  nothing was changed: the agent made no call from step {arguments.step} on"
            )
    return 1 if ran.report["miss"] or has_no_effect else ran.exit_code


def _thread(arguments: argparse.Namespace, source: Bundle | Path, edits: Edits) -> dict[str, object] | None:
    """Return from which checkpoint a graph of LangGraph goes on, with its records; None where no contents of one are on record.

    Raises ConfigError where the state of the run cannot be set so: before anything is started.
    """
    from retrospan.exporter.replay.beginning import beginning
    from retrospan.schemas.bundle.container import read_bundle

    runs = (source if isinstance(source, Bundle) else read_bundle(source)).runs
    if len(runs) == 1 and not runs[0].states:
        raise ConfigError(_without_states(runs[0]))
    beginning(runs, arguments.step, edits.state)
    if not runs[0].checkpoints:
        return None
    rows: list[Row] = [dict(each) for each in runs[0].checkpoint_records]
    if isinstance(source, Bundle):
        rows = session_of(arguments).ask("checkpoint_contents", run_id=runs[0].run_id)
    before = checkpoint_before(
        runs[0], arguments.step, {str(row["checkpoint_id"]) for row in rows if _is_inner(row)}
    )
    if not rows or before is None:
        return None
    checkpoint, first = before
    restore = "retrospan.queries.forked_thread:forked"
    types = [_class(word) for word in arguments.type]
    return {"restore": restore, "checkpoint": checkpoint, "first": first, "rows": rows, "types": types}


def _class(word: str) -> tuple[str, str]:
    module, colon, name = word.partition(":")
    if not (module and colon and name):
        raise UsageError(f"--type {word}: write MODULE:CLASS, as shop.orders:Order.", "fork")
    return module, name


def checkpoint_before(run: RunRecord, step: int, inner: Container[str] = ()) -> tuple[str, int] | None:
    """Return the last checkpoint before a step and the first step after it; None where the run has none.

    `inner` are checkpoints of graphs inside the graph.
    """
    outer = [each for each in run.checkpoints if each.checkpoint_id not in inner]
    earlier = [each for each in outer if (each.step or 0) < step]
    if earlier:
        return earlier[-1].checkpoint_id, (earlier[-1].step or 0) + 1
    # A run that goes on with a thread begins at a checkpoint of the run before.
    above = outer[0].parent_id if outer else None
    return None if above is None else (above, 1)


def _is_inner(row: Row) -> bool:
    """Tell whether a record is of a graph inside the graph; one that cannot be read is refused where it is needed."""
    try:
        said = json.loads(str(row["content"]))
    except ValueError:
        return False
    return isinstance(said, dict) and bool(cast("dict[str, object]", said).get("namespace"))


def _without_states(run: RunRecord) -> str:
    from retrospan.ingest.cli.views.bundle_rows import switch_of

    how = switch_of(run.dialects)("state")
    return f"run {run.run_id} has no states on record, so that none can be set. To record them: {how}."


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--prompt: {file} cannot be read as text: {error}.", "fork") from error


def _changes(words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        kind, _, path = key.partition(".")
        is_path = kind in ("request", "state") and all(path.split("."))
        if not equals or not (key in ("answer", "result") or is_path):
            raise UsageError(
                f"--set {word}: write answer=TEXT, result=JSON, request.FIELD=JSON or state.KEY=JSON.", "fork"
            )
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
