"""What differs between the systems that agents run on: locks, owners of files, forks, the variables at the start.

Everything here is looked for when it is needed, so that importing the exporter asks nothing of the system. What was run
on Linux only is said in docs/exporter.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

#: A link under such a name is somebody else's; where the system knows no such flags there are none to give.
OPEN: int = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
#: Windows forbids others to read what is locked: the lock lies behind everything that is ever written.
_LOCKED_AT = 1 << 30
_ENVIRONMENT = Path("/proc/self/environ")


def lock(file: int) -> None:
    """Lock a file for as long as this process has it open. Raises OSError where another has it locked."""
    fcntl, msvcrt = _module("fcntl"), _module("msvcrt")
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif msvcrt is not None:
        os.lseek(file, _LOCKED_AT, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        raise OSError("this system cannot lock files")


def read_start(file: int, size: int) -> bytes:
    """Return the beginning of an open file."""
    if hasattr(os, "pread"):
        return os.pread(file, size, 0)
    os.lseek(file, 0, os.SEEK_SET)
    return os.read(file, size)


def close_and_remove(file: int, path: Path) -> None:
    """Remove a file that is open and locked, and close it; what another holds open stays where the system says so."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError:  # Windows: not while it is open
        os.close(file)
        with suppress(PermissionError):
            path.unlink(missing_ok=True)
    else:
        os.close(file)


def is_own(found: os.stat_result) -> bool:
    """Return whether a file belongs to this user; where files have no number of a user, that is not told."""
    own = own_number()
    return own is None or found.st_uid == own


def own_number() -> int | None:
    """Return the number of this user; None where users have none."""
    found: Callable[[], int] | None = getattr(os, "geteuid", None)
    return None if found is None else found()


def name_of_user(number: int) -> str:
    """Return a user's name, or the number as text."""
    pwd = _module("pwd")
    with suppress(KeyError):
        if pwd is not None:
            return str(pwd.getpwuid(number).pw_name)
    return str(number)


def after_fork_in_child(call: Callable[[], None]) -> None:
    """Have something called in each child after a fork, where processes fork."""
    register: Callable[..., None] | None = getattr(os, "register_at_fork", None)
    if register is not None:
        register(after_in_child=call)


def is_forked_unseen() -> bool:
    """Return whether the server that this program runs in forks its workers behind Python's back, as uWSGI does.

    A worker that is forked while another thread holds Python's lock never runs: there must be none before.
    """
    return "uwsgi" in sys.modules


def is_there(process: int, *, is_parent: bool) -> bool:
    """Return whether a process is there that this one descends from. Only asked where processes fork."""
    if is_parent:  # one that ended and that nobody waited for has its number still
        return os.getppid() == process
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def variables_at_start() -> set[str] | None:
    """Return the names of the variables that the process was started with; None where the system does not tell."""
    try:
        pairs = _ENVIRONMENT.read_bytes().split(b"\0")
    except OSError:
        return None
    return {pair.partition(b"=")[0].decode(errors="replace") for pair in pairs}


def _module(name: str) -> Any:
    """Return a module that not every system has; None without it."""
    try:
        return import_module(name)
    except ImportError:
        return None
