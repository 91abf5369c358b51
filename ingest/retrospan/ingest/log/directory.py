"""One process owns a data directory: `claim` takes `DATA/lock` with flock and writes its pid there.

The kernel drops the lock with the process, however it dies, so a lock file left behind by kill -9 is simply
taken over. The file itself stays: removing it would let two processes lock two different files of that name.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from retrospan.ingest.log.files import Files
from retrospan.schemas.errors import DirectoryInUse


class Claim:
    """The right to write in a data directory, until `release` or the end of the process."""

    def __init__(self, directory: Path, descriptor: int) -> None:
        self.directory = directory
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the directory back. Harmless when repeated."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def claim(directory: Path) -> Claim:
    """Own a data directory, creating it where missing.

    Raises:
        DirectoryInUse: another claim holds it; the message names the directory and the holder's pid.
    """
    Files().make_directory(directory)
    path = directory / "lock"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o640)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as cause:
        text = os.read(descriptor, 32).decode(errors="replace").strip()
        os.close(descriptor)
        pid = int(text) if text.isdigit() else None
        holder = f"pid {pid}" if pid else "another process"
        raise DirectoryInUse(
            f"{directory} is in use by {holder}. Stop it, or choose another directory: retrospan serve --data DIR",
            pid=pid,
        ) from cause
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return Claim(directory, descriptor)
