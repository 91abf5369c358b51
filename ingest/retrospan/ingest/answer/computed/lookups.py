"""Lookups in the warehouse for one answer: how they are asked, and how much they may bring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrospan.ingest.answer.computed.sql import load
from retrospan.schemas.store import Parameters, Store

#: Rows of lookups that one answer may hold in the process: about 350 MB. The view itself answers what needs more, within
#: the engine's limits, and takes three times as much of both memory and time.
MOST_ROWS = 500_000
#: So many numbers in lists take as much as a row.
NUMBERS = 8


class TooMuch(Exception):
    """The answer needs more rows than the process holds for one: the view is to be asked."""


class Lookups:
    """The lookups of one answer. Belongs to one thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.left = MOST_ROWS
        """So many more rows may be looked up."""

    def rows(self, name: str, parameters: Parameters) -> list[list[Any]]:
        """Return the rows of a lookup. Raises TooMuch, and what a store raises."""
        found = self._store.rows(load(name), {"most": self.left + 1, **parameters})
        self.spend(len(found))
        return found

    def spend(self, rows: int) -> None:
        """Count rows that the answer holds. Raises TooMuch."""
        self.left -= rows
        if self.left < 0:
            raise TooMuch


def of_runs(run_ids: Sequence[str], generations: Sequence[int], **more: str | Sequence[str]) -> Parameters:
    """Return the parameters of a lookup in some runs."""
    return {"run_ids": list(run_ids), "generations": list(generations), **more}
