"""A thread that looks whether what an embedded engine wrote is all there, while its disk is nearly full.

Of a write that the disk refuses the engine says nothing: the part counts, with files that are empty or cut short, and
whoever asks gets an error, or too little. That goes for merges too, and eight minutes later the parts that were merged
are removed. A process that begins puts such a part aside and takes those that were merged to it, as long as they are
there; what is lost then is counted, and told. So the process ends where one is found.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from retrospan.ingest.load.sql import load
from retrospan.ingest.machine.priority import ARCHIVING
from retrospan.ingest.service import Service
from retrospan.ingest.warehouse.disk_room import free_bytes
from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.store import Parameters, Store
from retrospan.schemas.typed_rows import typed_rows

_LOG = logging.getLogger(__name__)

#: How often the disk is looked at: it may be filled, and have room again, in little more.
_LOOK_SECONDS = 0.5
#: A disk with less room may have been full between two looks.
NEARLY_FULL_BYTES = 256 << 20
#: How often the parts are looked at meanwhile.
_PARTS_SECONDS = 5.0
#: What the engine dates its parts by has no fractions.
_EARLIER_SECONDS = 2
#: Files of a part that its size does not count.
_NOT_COUNTED = frozenset(
    {
        "checksums.txt",
        "columns.txt",
        "columns_substreams.txt",
        "default_compression_codec.txt",
        "metadata_version.txt",
    }
)


class Part(NamedTuple):
    """A part, and how large the engine takes it to be, in bytes."""

    table: str
    path: str
    size: int


class WholeParts(Service):
    """One per embedded warehouse."""

    thread_name = "retrospan-whole-parts"
    work = "looking whether parts are whole"
    niceness = ARCHIVING

    def __init__(self, store: Callable[[], Store], path: Path, broken: Callable[[str], None]) -> None:
        """`path` is the engine's directory. `broken` is called with what was found: this process does not live on."""
        super().__init__(_LOOK_SECONDS)
        self._store = store
        self._path = path
        self._broken = broken
        self._had_room_at = time.time()
        self._looked_at = 0.0
        self._is_due = False

    def run_once(self) -> None:
        """Look at the parts that were written since the disk is nearly full, and once more when it has room again."""
        is_full = free_bytes(self._path) < NEARLY_FULL_BYTES
        if is_full and time.monotonic() - self._looked_at < _PARTS_SECONDS:
            self._is_due = True
            return
        since = int(self._had_room_at) - _EARLIER_SECONDS
        parts: list[Part] = []
        if is_full or self._is_due:
            self._looked_at = time.monotonic()
            with closing(self._store()) as store:
                asked: Parameters = {"database": DATABASE, "since": since}
                parts = typed_rows(store, Part, load("list_active_parts"), asked)
        self._is_due = is_full
        if not is_full:
            self._had_room_at = time.time()
        if found := [part for part in parts if not is_whole(self._path / part.path, part.size)]:
            tables = ", ".join(sorted({part.table for part in found}))
            for part in found:
                _LOG.error("%s: %s is not whole", part.table, part.path)
            self._broken(f"the disk was full, and {len(found):,} parts of {tables} were not written whole")


def is_whole(part: Path, size: int) -> bool:
    """Whether a part's files are as large as the engine takes them to be; one that is gone meanwhile is."""
    found: dict[str, int] = {}
    try:
        for folder, _, names in os.walk(part):
            for name in names:
                file = os.path.join(folder, name)
                found[file.removeprefix(f"{part}/")] = os.stat(file).st_size
    except FileNotFoundError:
        return True
    if not found:
        return True
    described = all(found.get(name) != 0 for name in _NOT_COUNTED)
    return described and sum(bytes_ for name, bytes_ in found.items() if name not in _NOT_COUNTED) >= size
