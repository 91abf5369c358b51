"""A collector that kills itself with SIGKILL when it reaches a named point for the given time.

    python -m retrospan.torture.failpoints POINT TIMES serve --data DIR …

The points are wrapped around the collector's own code from outside, in a separate process; the collector's code
contains no trace of them. They are armed in the process of the warehouse too: both processes end at whichever is
reached, as in a crash of the machine.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Literal

from retrospan.ingest import warehouse_process
from retrospan.ingest.cli.main import main
from retrospan.ingest.load.ledger import Ledger
from retrospan.ingest.machine.durable_files import Files
from retrospan.ingest.receive.intake import Intake
from retrospan.ingest.retention.deletion.deleter import Deleter
from retrospan.ingest.retention.receipts.receipts import Receipts
from retrospan.ingest.supervisor import Supervisor
from retrospan.ingest.warehouse.embedded import EmbeddedStore

When = Literal["before", "half-way", "meanwhile", "after"]
_INTO_AN_INSERT_SECONDS = 0.02
_WAREHOUSE = "--in-the-warehouse"
_SEGMENT, _ARCHIVE, _LEDGER = ".seg", ".zst", ".jsonl"


@dataclass(frozen=True, slots=True)
class Failpoint:
    """A call of the collector, and which of its calls are meant, by its first argument in text."""

    owner: type
    method: str
    when: When
    about: str
    """A path ends with it, or a statement with it as its table."""


#: By name, in the order of a record's life.
FAILPOINTS: dict[str, Failpoint] = {
    "rotation begun": Failpoint(Files, "create", "before", _SEGMENT),
    "rotation unnamed": Failpoint(Files, "_open", "after", _SEGMENT),
    "rotation done": Failpoint(Files, "create", "after", _SEGMENT),
    "append torn": Failpoint(Files, "_write", "half-way", _SEGMENT),
    "append unsynced": Failpoint(Files, "sync", "before", _SEGMENT),
    "append durable": Failpoint(Files, "sync", "after", _SEGMENT),
    "answer unsent": Failpoint(Intake, "_take", "after", ""),
    "note torn": Failpoint(Files, "_write", "half-way", _LEDGER),
    "note unsynced": Failpoint(Files, "sync", "before", _LEDGER),
    "note durable": Failpoint(Files, "sync", "after", _LEDGER),
    "insert under way": Failpoint(EmbeddedStore, "insert", "meanwhile", "landing"),
    "insert done": Failpoint(EmbeddedStore, "insert", "after", "landing"),
    "batch marked": Failpoint(Ledger, "finish", "after", ""),
    "summary unnamed": Failpoint(Files, "_rename", "before", _LEDGER),
    "summary named": Failpoint(Files, "_rename", "after", _LEDGER),
    "archive unnamed": Failpoint(Files, "_rename", "before", _ARCHIVE),
    "archive named": Failpoint(Files, "_rename", "after", _ARCHIVE),
    "segment not removed": Failpoint(Files, "_unlink", "before", _SEGMENT),
    "run not pointed to": Failpoint(EmbeddedStore, "insert", "before", "canon_runs"),
    "run pointed to": Failpoint(EmbeddedStore, "insert", "after", "canon_runs"),
}

#: Likewise, in the order of a run's end.
RETENTION_FAILPOINTS: dict[str, Failpoint] = {
    "receipt unwritten": Failpoint(Receipts, "write", "before", ""),
    "receipt written": Failpoint(Receipts, "write", "after", ""),
    "run hidden": Failpoint(Deleter, "_hide", "after", ""),
    "spans deleted": Failpoint(Deleter, "_delete", "after", "raw_spans"),
    "steps deleted": Failpoint(Deleter, "_delete", "after", "canon_steps"),
    "receipt carried out": Failpoint(Deleter, "apply", "after", ""),
    "removal noted": Failpoint(Files, "_rename", "after", "removed"),
    "archive not removed": Failpoint(Files, "_unlink", "before", _ARCHIVE),
    "archive unchanged": Failpoint(Files, "_rename", "before", _ARCHIVE),
    "archive replaced": Failpoint(Files, "_rename", "after", _ARCHIVE),
}


def arm(point: Failpoint, times: int) -> None:
    """Let this process end when it gets to the point for the given time."""
    original: Callable[..., Any] = getattr(point.owner, point.method)
    counting = threading.Lock()
    left = times

    def is_due(arguments: tuple[Any, ...]) -> bool:
        nonlocal left
        if not _is_about(point, arguments):
            return False
        with counting:
            left -= 1
            return left == 0

    @wraps(original)
    def wrapped(self: Any, *arguments: Any, **named: Any) -> Any:
        if not is_due(arguments):
            return original(self, *arguments, **named)
        if point.when == "before":
            _die()
        elif point.when == "half-way":
            descriptor, parts = arguments
            whole = b"".join(parts)
            original(self, descriptor, [whole[: len(whole) // 2]])
            _die()
        elif point.when == "meanwhile":
            threading.Timer(_INTO_AN_INSERT_SECONDS, _die).start()
        result = original(self, *arguments, **named)
        if point.when == "after":
            _die()
        return result

    setattr(point.owner, point.method, wrapped)


def _is_about(point: Failpoint, arguments: tuple[Any, ...]) -> bool:
    match arguments:
        case [*_, Path() as path] if point.method == "_rename":
            return path.name.endswith(point.about)
        case [Path() as path, int(flags)]:
            return path.name.endswith(point.about) and bool(flags & os.O_CREAT)
        case [Path() as path, *_]:
            return path.name.endswith(point.about)
        case [int(descriptor), *_]:
            return os.readlink(f"/proc/self/fd/{descriptor}").endswith(point.about)
        case [_, str(), str(table), *_] if point.about:
            return table == point.about
        case [str(statement), *_] if point.about:
            return statement.split()[:3] == ["INSERT", "INTO", point.about]
        case _:
            return not point.about


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _end_with_warehouse() -> None:
    """Let this process end when its process of the warehouse does, unless both were told to stop."""
    watch = Supervisor._watch

    def watched(self: Supervisor) -> str:
        reason = watch(self)
        if not self.is_stopping:
            _die()
        return reason

    setattr(Supervisor, "_watch", watched)  # noqa: B010 - as all points are set


def _run(words: Sequence[str]) -> int:
    name, times, *command = words
    arm((FAILPOINTS | RETENTION_FAILPOINTS)[name], int(times))
    if command[0] == _WAREHOUSE:
        return warehouse_process.main(command[1:])
    Supervisor.program = ("-m", "retrospan.torture.failpoints", name, times, _WAREHOUSE)
    _end_with_warehouse()
    return main(command)


if __name__ == "__main__":
    sys.exit(_run(sys.argv[1:]))
