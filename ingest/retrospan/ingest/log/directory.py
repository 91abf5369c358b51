"""One process owns a data directory: `claim` takes `DATA/lock` with flock and writes its pid there.

The kernel drops the lock with the last process that has it, however they die, so a lock file left behind by kill -9 is
simply taken over. A process of the warehouse whose parent was killed may need a moment to end: that is waited for. The
file itself stays: removing it would let two processes lock two different files of that name.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Self

from retrospan.ingest.machine.durable_files import Files
from retrospan.ingest.machine.operating_system import is_alive
from retrospan.schemas.errors import ConfigError, DirectoryInUse

_ENDING_SECONDS = 30.0


class Claim:
    """The right to write in a data directory, until `release` or the end of the process."""

    def __init__(self, directory: Path, descriptor: int) -> None:
        self.directory = directory
        self._descriptor = descriptor

    @property
    def descriptor(self) -> int:
        """The claim lasts as long as any process has this open."""
        return self._descriptor

    def release(self) -> None:
        """Give the directory back. Harmless when repeated."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def require_own(directory: Path) -> None:
    """Return unless this is root in the directory of another user, who could read nothing of what root makes there.

    Raises:
        ConfigError: it is; the message says whose it is.
    """
    owner = directory.stat().st_uid
    if os.geteuid() == 0 and owner != 0:
        raise ConfigError(
            f"{directory} belongs to uid {owner}, who could not read files that root creates in it. Run this as that user."
        )


def claim(directory: Path) -> Claim:
    """Own a data directory, creating it where missing.

    Raises:
        DirectoryInUse: another claim holds it; the message names the directory and the holder's pid.
    """
    Files().make_directory(directory)
    path = directory / "lock"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _lock(descriptor)
    except BlockingIOError as cause:
        pid = _holder(descriptor)
        os.close(descriptor)
        holder = f"pid {pid}" if pid else "another process"
        raise DirectoryInUse(
            f"{directory} is in use by {holder}. Stop it, or choose another directory: retrospan serve --data DIR",
            pid=pid,
        ) from cause
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return Claim(directory, descriptor)


def _lock(descriptor: int) -> None:
    """Raise BlockingIOError when the holder lives, or what it left behind does not end."""
    deadline = time.monotonic() + _ENDING_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(descriptor)
            if holder is None or is_alive(holder) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def _holder(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
    return int(text) if text.isdigit() else None
