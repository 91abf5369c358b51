"""How the collectors of one server coordinate, so that no hold is acknowledged for a run that another one deletes.

A collector that deletes first announces what it is about to delete, and then reads the holds. A collector that holds
first writes the hold, and then reads the announcements. So one of the two sees the other, whatever their order: either
the deletion spares the run, or the hold waits until the receipts tell what was deleted. Neither relies on a clock.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from retrospan.ingest.retention.policy.moments import text_of
from retrospan.ingest.retention.sql import load
from retrospan.schemas.errors import WarehouseUnavailable
from retrospan.schemas.store import Parameters, Store
from retrospan.schemas.typed_rows import typed_column, typed_rows

#: How long a hold waits for another collector that is about to delete, in seconds: a page takes a few.
PATIENCE_SECONDS = 60.0
_PAUSE = 0.1


class Gone(NamedTuple):
    """A receipt: `what` is run, trace or payloads; `deleted_at` is Unix nanoseconds."""

    log: int
    number: int
    what: str
    run_id: str
    deleted_at: int


class _Announced(NamedTuple):
    log: int
    begun_at: int
    receipts: int


class Announcements:
    """Those of one log, on a server that others write to as well."""

    def __init__(self, store: Store, log_number: int) -> None:
        self._store = store
        self._log_number = log_number

    def begin(self, run_ids: Sequence[str], receipts: int) -> None:
        """Say that these are about to go; whoever places a hold from now on sees it. `receipts` is the number of the last
        receipt before."""
        self._say(run_ids, receipts)

    def end(self) -> None:
        """Say that nothing is about to go: receipts in the warehouse name all that went."""
        self._say((), 0)

    @property
    def stands(self) -> bool:
        """Whether something was announced and is not known to have ended: the process died, or the warehouse was away."""
        return any(each.log == self._log_number for each in _announced(self._store, ()))

    def _say(self, run_ids: Sequence[str], receipts: int) -> None:
        asked: Parameters = {"log": self._log_number, "run_ids": list(run_ids), "receipts": receipts}
        self._store.command(load("announce_deletion"), asked)


def number_of_marks(store: Store) -> int:
    """Return a number that changes with each flag and hold."""
    (number,) = typed_column(store, int, load("number_of_marks"))
    return number


class Witness:
    """Tells what other collectors deleted of some runs from now on. Made before a hold is written, asked after that."""

    def __init__(self, store: Store, log_number: int) -> None:
        self._store = store
        self._log_number = log_number
        # In this order: of receipts that are there already, what they name is gone before the announcement is.
        self._heads = dict(typed_rows(store, tuple[int, int], load("receipt_heads")))
        for each in _announced(store, ()):
            self._heads[each.log] = min(each.receipts, self._heads.get(each.log, 0))

    def gone(self, tenant: str, run_ids: Iterable[str], patience: float = PATIENCE_SECONDS) -> list[Gone]:
        """Return what receipts say of these runs, once nobody is about to delete any of them.

        Raises:
            WarehouseUnavailable: another collector is, and has not said for so many seconds (`patience`) that it ended.
        """
        named = sorted(set(run_ids))
        deadline = time.monotonic() + patience
        while others := [each for each in _announced(self._store, named) if each.log != self._log_number]:
            if time.monotonic() > deadline:
                raise WarehouseUnavailable(
                    f"It is recorded, but the collector of log {others[0].log} began at {text_of(others[0].begun_at)} to "
                    "delete this run, or one that it depends on, and has not reported the end: whether this came in "
                    "time is not known. Ask again once that collector is back."
                )
            time.sleep(_PAUSE)
        asked: Parameters = {
            "tenant": tenant,
            "run_ids": named,
            "logs": list(self._heads),
            "numbers": list(self._heads.values()),
        }
        return typed_rows(self._store, Gone, load("receipts_of_runs"), asked)


def _announced(store: Store, run_ids: Sequence[str]) -> list[_Announced]:
    return typed_rows(store, _Announced, load("announced_deletions"), {"run_ids": list(run_ids)})
