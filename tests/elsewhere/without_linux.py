"""Takes from a Python process what only Linux has: its calls in `os`, and /proc, which our own code no longer finds.

Imported at the start of every process of an environment by `without_linux.pth`, so also by those that the collector
starts (`make test-elsewhere`). The tests and the libraries go on seeing /proc: a test looks there at what a process does.
"""

from __future__ import annotations

import builtins
import io
import os
import socket
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

#: Calls of `os` that macOS has not.
CALLS = (
    "fdatasync",
    "memfd_create",
    "posix_fadvise",
    "posix_fallocate",
    "copy_file_range",
    "pidfd_open",
    "eventfd",
    "splice",
    "sched_getaffinity",
    "sched_setaffinity",
    "getrandom",
)
_STANDARD = sysconfig.get_paths()["stdlib"]
_OURS = tuple(
    f"{os.sep}retrospan{os.sep}{part}{os.sep}" for part in ("ingest", "exporter", "schemas", "queries")
)


def _asked_by_us() -> bool:
    """Return whether the nearest caller outside the standard library is our own code."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_STANDARD, "<frozen")) or "site-packages" in name:
            return any(part in name for part in _OURS)
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _without_proc(call: Callable[..., Any]) -> Callable[..., Any]:
    def hidden(*arguments: Any, **named: Any) -> Any:
        if arguments and isinstance(arguments[0], str | os.PathLike):
            place = os.fspath(arguments[0])
            if isinstance(place, str) and (place == "/proc" or place.startswith("/proc/")) and _asked_by_us():
                raise FileNotFoundError(2, "there is no /proc here", place)
        return call(*arguments, **named)

    return hidden


def hide() -> None:
    """Hide it all, in this process."""
    for name in CALLS:
        if hasattr(os, name):
            delattr(os, name)
    if hasattr(socket, "TCP_INFO"):
        del socket.TCP_INFO
    for name in ("open", "stat", "lstat", "listdir", "scandir", "readlink", "access"):
        setattr(os, name, _without_proc(getattr(os, name)))
    builtins.open = io.open = _without_proc(io.open)


hide()
