"""Runs replayed each in a process of its own, several at a time: the agent did what is on record, something else, or it
could not be told.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory
from typing import IO, Literal, TypeVar, cast

from retrospan.exporter.replay.commanding import Ran, run_command
from retrospan.exporter.replay.descent import Descent
from retrospan.schemas.bundle.container import read_bundle
from retrospan.schemas.bundle.form import Bundle, RunRecord
from retrospan.schemas.errors import PermanentError

Came = TypeVar("Came")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a run.

    `same_outside_tools`: recorded tools came to no boundary, so that it is not known whether they did the same.
    `trouble`: the agent came to no call at all, so that nothing is known of what it does.
    """

    run_id: str
    kind: Literal["same", "same_outside_tools", "changed", "trouble"]
    lines: tuple[str, ...]
    refused: tuple[str, ...] = ()
    """What was not let out, line by line: a run may be the same and have wanted it all the same."""


def replay_run(
    run: RunRecord,
    source: Bundle | Path,
    command: Sequence[str],
    how: Mapping[str, object],
    output: int | IO[bytes] | None = DEVNULL,
) -> Verdict:
    """Replay one run of a bundle, or of a file of one, strictly with a command, in which the words {question} and
    {run_id} stand for those of the run.
    """
    if isinstance(source, Bundle):
        source = Bundle(made_by=source.made_by, rules=source.rules, runs=(run,))
    told = {**how, "mode": "strict", "until": None, "run": run.run_id}
    # Python would take what it compiled of one commit for the next, if a file has the same length and second.
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ran = run_command(filled(command, run), source, told, environ=environ, output=output)
    except PermanentError as error:
        return Verdict(run.run_id, "trouble", (str(error),))
    return _verdict(run, ran)


@dataclass(frozen=True, slots=True)
class Made:
    """A new record that an agent's run made, and the report of it for people."""

    run: RunRecord
    lines: tuple[str, ...]


def update_run(run: RunRecord, file: Path, command: Sequence[str], how: Mapping[str, object]) -> Made:
    """Run a changed agent; what the record of a run does not answer is really asked.

    Raises PermanentError where that gives no whole record: the agent failed, or something that it wanted was refused.
    """
    with TemporaryDirectory(prefix="retrospan-update-") as place:
        made = Path(place) / "made.bundle"
        told = {**how, "mode": "update", "run": run.run_id, "record_to": str(made)}
        ran = run_command(filled(command, run), file, told, Descent("replays", run.run_id))
        if ran.exit_code:
            raise PermanentError(
                f"the command ended with exit code {ran.exit_code}: nothing is updated. {' '.join(ran.lines)}"
            )
        refused = cast("list[dict[str, str]]", ran.report["refused"])
        if ran.report["miss"]:
            raise PermanentError(f"nothing is updated. {ran.report['miss']}")
        if refused:
            raise PermanentError(
                f"nothing is updated, for something was refused: {refused[0]['what']}, wanted by {refused[0]['caller']}. "
                "A host is named with --host; a tool that may run, whatever it does, with --run-tool."
            )
        if not made.exists():
            raise PermanentError("nothing is updated: the agent's process ended without a record of its run.")
        (found,) = read_bundle(made).runs
    if not found.calls:
        raise PermanentError("nothing is updated: the agent made no call.")
    live = dict.fromkeys(cast("list[str]", ran.report["live"]))
    return Made(found, (*ran.lines, *(f"  really asked: {each}" for each in live)))


def several(replays: Sequence[Callable[[], Came]], jobs: int) -> Generator[Came]:
    """Do replays, so many at a time, and yield what came of each in the order given.

    Whoever stops early closes the generator: what was not begun is not done then. An error of a replay is raised in its
    turn.
    """
    # Threads: each waits for a process.
    with ThreadPoolExecutor(max(1, min(jobs, len(replays)))) as pool:
        try:
            for future in [pool.submit(each) for each in replays]:
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def filled(command: Sequence[str], run: RunRecord) -> list[str]:
    """Return the command with what the run was asked in the place of {question}, and its id in that of {run_id}."""
    given = {"{question}": run.question or "", "{run_id}": run.run_id}
    # Whole words: a question may hold anything, {run_id} as well.
    return [given.get(word, word) for word in command]


def _verdict(run: RunRecord, ran: Ran) -> Verdict:
    lines = tuple(ran.lines)
    if ran.is_identical:
        refused = cast("list[dict[str, str]]", ran.report["refused"])
        told = tuple(f"refused: {each['what']}, wanted by {each['caller']}" for each in refused)
        return Verdict(run.run_id, "same", lines, told)
    if ran.report["verdict"] == "identical_outside_tools":
        return Verdict(run.run_id, "same_outside_tools", lines)
    answered = ran.report["model_calls_answered"] or ran.report["tool_calls_answered"]
    if not answered and not ran.report["miss"]:
        why = f"the command ended with exit code {ran.exit_code} before it made a call"
        return Verdict(run.run_id, "trouble", (*lines, why))
    return Verdict(run.run_id, "changed", lines)
