"""Every durable write to disk goes through here, and nothing else may sync a file.

The write-ahead log and the loader's ledger take a `Files`; a test hands them one that fails on purpose, and
`torture.simulated_disk` one that forgets what was not synced.
All methods raise `OSError` and never repeat a failed sync: after one, the kernel may have dropped the dirty pages
and marked them clean, so a second sync that succeeds proves nothing.

What is made is for its owner alone: files are 0600, directories 0700, whatever the umask is.

The methods with an underscore are what the operating system does in one step; all others are made of them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from retrospan.ingest.machine.operating_system import sync, sync_names

#: The disk is full, or what its user may have of it.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
#: The most buffers one writev takes (IOV_MAX on Linux).
_BUFFERS_PER_WRITE = 1024
_SETTLED_AT_ONCE = 1 << 20


class Files:
    """The real disk."""

    def create(self, path: Path) -> int:
        """Create an empty file for appending and make its name durable; the file must not exist, nor does it after an
        error.
        """
        descriptor = self._open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND)
        try:
            self.sync_directory(path.parent)
        except OSError:
            self.close(descriptor)
            with suppress(OSError):
                self._unlink(path)
            raise
        return descriptor

    def open_append(self, path: Path) -> int:
        """Open an existing file for appending."""
        return self._open(path, os.O_WRONLY | os.O_APPEND)

    def append(self, descriptor: int, parts: Sequence[bytes]) -> None:
        """Append all parts in order; returns when the kernel has them, not the disk."""
        for first in range(0, len(parts), _BUFFERS_PER_WRITE):
            self._write(descriptor, parts[first : first + _BUFFERS_PER_WRITE])

    def sync(self, descriptor: int) -> None:
        """Return once the file's bytes and length are on disk."""
        sync(descriptor)

    def sync_directory(self, directory: Path) -> None:
        """Return once the names in a directory are on disk."""
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            sync_names(descriptor)
        finally:
            os.close(descriptor)

    def make_directory(self, directory: Path) -> None:
        """Make a directory where it is missing, and those above it, durably.

        One that is there is made durable too: whoever made it may have been killed before it was.
        """
        if not directory.is_dir():
            if not directory.parent.is_dir():
                self.make_directory(directory.parent)
            self._mkdir(directory)
        self.sync_directory(directory.parent)

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file to `size` bytes, durably."""
        descriptor = self._open(path, os.O_WRONLY)
        try:
            self._cut(descriptor, size)
            self.sync(descriptor)
        finally:
            self.close(descriptor)

    def settle(self, path: Path) -> None:
        """Return once everything that can be read from a file is on disk, whoever wrote it.

        Every byte is written again as it is. A sync alone would not do: an earlier process may have seen one fail,
        and after that the kernel shows bytes that it no longer intends to write.
        """
        descriptor = self._open(path, os.O_RDWR)
        try:
            with _naming(path):
                at = 0
                while data := os.pread(descriptor, _SETTLED_AT_ONCE, at):
                    self._overwrite(descriptor, at, data)
                    at += len(data)
                self.sync(descriptor)
        finally:
            self.close(descriptor)

    def replace(self, path: Path, content: bytes) -> None:
        """Put a whole file in place: after a crash it holds the old content or the new, never a mixture."""
        temporary = path.with_name(path.name + ".new")
        descriptor = self._open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        try:
            with _naming(temporary):
                self._write(descriptor, [content])
                self.sync(descriptor)
        finally:
            self.close(descriptor)
        self.rename(temporary, path)

    def rename(self, source: Path, target: Path) -> None:
        """Rename within one directory, durably."""
        self._rename(source, target)
        self.sync_directory(target.parent)

    def remove(self, path: Path) -> None:
        """Remove a file, durably."""
        self._unlink(path)
        self.sync_directory(path.parent)

    def free_bytes(self, directory: Path) -> int:
        """Return the bytes an ordinary user may still write on the disk of `directory`."""
        disk = os.statvfs(directory)
        return disk.f_bavail * disk.f_frsize

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def _open(self, path: Path, flags: int) -> int:
        if flags & os.O_CREAT:
            flags |= os.O_NOFOLLOW  # what is made is made here, not where somebody's link leads
        return os.open(path, flags | os.O_CLOEXEC, 0o600)

    def _mkdir(self, directory: Path) -> None:
        directory.mkdir(mode=0o700, exist_ok=True)

    def _rename(self, source: Path, target: Path) -> None:
        os.rename(source, target)

    def _unlink(self, path: Path) -> None:
        os.unlink(path)

    def _cut(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def _overwrite(self, descriptor: int, offset: int, data: bytes) -> None:
        while data:
            written = os.pwrite(descriptor, data, offset)
            data, offset = data[written:], offset + written

    def _write(self, descriptor: int, parts: Sequence[bytes]) -> None:
        written = os.writev(descriptor, parts)
        if written == sum(map(len, parts)):
            return
        # A short write: the disk is nearly full, or a signal came. The rest goes in one piece, so that the
        # next write either makes progress or says why it cannot.
        rest = memoryview(b"".join(parts))[written:]
        while rest:
            rest = rest[os.write(descriptor, rest) :]


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let an error of a call on a descriptor name the file."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
