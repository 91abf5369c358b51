"""A directory in which requests wait for the collector, and survive the process.

One file per request, written under another name and renamed, so that a file is there whole or not at all:

    <nanoseconds>-<number>-<owner>.otlp     b"RSP1", CRC-32, number of spans, the request
    <owner>.lock                            locked as long as its owner lives

A process delivers its own files. Files of a process that has ended are adopted by the first process to get its lock; so
several processes may share a directory. Files survive the death of the process, `kill -9` included; they are not
synced, so a power cut may lose the newest ones. Only this user can read them, and only this user's files are sent.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from uuid import uuid4

_MAGIC = b"RSP1"
_HEADER = Struct("<4sII")
_NAME = re.compile(r"\d{20}-\d{8}-(\d+-[0-9a-f]{8})\.otlp")
_LOOK_AGAIN_SECONDS = 5.0
_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW  # a link under such a name is somebody else's


class SpoolFull(Exception):
    """The directory holds as much as it may."""


class Damaged(Exception):
    """A file that is not what was written."""


@dataclass(frozen=True, slots=True)
class Spooled:
    """A request on disk."""

    path: Path
    owner: str


class Spool:
    """One process's part in the directory. `write` is for one thread, the rest for another."""

    def __init__(self, directory: Path, most_bytes: int) -> None:
        """Raise OSError when the directory cannot be used."""
        self.directory = directory.absolute()
        self._most = most_bytes
        self._number = 0
        self._used, self._looked = 0, float("-inf")
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._owner = f"{os.getpid()}-{uuid4().hex[:8]}"
        self._locks: dict[str, int] = {}
        if not self._lock(self._owner):
            raise OSError(f"{self._lock_path(self._owner)} is already locked")

    def write(self, body: bytes, spans: int) -> Spooled:
        """Keep a request. Raises SpoolFull, OSError."""
        size = _HEADER.size + len(body)
        self._look()
        if self._used + size > self._most:
            raise SpoolFull(f"{self.directory} holds {self._used} bytes of {self._most}")
        self._number += 1
        path = self.directory / f"{time.time_ns():020d}-{self._number:08d}-{self._owner}.otlp"
        part = self.directory / f"{self._owner}.part"
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _OPEN, 0o600)
        try:
            _write_all(file, _HEADER.pack(_MAGIC, zlib.crc32(body), spans) + body)
        finally:
            os.close(file)
        os.rename(part, path)
        self._used += size
        return Spooled(path, self._owner)

    @staticmethod
    def read(spooled: Spooled) -> tuple[bytes, int]:
        """Return the request and its number of spans. Raises Damaged, OSError."""
        data = spooled.path.read_bytes()
        if len(data) < _HEADER.size:
            raise Damaged(f"{spooled.path} is cut off")
        magic, checksum, spans = _HEADER.unpack_from(data)
        body = data[_HEADER.size :]
        if magic != _MAGIC or zlib.crc32(body) != checksum:
            raise Damaged(f"{spooled.path} is not what was written")
        return body, spans

    def remove(self, spooled: Spooled) -> None:
        """Forget a request that was delivered."""
        try:
            size = spooled.path.stat().st_size
            spooled.path.unlink()
            self._used = max(0, self._used - size)
        except FileNotFoundError:
            pass

    def put_aside(self, spooled: Spooled) -> None:
        """Rename a damaged file, so that it is not tried again."""
        spooled.path.rename(spooled.path.with_suffix(".damaged"))

    def adopt(self) -> list[Spooled]:
        """Return the files of processes that have ended, oldest first; this process delivers them from now on."""
        adopted: list[Spooled] = []
        names = self._names()
        for owner in sorted({match[1] for name in names if (match := _NAME.fullmatch(name))}):
            if owner not in self._locks and self._lock(owner):
                # Listed after the lock was got: its last holder may have delivered some.
                adopted += [
                    Spooled(self.directory / name, owner)
                    for name in self._names()
                    if (match := _NAME.fullmatch(name)) and match[1] == owner
                ]
                (self.directory / f"{owner}.part").unlink(missing_ok=True)
        self._forget_the_dead(names)
        return sorted(adopted, key=lambda spooled: spooled.path.name)

    def release(self, owner: str) -> None:
        """Release an adopted process: its files are all delivered."""
        if owner in self._locks and owner != self._owner:
            self._unlock(owner)

    def close(self) -> None:
        """Let others adopt what is left."""
        for owner in list(self._locks):
            self._unlock(owner)

    def leave_to_parent(self) -> None:
        """After a fork, in the child: the locks are the parent's."""
        for file in self._locks.values():
            os.close(file)
        self._locks.clear()

    def _look(self) -> None:
        """Count what everybody's files take, now and then."""
        if time.monotonic() - self._looked < _LOOK_AGAIN_SECONDS:
            return
        self._looked, self._used = time.monotonic(), 0
        with os.scandir(self.directory) as entries:
            for entry in entries:
                try:
                    self._used += entry.stat().st_size
                except FileNotFoundError:
                    pass

    def _names(self) -> list[str]:
        """Return what this user put here, in order: what others put there is not the agent's to send."""
        mine: list[str] = []
        with os.scandir(self.directory) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    found = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
                        mine.append(entry.name)
        return sorted(mine)

    def _forget_the_dead(self, names: list[str]) -> None:
        """Locks and half-written files of processes that are gone and left no request."""
        with_files = {match[1] for name in names if (match := _NAME.fullmatch(name))}
        for name in names:
            owner = name.removesuffix(".lock").removesuffix(".part")
            left_alone = name.endswith((".lock", ".part")) and owner not in with_files | set(self._locks)
            if left_alone and self._lock(owner):
                (self.directory / f"{owner}.part").unlink(missing_ok=True)
                self._unlock(owner)

    def _lock_path(self, owner: str) -> Path:
        return self.directory / f"{owner}.lock"

    def _lock(self, owner: str) -> bool:
        try:
            file = os.open(self._lock_path(owner), os.O_RDWR | os.O_CREAT | _OPEN, 0o600)
        except OSError:
            if owner == self._owner:
                raise
            return False  # another user's, or a link: not ours to take
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return False
        self._locks[owner] = file
        return True

    def _unlock(self, owner: str) -> None:
        file = self._locks.pop(owner)
        left = any((match := _NAME.fullmatch(name)) and match[1] == owner for name in self._names())
        if not left:
            self._lock_path(owner).unlink(missing_ok=True)
        os.close(file)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
