"""Inserts one batch: at once, or record by record if the engine refuses it or runs out of memory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from retrospan.ingest.load.batches import Content
from retrospan.ingest.load.landing import insert_content
from retrospan.ingest.load.ledger import Batch
from retrospan.ingest.load.quarantine import insert_piecemeal
from retrospan.schemas.errors import OutOfMemory, SqlError
from retrospan.schemas.store import Store

_LOG = logging.getLogger(__name__)


class Returning(Protocol):
    """What was deleted and would come back with records that are loaded again."""

    def learn(self, store: Store, after: int, go_on: Callable[[], None]) -> None: ...

    def without_deleted(self, content: Content) -> Content: ...


class NothingReturns(Returning):
    """For a log of which nothing is ever deleted."""

    def learn(self, store: Store, after: int, go_on: Callable[[], None]) -> None:
        """Learn nothing."""

    def without_deleted(self, content: Content) -> Content:
        """Return the same."""
        return content


class BatchInsertion:
    """Belongs to the loader's thread."""

    def __init__(self, set_aside: Callable[[int, str], None]) -> None:
        """`set_aside` is called with the sequence of a record that cannot be loaded, and the reason."""
        self._set_aside = set_aside
        self._too_large = ""  # the token of a batch that the engine had not the memory for

    def insert(self, store: Store, batch: Batch, content: Content, token: str, epoch: int) -> bool:
        """Return whether the engine refused it as a whole.

        Raises OutOfMemory the first time that the engine has not the memory, WarehouseUnavailable when it takes nothing now.
        """
        if not content.frames:
            return False
        try:
            insert_content(store, content, token)
        except SqlError as refusal:
            _LOG.warning("batch %d-%d was refused: %.300s", batch.first, batch.last, refusal)
            insert_piecemeal(store, content, epoch, self._set_aside)
            return True
        except OutOfMemory:
            # Once may be because of what else the engine does just now; twice, it will not fit.
            if self._too_large != batch.token:
                self._too_large = batch.token
                raise
            _LOG.warning("batch %d-%d does not fit the engine's memory: halving it", batch.first, batch.last)
            insert_piecemeal(store, content, epoch, self._set_aside)
        return False
