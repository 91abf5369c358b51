"""Segments of the archive that were removed on purpose, so that their records do not count as lost.

    DATA/log/archive/removed      one line for each range of records: its first and its last sequence

The range is noted, durably, before the file goes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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
            if len(words) != 2 or not (words[0].isdecimal() and words[1].isdecimal()):
                continue
            first, last = int(words[0]), int(words[1])
            if first <= last:
                removed.add(first, last)
        return removed

    def add(self, first: int, last: int) -> None:
        """Add a range, and join it with those that it touches."""
        start = bisect_left(self.ranges, first - 1, key=_last)
        end = bisect_right(self.ranges, last + 1, key=_first)
        near = self.ranges[start:end]
        self.ranges[start:end] = [(min(first, near[0][0]), max(last, near[-1][1])) if near else (first, last)]

    def write(self, folder: Path, files: Files) -> None:
        """Put the ranges on disk, whole or not at all."""
        lines = "".join(f"{first} {last}\n" for first, last in self.ranges)
        files.replace(folder / NAME, lines.encode())

    def holds(self, first: int, last: int) -> bool:
        """Return whether a whole range was removed."""
        place = bisect_right(self.ranges, first, key=_first) - 1
        return place >= 0 and last <= self.ranges[place][1]

    def missing(self, after: int, before: int) -> int:
        """Return how many sequences between two are gone without having been removed."""
        start = bisect_right(self.ranges, after, key=_last)
        end = bisect_left(self.ranges, before, key=_first)
        gone = sum(min(b, before - 1) - max(a, after + 1) + 1 for a, b in self.ranges[start:end])
        return max(0, before - after - 1 - gone)


def _first(each: tuple[int, int]) -> int:
    return each[0]


def _last(each: tuple[int, int]) -> int:
    return each[1]
