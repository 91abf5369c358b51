"""How much a log may still grow: up to its own limit, and only while the disk keeps its reserve."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from retrospan.ingest.machine.durable_files import Files
from retrospan.schemas.errors import LogFull

MIB = 1 << 20
GIB = 1 << 30
#: What records without spans may take beyond the limit: flags, holds, and the receipts of deletions that make room.
FOR_NOTES = 16 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLimits:
    """Sizes in bytes. A segment may exceed its size by one record; spans never take the log beyond `limit_bytes`."""

    segment_bytes: int
    limit_bytes: int
    low_water_bytes: int


class DiskBudget:
    """What the log takes (`used`) and what its disk has left (`free`), in bytes. Guarded by the log's lock."""

    def __init__(self, directory: Path, files: Files, limits: LogLimits, used: int) -> None:
        self.used = used
        self.free = files.free_bytes(directory)
        self._directory = directory
        self._files = files
        self._limits = limits

    def reserve(self, size: int, waiting: int, *, has_spans: bool) -> None:
        """Count a record in. `waiting` is the size of those that are not on disk yet.

        A record of notes alone may use what is kept back, so that a full log or disk can be emptied by deleting runs.

        Raises:
            LogFull: there is no room for it; nothing was counted.
        """
        self._require_limit(size, 0 if has_spans else FOR_NOTES)
        if has_spans:
            self._require_disk(size, waiting)
        self.used += size
        self.free -= size

    def measure(self, waiting: int) -> None:
        """Look at the disk again."""
        self.free = self._files.free_bytes(self._directory) - waiting

    def _require_limit(self, size: int, spare: int) -> None:
        limit = self._limits.limit_bytes
        if self.used + size > limit + spare:
            raise LogFull(
                f"the write-ahead log holds {self.used} bytes and its limit is {limit}: raise the limit, or delete runs "
                "(`retrospan retention plan`)"
            )

    def _require_disk(self, size: int, waiting: int) -> None:
        low_water = self._limits.low_water_bytes
        if self.free - size >= low_water:
            return
        # The figure is from the last commit; somebody may have made room since.
        self.measure(waiting)
        if self.free - size < low_water:
            raise LogFull(
                f"the disk of {self._directory} has {self.free} bytes free, and {low_water} are reserved: free some "
                "space, or delete runs (`retrospan retention plan`)"
            )
