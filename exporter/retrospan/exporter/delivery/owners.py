"""Who owns files in a spool: a lock file for each process, held while it lives, that says how it ended.

Its lines are JSON: `{"process": …, "pid": …}` at the start; `{"closed": true}` once the process closed the spool with
files left in it; `{"told": true}` once another process has said that this one was killed. A lock that nobody holds and
that is not closed belongs to a process that was killed. Locks of releases that wrote nothing into them say nothing.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from retrospan.exporter.operating_system import OPEN, close_and_remove, lock, read_start

_LONGEST_LOCK = 4_096


@dataclass(frozen=True, slots=True)
class Dead:
    """A process that ended without closing its spool."""

    owner: str
    process: str
    pid: int


class Owners:
    """The locks that this process holds: its own, and those of processes whose files it delivers. For any thread."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[str, int] = {}
        self._lock = threading.RLock()

    def __contains__(self, owner: object) -> bool:
        return owner in self._files

    def path(self, owner: str) -> Path:
        return self._directory / f"{owner}.lock"

    def take(self, owner: str) -> bool:
        """Lock for as long as this process lives, or until `give_back`; return False if it is taken, or not ours to
        take. Raises OSError where it cannot be made."""
        with self._lock:
            try:
                file = os.open(self.path(owner), os.O_RDWR | os.O_CREAT | os.O_APPEND | OPEN, 0o600)
            except OSError:
                if self.path(owner).is_symlink() or self.path(owner).exists():
                    return False
                raise
            try:
                lock(file)
            except OSError:
                os.close(file)
                return False
            if not self._is_there(owner, file):
                # Its last holder removed it between the two: what was locked has no name any more.
                os.close(file)
                return False
            self._files[owner] = file
            return True

    def say(self, owner: str, **said: object) -> None:
        """Write a line into a lock that is held. A disk that is full keeps it out: then less is known."""
        with self._lock, suppress(OSError):
            if owner in self._files:
                os.write(self._files[owner], json.dumps(said).encode() + b"\n")

    def dead(self, owner: str) -> Dead | None:
        """Return the process behind a lock that was taken over, if it was killed and nobody has said so yet."""
        with self._lock:
            file = self._files.get(owner)
            said: dict[str, object] = {}
            with suppress(OSError):
                for line in read_start(file, _LONGEST_LOCK).splitlines() if file is not None else ():
                    with suppress(ValueError):
                        found = json.loads(line)
                        said |= found if isinstance(found, dict) else {}
        process, pid = said.get("process"), said.get("pid")
        if said.get("closed") or said.get("told") or not isinstance(process, str) or not isinstance(pid, int):
            return None
        return Dead(owner, process, pid)

    def give_back(self, owner: str, *, forget: bool) -> None:
        """Let others take the lock; `forget`: and remove it."""
        with self._lock:
            file = self._files.pop(owner, None)
            if file is None:
                return
            if forget:
                close_and_remove(file, self.path(owner))
            else:
                os.close(file)

    def all(self) -> list[str]:
        with self._lock:
            return list(self._files)

    def leave_to_parent(self) -> None:
        """After a fork, in the child: the locks are the parent's. Its threads are gone, and so is whoever held ours."""
        self._lock = threading.RLock()
        for file in self._files.values():
            os.close(file)
        self._files.clear()

    def _is_there(self, owner: str, file: int) -> bool:
        with suppress(OSError):
            return os.path.samestat(os.fstat(file), os.stat(self.path(owner), follow_symlinks=False))
        return False
