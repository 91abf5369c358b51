"""Runs a program that gets an alert on standard input: no shell, no environment, no files of ours, and not for long."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from retrospan.ingest.alerts.attempt import Attempt, Deadline, Message
from retrospan.ingest.alerts.rules import Program
from retrospan.ingest.settings.trusted_file import require_trusted
from retrospan.schemas.errors import ConfigError

#: All that it gets of an environment.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
_REAP_SECONDS = 2.0


def execute(target: Program, message: Message, deadline: Deadline) -> Attempt:
    """Run it once, and end it with what it started when its time is up."""
    try:
        require_trusted(Path(target.command[0]), "the program")
    except ConfigError as error:
        return Attempt("refused", str(error))
    try:
        running = subprocess.Popen(
            target.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            cwd="/",
            close_fds=True,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Attempt("refused", f"{target.command[0]} cannot be run: {error}"[:300])
    late = False
    try:
        running.communicate(message.body, deadline.left())
    except (TimeoutError, subprocess.TimeoutExpired):
        late = True
    finally:
        # What it left behind as well: nobody waits for that.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(running.pid, signal.SIGKILL)
        if running.stdin is not None:
            with suppress(OSError):
                running.stdin.close()  # what it did not read
    if late:
        with suppress(subprocess.TimeoutExpired):
            running.wait(_REAP_SECONDS)
        return Attempt("refused", "it did not end in time, and was killed")
    if running.returncode:
        return Attempt("refused", _ended(running.returncode))
    return Attempt("sent")


def _ended(code: int) -> str:
    return f"it ended with {code}" if code > 0 else f"it was ended by {signal.Signals(-code).name}"
