"""The collector's log: one line per event on standard error, in a form that cannot be forged.

    time=2026-11-21T12:40:01.123Z level=info msg="data /var/lib/retrospan: 12.3 MB of log"

The message is a JSON string in ASCII, so line breaks, escape sequences and invisible characters in what agents and
clients sent arrive as `\\n`, `\\u001b`, `\\u202e`, and a line is one event. Nothing else in a collector writes to
standard error.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from typing import Literal

Level = Literal["info", "warning", "error"]
#: Characters of a message; what is beyond is cut and counted.
LONGEST = 2000


def line(message: str, level: Level = "info") -> str:
    """Return the line for a message, without its end."""
    cut = len(message) - LONGEST
    if cut > 0:
        message = f"{message[:LONGEST]}… [{cut} more characters]"
    time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"time={time} level={level} msg={json.dumps(message)}"


def log_event(message: str, level: Level = "info") -> None:
    """Write one line; a closed standard error does not stop it."""
    try:
        sys.stderr.write(line(message, level) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


def log_failure(doing: str, error: BaseException) -> None:
    """Write an error that nobody expected, with where it came from, innermost last."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    places = " > ".join(
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames
    )
    log_event(f"{doing}: {type(error).__name__}: {str(error)[:1000]} ({places or 'no traceback'})", "error")


class _Handler(logging.Handler):
    """Libraries' warnings, as lines of ours."""

    def emit(self, record: logging.LogRecord) -> None:
        level: Level = "error" if record.levelno >= logging.ERROR else "warning"
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 - a library's format that does not fit its arguments
            message = str(record.msg)
        # False where the caller said `exc_info=False`, whatever the type says.
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            log_failure(f"{record.name}: {message}", error)
        else:
            log_event(f"{record.name}: {message}", level)


def install() -> None:
    """From here on, log what libraries log and threads die of this way too. For a process of our own."""
    logging.basicConfig(handlers=[_Handler()], level=logging.WARNING, force=True)

    def died(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            name = arguments.thread.name if arguments.thread is not None else "a thread"
            log_failure(f"{name} ended", arguments.exc_value)

    threading.excepthook = died
