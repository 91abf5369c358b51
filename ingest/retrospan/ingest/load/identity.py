"""Which log this is, among those that fill one warehouse: `DATA/log-number`, made once.

    1193046 5f0c…          the number, below 2^24, and a name of 32 hex digits

The number is part of the sequence of every row that comes from the log. It is drawn at random; that two directories
drew the same is found out when the second enters itself into the warehouse.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from retrospan.ingest.load.sql import load
from retrospan.ingest.machine.durable_files import Files
from retrospan.schemas.errors import ConfigError
from retrospan.schemas.sequences import MOST_LOGS
from retrospan.schemas.store import Store

NAME = "log-number"


@dataclass(frozen=True, slots=True)
class LogIdentity:
    """The number and the name of one log."""

    number: int
    name: str

    @classmethod
    def of(cls, directory: Path) -> LogIdentity:
        """Read it, or make it and return once it is on disk.

        Raises:
            ConfigError: the file holds something else.
        """
        path = directory / NAME
        if not path.exists():
            made = cls(1 + secrets.randbelow(MOST_LOGS - 1), secrets.token_hex(16))
            Files().replace(path, f"{made.number} {made.name}\n".encode())
            return made
        number, _, name = path.read_text(encoding="utf-8").strip().partition(" ")
        if not number.isdecimal() or not 0 < int(number) < MOST_LOGS or not name:
            raise ConfigError(
                f"{path} does not hold the number of a log: {number[:40]!r}. Restore the original file."
            )
        return cls(int(number), name)

    def enter(self, store: Store) -> None:
        """Make the log known to the warehouse. Safe to repeat.

        Raises:
            ConfigError: another log has the number.
        """
        rows = store.rows(load("read_log_names"), {"number": self.number})
        if others := {str(name) for (name,) in rows} - {self.name}:
            raise ConfigError(
                f"the log {min(others)} has the number {self.number} in this warehouse too. Stop this "
                f"collector, remove the file {NAME} in its directory, start it again, and run `retrospan rebuild`."
            )
        if not rows:
            note_log(store, self.number, self.name)


def note_log(store: Store, number: int, name: str) -> None:
    """Let every interpreter know that records come under this number."""
    store.command(load("note_log"), {"number": number, "name": name})
