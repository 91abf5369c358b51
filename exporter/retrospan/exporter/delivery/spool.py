"""A directory in which requests wait for the collector, and survive the process.

One file per request, written under another name and renamed, so that a file is there whole or not at all:

    <nanoseconds>-<number>-<owner>.otlp     spans: b"RSP1", CRC-32, number of spans, the request
    <nanoseconds>-<number>-<owner>.logs     log records: b"RSL1", and the same
    <owner>.lock                            locked as long as its owner lives, and says how it ended

A process delivers its own files. Files of a process that has ended are adopted by the first process to get its lock; so
several processes may share a directory. Files survive the death of the process, `kill -9` included; they are not
synced, so a power cut may lose the newest ones. Only this user can read them, and only this user's files are sent.
Releases that know only spans leave log records alone.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from uuid import uuid4

from retrospan.exporter.delivery.owners import Dead, Owners
from retrospan.exporter.delivery.records import Signal
from retrospan.exporter.operating_system import OPEN, is_own

_HEADER = Struct("<4sII")
_NAME = re.compile(r"\d{20}-\d{8}-(\d+-[0-9a-f]{8})\.(otlp|logs)")
_LOCK = re.compile(r"(\d+-[0-9a-f]{8})\.lock")
_LOOK_AGAIN_SECONDS = 5.0
_MAGIC = {Signal.TRACES: b"RSP1", Signal.LOGS: b"RSL1"}
_ENDING = {Signal.TRACES: "otlp", Signal.LOGS: "logs"}


class SpoolFull(Exception):
    """The directory holds as much as it may."""


class Damaged(Exception):
    """A file that is not what was written."""


@dataclass(frozen=True, slots=True)
class Spooled:
    """A request on disk."""

    path: Path
    owner: str

    @property
    def signal(self) -> Signal:
        return Signal.LOGS if self.path.suffix == ".logs" else Signal.TRACES


class Spool:
    """One process's part in the directory. Any thread may write; the rest is for one thread."""

    def __init__(self, directory: Path, most_bytes: int, process: str = "") -> None:
        """`process` is its id in records, by which others can say that it was killed. Raises OSError when the
        directory cannot be used."""
        self.directory = directory.absolute()
        self._most = most_bytes
        self._number = self._named_at = 0
        self._used, self._looked = 0, float("-inf")
        self._writing = threading.Lock()
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._owner = f"{os.getpid()}-{uuid4().hex[:8]}"
        self._owners = Owners(self.directory)
        self._dead: dict[str, Dead] = {}
        if not self._owners.take(self._owner):
            raise OSError(f"{self._owners.path(self._owner)} is already locked")
        if process:
            self._owners.say(self._owner, process=process, pid=os.getpid())

    def write(self, body: bytes, parts: int, signal: Signal = Signal.TRACES) -> Spooled:
        """Keep a request. Raises SpoolFull, OSError."""
        size = _HEADER.size + len(body)
        with self._writing:
            self._look()
            if self._used + size > self._most:
                raise SpoolFull(f"{self.directory} holds {self._used} bytes of {self._most}")
            self._number += 1
            # The order of names is the order of writing, even where the clock is set back.
            self._named_at = max(time.time_ns(), self._named_at + 1)
            name = f"{self._named_at:020d}-{self._number:08d}-{self._owner}.{_ENDING[signal]}"
            part = self.directory / f"{self._owner}.part"
            file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | OPEN, 0o600)
            try:
                # Two writes, one copy less of a large request.
                _write_all(file, _HEADER.pack(_MAGIC[signal], zlib.crc32(body), parts))
                _write_all(file, body)
            except OSError:
                # A disk that is full: what was written of it is in the way of others.
                part.unlink(missing_ok=True)
                raise
            finally:
                os.close(file)
            os.rename(part, self.directory / name)
            self._used += size
        return Spooled(self.directory / name, self._owner)

    @staticmethod
    def read(spooled: Spooled) -> tuple[bytes, int]:
        """Return the request and how many spans or log records it holds. Raises Damaged, OSError."""
        with spooled.path.open("rb", buffering=0) as file:
            head, body = file.read(_HEADER.size), file.read()
        if len(head) < _HEADER.size:
            raise Damaged(f"{spooled.path} is cut off")
        magic, checksum, parts = _HEADER.unpack(head)
        if magic != _MAGIC[spooled.signal] or zlib.crc32(body) != checksum:
            raise Damaged(f"{spooled.path} is not what was written")
        return body, parts

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
        owners = {match[1] for name in names if (match := _NAME.fullmatch(name) or _LOCK.fullmatch(name))}
        for owner in sorted(owners):
            if owner not in self._owners and self._take_over(owner):
                adopted += self._left_by(owner)
        with suppress(OSError):
            self._forget_halves(names)
        return sorted(adopted, key=lambda spooled: spooled.path.name)

    def _left_by(self, owner: str) -> list[Spooled]:
        """Return the files of an owner whose lock was got; where they cannot be listed now the lock is given back."""
        try:
            # Listed after the lock was got: its last holder may have delivered some.
            found = [Spooled(self.directory / name, owner) for name in self._names() if _is_of(name, owner)]
        except OSError:
            self._owners.give_back(owner, forget=False)
            return []
        with suppress(OSError):
            (self.directory / f"{owner}.part").unlink(missing_ok=True)
        if (dead := self._owners.dead(owner)) is not None:
            self._dead[owner] = dead
        elif not found:
            self._owners.give_back(owner, forget=True)
        return found

    def killed(self) -> list[Dead]:
        """Return the adopted processes that were killed, of which nobody has said so yet."""
        return list(self._dead.values())

    def told(self, dead: Dead) -> None:
        """Note that the record of it is kept: nobody needs to say it again."""
        self._owners.say(dead.owner, told=True)
        if self._dead.pop(dead.owner, None) is not None and not self._has_files(dead.owner):
            self._owners.give_back(dead.owner, forget=True)

    def release(self, owner: str) -> None:
        """Release an adopted process: its files are all delivered."""
        if owner in self._owners and owner != self._owner and owner not in self._dead:
            self._owners.give_back(owner, forget=not self._has_files(owner))

    def close(self) -> None:
        """Let others adopt what is left."""
        for owner in self._owners.all():
            left = owner in self._dead or self._has_files(owner)
            if left and owner == self._owner:
                self._owners.say(owner, closed=True)
            self._owners.give_back(owner, forget=not left)

    def leave_to_parent(self) -> None:
        """After a fork, in the child: the locks are the parent's."""
        self._owners.leave_to_parent()

    def waiting(self) -> int:
        """Return how many requests of adopted processes, and of this one, are there."""
        found = (_NAME.fullmatch(name) for name in self._names())
        return sum(1 for match in found if match and match[1] in self._owners)

    def living(self) -> list[int]:
        """Return the processes, by pid, that use the directory and live: after `adopt`, the others."""
        found = (_NAME.fullmatch(name) or _LOCK.fullmatch(name) for name in self._names())
        owners = {match[1] for match in found if match and match[1] not in self._owners}
        return sorted(int(owner.partition("-")[0]) for owner in owners)

    def _take_over(self, owner: str) -> bool:
        try:
            return self._owners.take(owner)
        except OSError:
            return False

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
                    if stat.S_ISREG(found.st_mode) and is_own(found):
                        mine.append(entry.name)
        return sorted(mine)

    def _has_files(self, owner: str) -> bool:
        return any(_is_of(name, owner) for name in self._names())

    def _forget_halves(self, names: list[str]) -> None:
        """Half-written files of processes that are gone and have no lock any more."""
        for name in names:
            owner = name.removesuffix(".part")
            if name.endswith(".part") and owner not in self._owners and self._take_over(owner):
                (self.directory / name).unlink(missing_ok=True)
                self._owners.give_back(owner, forget=not self._has_files(owner))


def _is_of(name: str, owner: str) -> bool:
    match = _NAME.fullmatch(name)
    return match is not None and match[1] == owner


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
