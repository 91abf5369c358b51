"""Room on the disk of an embedded engine: nothing is to be written where the disk could not take it.

The engine goes on when the disk refuses a write, and says nothing of it: what it was making is there, with empty files.
A definition of a table that was written so keeps it from opening the directory ever again. It asks for room itself before
it writes rows, and `engine.xml` has it leave as much as this does; before it writes definitions it does not ask.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from retrospan.schemas.errors import WarehouseUnavailable

#: What is left of the disk: others may fill it while something is being written. `engine.xml` has it too.
LEFT_BYTES = 32 << 20
_WRITES = re.compile(
    r"(?:\s|--[^\n]*\n)*(?:CREATE|ALTER|INSERT|DELETE|OPTIMIZE|RENAME|EXCHANGE)\b", re.IGNORECASE
)


def free_bytes(path: Path) -> int:
    """Return what may still be written on the disk of a directory."""
    disk = os.statvfs(path)
    return disk.f_bavail * disk.f_frsize


def require_room(path: Path, statement: str) -> None:
    """Return unless a statement writes and the disk of `path` is nearly full.

    What drops something is let through: it makes room.

    Raises:
        WarehouseUnavailable: it is; the message says what helps.
    """
    if _WRITES.match(statement) and (free := free_bytes(path)) < LEFT_BYTES:
        raise WarehouseUnavailable(
            f"the disk of {path} has {free:,} bytes free, and {LEFT_BYTES:,} are left alone: free some space. It goes on "
            "by itself then"
        )
