"""The loader's ledger: which records of the log are in the warehouse, and which batch was on its way.

    DATA/log/batches.jsonl      8 hex digits of CRC-32, a space, a JSON object, a newline

A batch is written here, durably, before the first try to insert it, and marked after the insert: a crash in
between leaves it open, and it is repeated with the same boundaries and the same token. A torn last line is cut. Any
other damage begins a new epoch: everything is loaded again, which adds nothing that is there already.
"""

from __future__ import annotations

import errno
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from retrospan.ingest.log.hashes import NAME, KnownHashes, has_archive, has_records
from retrospan.ingest.machine.durable_files import Files

#: The file is rewritten as its summary when it has grown to this size.
_COMPACT_BYTES = 4 << 20
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Records `first` to `last` of the log as one insert. `items` are spans and log records.

    `token` names the content and the epoch; ClickHouse ignores a second insert with it. `begun_at` is Unix
    nanoseconds.
    """

    first: int
    last: int
    records: int
    items: int
    token: str
    begun_at: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """The last link of a chain: its number and its hash; 0 and '' when there is none."""

    number: int = 0
    hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A record that ClickHouse cannot read, left aside."""

    sequence: int
    reason: str


class Ledger:
    """Written by one thread, readable from any."""

    def __init__(self, path: Path, files: Files) -> None:
        self.epoch = 1
        """Grows when everything is to be loaded again."""
        self.loaded_sequence = 0
        """Every record up to this one has been loaded in this epoch, or is in quarantine."""
        self.open_batch: Batch | None = None
        """A batch that may be in the warehouse, or in some of its tables."""
        self.quarantined: dict[int, Quarantined] = {}
        self.counted: dict[str, int] = {}
        """Rows by table when they were last counted, deleted ones included: there are never fewer."""
        self.batches = Head()
        """The last batch that was loaded in this epoch."""
        self.receipts = Head()
        """The last receipt of a deletion that this log holds, as far as it was noted."""
        self.buried = 0
        """What the receipts up to this number name is gone from the tables of this epoch."""
        self.lost: list[str] = []
        """Which of the files that tell what was loaded were not there at some start, though records were loaded."""
        self.rechecked = 1
        """The newest epoch after whose loading the log was compared with its hashes; the first makes them."""
        self.differs = ""
        """What that comparison found, in one sentence; '' when the log is as it was."""
        self.is_new = False
        """Whether there was no such file when it was opened."""
        self.hashes = KnownHashes(path.with_name(NAME), files)
        """What each record held when it was loaded first."""
        self.damaged_lines = 0
        self._keeps_hashes = False
        self._path = path
        self._files = files
        self._descriptor = -1
        self._size = 0

    @classmethod
    def open(cls, path: Path, files: Files | None = None) -> Ledger:
        """Read what is there and get ready to write; a missing file is a log of which nothing was loaded.

        Where a full disk has no room for the summary, what is there stays as it is, and the first line tries again.
        """
        ledger = cls(path, files or Files())
        ledger._read()
        ledger._notice_loss()
        ledger._keeps_hashes = True
        # Before the ledger says that they are kept.
        ledger.hashes.begin(ledger.loaded_sequence)
        try:
            ledger._compact()
        except OSError as cause:
            if cause.errno not in _NO_ROOM:
                raise
            if not ledger.is_new:
                ledger._files.settle(path)  # takes no room; what was read counts from now on
        return ledger

    @classmethod
    def look(cls, path: Path) -> Ledger:
        """Read what is there and write nothing: for looking at a directory, not for loading."""
        ledger = cls(path, Files())
        ledger._read()
        return ledger

    def begin(self, batch: Batch) -> None:
        """Note a batch; returns once that is on disk."""
        self._write({"open": asdict(batch)}, durable=True)

    def finish(self, batch: Batch, link: Head | None = None) -> None:
        """Note that a batch is in the warehouse, and its link in the chain of batches.

        Not synced: were it lost, the batch would be repeated.
        """
        link = link or self.batches
        self._write({"loaded": batch.last, "link": [link.number, link.hash]}, durable=False)

    def note_receipt(self, head: Head) -> None:
        """Note the last receipt that the log holds; returns once that is on disk."""
        self._write({"receipt": [head.number, head.hash]}, durable=True)

    def note_rechecked(self, epoch: int, differs: str) -> None:
        """Note what came of comparing the log with its hashes after an epoch was loaded; returns once that is on disk."""
        self._write({"rechecked": epoch, "differs": differs}, durable=True)

    def note_buried(self, number: int) -> None:
        """Note that what the receipts up to this number name is gone from the tables. Not synced."""
        self._write({"buried": number}, durable=False)

    def quarantine(self, sequence: int, reason: str) -> None:
        """Note that a record was left aside; returns once that is on disk."""
        self._write({"quarantined": {"sequence": sequence, "reason": reason}}, durable=True)

    def count(self, rows: Mapping[str, int]) -> None:
        """Note how many rows the tables hold."""
        self._write({"counted": dict(rows)}, durable=False)

    def begin_epoch(self, above: int = 0) -> None:
        """Forget what was loaded, so that everything is loaded again; returns once that is on disk.

        The new epoch is above this one, and above any that the warehouse is known to have.
        """
        self._write({"epoch": max(self.epoch, above) + 1}, durable=True)

    def close(self) -> None:
        """Make all lines durable. Safe to call twice."""
        if self._descriptor >= 0:
            self._files.sync(self._descriptor)
            self._files.close(self._descriptor)
            self._descriptor = -1
        self.hashes.close()

    def _write(self, line: dict[str, object], *, durable: bool) -> None:
        data = _encode(line)
        if self._descriptor < 0:
            self._compact()
        try:
            self._files.append(self._descriptor, [data])
            if durable:
                self._files.sync(self._descriptor)
        except OSError:
            # Half a line may be there, or a line that the disk will never get: the next one goes to a new file.
            self._files.close(self._descriptor)
            self._descriptor = -1
            raise
        self._size += len(data)
        self._apply(line)
        if self._size > _COMPACT_BYTES:
            self._compact()

    def _apply(self, line: Mapping[str, object]) -> None:
        match line:
            case {"open": {**fields}}:
                self.open_batch = Batch(**fields)  # type: ignore[arg-type]  # our own line, checksummed
            case {"loaded": int(last)}:
                self.loaded_sequence = last
                self.open_batch = None
                match line.get("link"):
                    case [int(number), str(digest)]:
                        self.batches = Head(number, digest)
            case {"receipt": [int(number), str(digest)]}:
                self.receipts = Head(number, digest)
            case {"rechecked": int(epoch), "differs": str(differs)}:
                self.rechecked, self.differs = epoch, differs
            case {"hashes": True}:
                self._keeps_hashes = True
            case {"lost": [*names]}:
                self.lost = [str(name) for name in names]
            case {"buried": int(number)}:
                self.buried = number
            case {"quarantined": {"sequence": int(sequence), "reason": str(reason)}}:
                self.quarantined[sequence] = Quarantined(sequence=sequence, reason=reason)
            case {"counted": {**rows}}:
                self.counted = {str(table): int(str(count)) for table, count in rows.items()}
            case {"epoch": int(epoch)}:
                self.epoch = epoch
                self.loaded_sequence = 0
                self.open_batch = None
                self.quarantined = {}
                self.counted = {}
                self.batches = Head()
                self.buried = 0
            case _:
                self.damaged_lines += 1

    def _read(self) -> None:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            self.is_new = True
            return
        # What follows the last newline was being written when the process died.
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.split(b"\n")[:-1]
        for number, text in enumerate(lines):
            line = _decode(text)
            if line is not None:
                self._apply(line)
            elif number < len(lines) - 1:
                self.damaged_lines += 1
        if self.damaged_lines:
            self._apply({"epoch": self.epoch + 1})

    def _notice_loss(self) -> None:
        """Note which files are missing beside records that were loaded. Who makes a log makes an empty file of hashes."""
        folder = self._path.parent
        if self.is_new and (self.hashes.last or (folder.is_dir() and has_archive(folder))):
            self._lose(self._path.name)
        known = self.is_new or self._keeps_hashes
        if known and not self.hashes.exists and folder.is_dir() and has_records(folder):
            self._lose(NAME)

    def _lose(self, name: str) -> None:
        self.rechecked = 0
        if name not in self.lost:
            self.lost.append(name)

    def _compact(self) -> None:
        """Put the file's summary in its place, whole or not at all, and go on writing behind it."""
        lines: list[dict[str, object]] = [
            {"epoch": self.epoch},
            {"loaded": self.loaded_sequence, "link": [self.batches.number, self.batches.hash]},
            {"receipt": [self.receipts.number, self.receipts.hash]},
            {"buried": self.buried},
            {"hashes": True},
            {"rechecked": self.rechecked, "differs": self.differs},
        ]
        if self.lost:
            lines.append({"lost": self.lost})
        for record in self.quarantined.values():
            lines.append({"quarantined": asdict(record)})
        if self.counted:
            lines.append({"counted": self.counted})
        if self.open_batch is not None:
            lines.append({"open": asdict(self.open_batch)})
        content = b"".join(_encode(line) for line in lines)
        self.close()
        self._files.make_directory(self._path.parent)
        self._files.replace(self._path, content)
        self._descriptor = self._files.open_append(self._path)
        self._size = len(content)


def _encode(line: Mapping[str, object]) -> bytes:
    text = json.dumps(line, separators=(",", ":")).encode()
    return b"%08x %b\n" % (zlib.crc32(text), text)


def _decode(line: bytes) -> dict[str, object] | None:
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    found = json.loads(text)
    return found if isinstance(found, dict) else None
