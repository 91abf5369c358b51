"""The content of the log when it was first loaded: a hash for each batch, kept beside the log and never rewritten.

    DATA/log/hashes      last record of the batch, how many records, SHA-256 of their bytes (hex), a newline

A line speaks of the records behind the line before it. Loading anew adds nothing for records that have a line: so what
the log holds then can be compared with what it held, also when the warehouse and the ledger were removed. Each line is
linked to those before it, SHA-256 over the link before and the line; the last link is the head that `verify` prints.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from retrospan.ingest.log.archive import DIRECTORY
from retrospan.ingest.machine.durable_files import Files

NAME = "hashes"
_TAIL_BYTES = 4096


class Placed(Protocol):
    """One record of a batch: where it begins in the batch's bytes."""

    @property
    def sequence(self) -> int: ...

    @property
    def start(self) -> int: ...


class Hashed(Protocol):
    """A batch: its records, all of its bytes, and their SHA-256 in hex."""

    @property
    def frames(self) -> Sequence[Placed]: ...

    @property
    def data(self) -> bytes: ...

    @property
    def hash(self) -> str: ...


@dataclass(frozen=True, slots=True)
class KnownHash:
    """The records from `first` to `last` as they were. `link` is the head of the file up to here."""

    number: int
    first: int
    last: int
    records: int
    hash: str
    link: str


class KnownHashes:
    """The file of one log. Written by one thread."""

    def __init__(self, path: Path, files: Files) -> None:
        self.last = 0
        """Every record up to this one that was ever loaded has a hash, from where the file begins."""
        self.exists = path.exists()
        self._path = path
        self._files = files
        self._descriptor = -1
        self._whole = 0  # bytes up to the last newline: what follows was being written when the process died
        self._find_end()

    def begin(self, behind: int = 0) -> None:
        """Make the file where it is missing, for the records behind one; returns once it is on disk."""
        if self._path.exists():
            return
        content = _line(behind, 0, hashlib.sha256().hexdigest()) if behind else b""
        self._files.make_directory(self._path.parent)
        self._files.replace(self._path, content)
        self._whole = len(content)
        self.last, self.exists = behind, True

    def note(self, batch: Hashed, last: int) -> None:
        """Keep the hash of a batch that ends with record `last`, of those records that have none; returns once that is
        on disk."""
        if last <= self.last:
            return
        new = [record for record in batch.frames if record.sequence > self.last]
        rest = memoryview(batch.data)[new[0].start :] if new and new[0].start else b""
        line = _line(last, len(new), hashlib.sha256(rest).hexdigest() if rest or not new else batch.hash)
        if self._descriptor < 0:
            self._open()
        try:
            self._files.append(self._descriptor, [line])
            self._files.sync(self._descriptor)
        except OSError:
            self.close()  # half a line may be there: it is cut when the next one comes
            raise
        self._whole += len(line)
        self.last = last

    def read(self) -> Iterator[KnownHash]:
        """Yield what the file says, from its beginning.

        A line that is not a link ends it: what follows cannot be told to be whose.
        """
        number = before = 0
        link = ""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            for text in file:
                words = text.split()
                if (
                    not text.endswith(b"\n")
                    or len(words) != 3
                    or not (words[0].isdigit() and words[1].isdigit())
                ):
                    return
                number += 1
                link = hashlib.sha256(link.encode() + b" " + text).hexdigest()
                last, records = int(words[0]), int(words[1])
                yield KnownHash(number, before + 1, last, records, words[2].decode("ascii", "replace"), link)
                before = last

    def close(self) -> None:
        """Safe to call twice."""
        if self._descriptor >= 0:
            self._files.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> None:
        self.begin()
        if self._path.stat().st_size > self._whole:
            self._files.truncate(self._path, self._whole)
        self._descriptor = self._files.open_append(self._path)

    def _find_end(self) -> None:
        if not self.exists:
            return
        size = self._path.stat().st_size
        with self._path.open("rb") as file:
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read()
        end = tail.rfind(b"\n") + 1
        self._whole = size - len(tail) + end
        lines = tail[:end].splitlines()
        word = lines[-1].split(b" ")[0] if lines else b"0"
        self.last = int(word) if word.isdigit() else 0


def has_records(directory: Path) -> bool:
    """Return whether a log directory holds any record, archived or not."""
    return has_archive(directory) or any(path.stat().st_size for path in directory.glob("*.seg"))


def has_archive(directory: Path) -> bool:
    """Return whether any of the log's records were archived, and so loaded."""
    return next((directory / DIRECTORY).glob("*.seg.zst"), None) is not None


def _line(last: int, records: int, digest: str) -> bytes:
    return b"%d %d %b\n" % (last, records, digest.encode())
