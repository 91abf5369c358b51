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
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

Level = Literal["info", "warning", "error"]
#: Characters of a message; what is beyond is cut and counted.
LONGEST = 2000
#: The same warning of a library is told once in so many seconds; so many different ones are known.
_SAME_SECONDS, _MOST_KNOWN = 60.0, 256


def line(message: str, level: Level = "info") -> str:
    """Return the line for a message, without its end."""
    cut = len(message) - LONGEST
    if cut > 0:
        message = f"{message[:LONGEST]}… [{cut} more characters]"
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"time={now} level={level} msg={json.dumps(message)}"


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


class LibraryHandler(logging.Handler):
    """Warnings as lines of ours; the same one of a library once a minute, with how often it came meanwhile.

    A process without descriptors hears of each connection that it cannot accept, thousands of times a second.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds that only grow."""
        super().__init__()
        self._clock = clock
        self._told: dict[tuple[str, str, str], tuple[float, int]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        level: Level = "error" if record.levelno >= logging.ERROR else "warning"
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 - a library's format that does not fit its arguments
            message = str(record.msg)
        # False where the caller said `exc_info=False`, whatever the type says.
        error = record.exc_info[1] if record.exc_info else None
        ours = record.name.startswith("retrospan")
        more = 0 if ours else self._repeated((record.name, message.partition("\n")[0], type(error).__name__))
        if more is None:
            return
        message += f" [{more} more like it since]" if more else ""
        if error is not None:
            log_failure(f"{record.name}: {message}", error)
        else:
            log_event(f"{record.name}: {message}", level)

    def _repeated(self, what: tuple[str, str, str]) -> int | None:
        """Return how often the same came since it was told; None when that was just now."""
        now = self._clock()
        told_at, count = self._told.get(what, (now - _SAME_SECONDS, 0))
        if now - told_at < _SAME_SECONDS:
            self._told[what] = (told_at, count + 1)
            return None
        if len(self._told) >= _MOST_KNOWN:
            self._told.clear()
        self._told[what] = (now, 0)
        return count


def install() -> None:
    """From here on, log what libraries log and threads die of this way too. For a process of our own."""
    logging.basicConfig(handlers=[LibraryHandler()], level=logging.WARNING, force=True)

    def died(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            name = arguments.thread.name if arguments.thread is not None else "a thread"
            log_failure(f"{name} ended", arguments.exc_value)

    threading.excepthook = died
