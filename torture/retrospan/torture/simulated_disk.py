"""A disk that can lose power: unsynced writes may be lost, in part or out of order.

Readers see real files under a directory, as the kernel would show them. Beside them the disk remembers what is
durable: of each file the bytes up to its last sync, of each directory the names up to its last sync. `cut_power`
rewrites the files as they might be found afterwards: every sector written since then is kept or lost by itself, a
file's length is the old one, the new one or one in between, holes read as zeros or as garbage, and each creation,
rename and removal has happened or has not. No real disk is that unkind; a log that survives this one survives them.

`kill` is the end of the process alone: the kernel keeps what it was given. Both end the log that writes by `fuse`:
the step that burns it down fails half done, and so does everything after it, until `switch_on`.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from retrospan.ingest.log.commit_future import CommitFuture
from retrospan.ingest.machine.durable_files import Files


@dataclass(slots=True)
class _Write:
    """Bytes given to the kernel and not yet synced. `doomed` by a failed sync: a later one proves nothing."""

    offset: int
    data: bytes
    doomed: bool = False


@dataclass(slots=True)
class _File:
    """One file, whatever its name. `pending` holds writes, and lengths it was cut to, in order."""

    size: int = 0
    durable: bytearray = field(default_factory=bytearray)
    pending: list[_Write | int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Renaming:
    """A change of names: created (no source), renamed, or removed (no target)."""

    file: _File
    source: Path | None
    target: Path | None

    @property
    def directory(self) -> Path:
        path = self.target or self.source
        assert path is not None
        return path.parent


class PowerLoss(OSError):
    """The simulated machine, or process, has ended."""

    def __init__(self) -> None:
        super().__init__(errno.EIO, "the simulated power is off")


class SimulatedDisk(Files):
    """A disk under a real directory `root`, with a life of its own given by `chance`."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root = root
        self.fuse: int | None = None
        """Steps until the power goes; None: it stays."""
        self.fail_syncs = 0
        """How many of the next syncs fail with EIO."""
        self.full = False
        """Whether writes find no room."""
        self._chance = chance
        self._sector = chance.choice((16, 64, 512))
        self._off = False
        self._names: dict[Path, _File] = {}
        self._durable: dict[Path, _File] = {}
        self._directories: set[Path] = {root}
        self._changes: list[_Renaming | Path] = []
        self._descriptors: dict[int, _File] = {}
        self._going = threading.Event()
        self._going.set()
        self._held = threading.Event()

    def hold(self) -> None:
        """Let the next write wait, so that what is appended meanwhile shares one commit."""
        self._held.clear()
        self._going.clear()

    def wait_held(self, answer: CommitFuture) -> bool:
        """Wait until a write waits, or the answer that it is for is there already; whether it waits."""
        deadline = time.monotonic() + 30
        while not self._held.wait(0.002) and not answer.done():
            assert time.monotonic() < deadline, "the log is idle"
        return not answer.done()

    def release(self) -> None:
        self._going.set()

    def switch_on(self) -> None:
        """Power, and a new process that will open the files."""
        self._off = self.full = False
        self.fuse, self.fail_syncs = None, 0

    def cut_power(self) -> None:
        """Forget what was not synced, as chance has it."""
        self._apply_changes()
        found: dict[Path, bytes] = {}
        for path, file in self._durable.items():
            if path.parent in self._directories:
                found[path] = self._left_of(file)
        shutil.rmtree(self.root)
        for directory in sorted(self._directories):
            directory.mkdir()
        self._durable = {}
        for path, content in found.items():
            path.write_bytes(content)
            self._durable[path] = _File(size=len(content), durable=bytearray(content))
        self._names = dict(self._durable)
        self._descriptors = {}

    # What the operating system does in one step.

    def sync(self, descriptor: int) -> None:
        self._step()
        file = self._descriptors[descriptor]
        if self.fail_syncs:
            self.fail_syncs -= 1
            for each in file.pending:
                if isinstance(each, _Write):
                    each.doomed = True
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        for each in file.pending:
            if isinstance(each, int):
                del file.durable[each:]
            elif not each.doomed or self._chance.random() < 0.5:
                _put(file.durable, each.offset, each.data)
        file.durable.extend(bytes(file.size - len(file.durable)))
        file.pending.clear()

    def sync_directory(self, directory: Path) -> None:
        self._step()
        waiting = self._changes
        self._changes = []
        for change in waiting:
            inside = change.parent if isinstance(change, Path) else change.directory
            if inside == directory:
                self._make_durable(change)
            else:
                self._changes.append(change)

    def free_bytes(self, directory: Path) -> int:
        return 1 << 40

    def close(self, descriptor: int) -> None:
        self._descriptors.pop(descriptor, None)
        super().close(descriptor)

    def _open(self, path: Path, flags: int) -> int:
        self._require_power()
        if self.full and flags & os.O_CREAT:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        descriptor = super()._open(path, flags)
        if path not in self._names:
            self._names[path] = _File()
            self._changes.append(_Renaming(self._names[path], None, path))
        self._descriptors[descriptor] = self._names[path]
        if flags & os.O_TRUNC:
            self._names[path].pending.append(0)
            self._names[path].size = 0
        try:
            self._step()
        except PowerLoss:
            self.close(descriptor)
            raise
        return descriptor

    def _write(self, descriptor: int, parts: Sequence[bytes]) -> None:
        self._held.set()
        self._going.wait(30)
        self._require_power()
        file, data = self._descriptors[descriptor], b"".join(parts)
        last = self.fuse == 1
        if self.full or last:
            data = data[: self._chance.randrange(len(data) + 1)]
        super()._write(descriptor, [data])
        file.pending.append(_Write(file.size, data))
        file.size += len(data)
        self._step()
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _overwrite(self, descriptor: int, offset: int, data: bytes) -> None:
        self._require_power()
        super()._overwrite(descriptor, offset, data)
        self._descriptors[descriptor].pending.append(_Write(offset, data))
        self._step()

    def _cut(self, descriptor: int, size: int) -> None:
        self._require_power()
        super()._cut(descriptor, size)
        file = self._descriptors[descriptor]
        file.pending.append(size)
        file.size = size
        self._step()

    def _mkdir(self, directory: Path) -> None:
        self._require_power()
        super()._mkdir(directory)
        self._changes.append(directory)
        self._step()

    def _rename(self, source: Path, target: Path) -> None:
        self._require_power()
        super()._rename(source, target)
        file = self._names.pop(source)
        self._names[target] = file
        self._changes.append(_Renaming(file, source, target))
        self._step()

    def _unlink(self, path: Path) -> None:
        self._require_power()
        super()._unlink(path)
        self._changes.append(_Renaming(self._names.pop(path), path, None))
        self._step()

    # Power, and what is left without it.

    def _step(self) -> None:
        self._require_power()
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse <= 0:
                self._off = True
                raise PowerLoss

    def _require_power(self) -> None:
        if self._off:
            raise PowerLoss

    def _make_durable(self, change: _Renaming | Path) -> None:
        if isinstance(change, Path):
            self._directories.add(change)
            return
        if change.source is not None and self._durable.get(change.source) is change.file:
            del self._durable[change.source]
        if change.target is not None:
            self._durable[change.target] = change.file

    def _apply_changes(self) -> None:
        share = self._chance.choice((0.0, 0.5, 1.0))
        for change in self._changes:
            if self._chance.random() < share:
                self._make_durable(change)
        self._changes = []

    def _left_of(self, file: _File) -> bytes:
        """Return a file's bytes after a power cut."""
        content, end = bytearray(file.durable), len(file.durable)
        share = self._chance.choice((0.0, 0.3, 0.9, 1.0))
        hole = self._chance.choice((b"\0", b"\xff", b"\t"))
        for each in file.pending:
            if isinstance(each, int):
                if self._chance.random() < 0.5:
                    del content[each:]
                end = max(end, len(content))
                continue
            end = max(end, each.offset + len(each.data))
            for start, piece in _sectors(each, self._sector):
                if self._chance.random() < share:
                    if len(content) < start:
                        content.extend(hole * (start - len(content)))
                    _put(content, start, piece)
        if file.pending:
            wanted = self._chance.choice(
                (len(content), end, self._chance.randint(min(len(content), len(file.durable)), end))
            )
            # A length beyond what was written, or short of it; what is durable stays in any case.
            shortest = min([len(file.durable), *(each for each in file.pending if isinstance(each, int))])
            wanted = max(wanted, shortest)
            del content[wanted:]
            content.extend(hole * (wanted - len(content)))
        return bytes(content)


def _put(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def _sectors(write: _Write, size: int) -> list[tuple[int, bytes]]:
    """Return a write cut where the disk's sectors end."""
    pieces, at = [], 0
    while at < len(write.data):
        length = size - (write.offset + at) % size
        pieces.append((write.offset + at, write.data[at : at + length]))
        at += length
    return pieces
