"""Segments of the archive that were removed on purpose, so that their records do not count as lost.

    DATA/log/archive/removed      one line for each range of records: its first and its last sequence

The range is noted, durably, before the file goes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from retrospan.ingest.machine.durable_files import Files

NAME = "removed"


@dataclass(slots=True)
class Tombstones:
    """Ranges of sequences, ascending and apart."""

    ranges: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def read(cls, folder: Path) -> Tombstones:
        """Return what the folder's file says; other lines are ignored."""
        removed = cls()
        path = folder / NAME
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []:
            words = line.split()
            if len(words) == 2 and words[0].isdecimal() and words[1].isdecimal():
                removed.add(int(words[0]), int(words[1]))
        return removed

    def add(self, first: int, last: int) -> None:
        """Add a range, and join it with those that it touches."""
        apart = [(a, b) for a, b in self.ranges if b + 1 < first or a > last + 1]
        near = [(a, b) for a, b in self.ranges if not (b + 1 < first or a > last + 1)]
        low = min([first, *(a for a, _ in near)])
        high = max([last, *(b for _, b in near)])
        self.ranges = sorted([*apart, (low, high)])

    def write(self, folder: Path, files: Files) -> None:
        """Put the ranges on disk, whole or not at all."""
        lines = "".join(f"{first} {last}\n" for first, last in self.ranges)
        files.replace(folder / NAME, lines.encode())

    def holds(self, first: int, last: int) -> bool:
        """Return whether a whole range was removed."""
        return any(a <= first and last <= b for a, b in self.ranges)

    def missing(self, after: int, before: int) -> int:
        """Return how many sequences between two are gone without having been removed."""
        gone = sum(max(0, min(b, before - 1) - max(a, after + 1) + 1) for a, b in self.ranges)
        return max(0, before - after - 1 - gone)
