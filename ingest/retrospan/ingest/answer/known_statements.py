"""A cache of judged statements, so that a repeated statement is split into tokens and judged once and not per request.

The key is the statement with the names of its parameters, not their values: `Understanding` asks for the values where
the result depends on them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from retrospan.ingest.answer.guard.guard import CheckedStatement
from retrospan.ingest.answer.rewriting.inlining import PlacedCall
from retrospan.schemas.store import Settings

#: Characters, of what was asked and of what is executed for it. Python takes up to four bytes for each.
MOST_CHARACTERS = 2 << 20
#: Whoever writes his statements by hand, or has values in them, does not put out what is asked again and again.
LONGEST = 64 << 10


@dataclass(frozen=True, slots=True)
class Reading:
    """A statement as the guard let it through, and as it is executed, with the views whose rows are its parameters."""

    checked: CheckedStatement
    executed: CheckedStatement
    calls: Sequence[PlacedCall]
    settings: Settings
    """With what it is read, by its own form."""

    @property
    def size(self) -> int:
        return len(self.checked.sql) + len(self.executed.sql)


#: The statement, the database that it was asked in, whether it sees the engine's catalogue, and its parameters.
Key = tuple[str, str, bool, frozenset[object]]


class KnownStatements:
    """The readings used last, within a number of characters. Safe to share between threads."""

    def __init__(self, most_characters: int = MOST_CHARACTERS) -> None:
        self._most = most_characters
        self._changing = threading.Lock()
        self._readings: OrderedDict[Key, Reading] = OrderedDict()
        self._size = 0

    def find(self, key: Key) -> Reading | None:
        """Return what a statement was read as; None if that is not known, or no more."""
        with self._changing:
            reading = self._readings.get(key)
            if reading is not None:
                self._readings.move_to_end(key)
            return reading

    def add(self, key: Key, reading: Reading) -> None:
        """Remember it, unless it is very long; what was used least lately goes for it."""
        if len(key[0]) + reading.size > LONGEST:
            return
        with self._changing:
            if key in self._readings:
                return
            self._readings[key] = reading
            self._size += len(key[0]) + reading.size
            while self._size > self._most:
                gone, old = self._readings.popitem(last=False)
                self._size -= len(gone[0]) + old.size
