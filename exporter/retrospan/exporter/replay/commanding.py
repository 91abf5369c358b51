"""Runs a command whose Python begins a replay, waits for it, and reads the report of the replay."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, NamedTuple

from retrospan.exporter.replay.descent import Descent
from retrospan.exporter.replay.starting import read_report, variables
from retrospan.schemas.errors import PermanentError

if TYPE_CHECKING:
    from retrospan.schemas.bundle.form import Bundle


class Ran(NamedTuple):
    """A command that has ended."""

    exit_code: int
    report: Mapping[str, object]
    lines: Sequence[str]
    """The report for people."""

    @property
    def is_identical(self) -> bool:
        """Tell whether the agent did what is on record, to its end."""
        return self.report["verdict"] == "identical"


def run_command(
    command: Sequence[str],
    source: Bundle | Path,
    how: Mapping[str, object],
    descent: Descent | None = None,
    environ: Mapping[str, str] | None = None,
    output: int | IO[bytes] | None = None,
) -> Ran:
    """Run a command with a bundle, or a file of one, in its interpreter. `how` holds arguments of `replay`, and under
    `thread` what `threads` reads; `output` is where the command prints.

    Raises PermanentError if it cannot be started, if no interpreter began the replay, or if the bundle is damaged.
    """
    given = os.environ if environ is None else environ
    with TemporaryDirectory(prefix="retrospan-replay-") as place:
        file, report = Path(place) / "run.bundle", Path(place) / "report.json"
        if isinstance(source, Path):
            file = source.absolute()
        else:
            # Here: a file is read by the agent's process alone.
            from retrospan.schemas.bundle.container import write_bundle

            write_bundle(file, source)
        if thread := how.get("thread"):
            records = Path(place) / "thread.json"
            records.write_text(json.dumps(thread), encoding="utf-8")
            how = {**how, "thread": str(records)}
        told = {**given, **variables(given, {**how, "source": str(file)}, report, descent)}
        try:
            with subprocess.Popen(command, env=told, stdout=output, stderr=output) as process:
                code = _wait(process)
        except OSError as error:
            raise PermanentError(f"{command[0]} cannot be started: {error.strerror or error}.") from error
        found = read_report(report)
    if found is None:
        raise PermanentError(
            f"{command[0]} ended with exit code {code}, and no Python in it began the replay: nothing was replayed. The command has to run a "
            "Python in whose environment retrospan is installed, without -I, -E and -S."
        )
    return Ran(code, *found)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of a command; an interrupt from the terminal goes to it as well, and it ends by that."""
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue
