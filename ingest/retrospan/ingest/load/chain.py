"""The chain of loaded batches: each batch that is in the warehouse leaves a row there, linked to the one before."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from dataclasses import fields, replace

from retrospan.ingest.load.batches import Content
from retrospan.ingest.load.ledger import Batch, Head, Ledger
from retrospan.ingest.log.hashes import KnownHashes
from retrospan.ingest.warehouse.rows import encode_rows, insert_encoded
from retrospan.schemas.retention_tables import LoadedBatch, hash_of_link
from retrospan.schemas.sequences import base_of
from retrospan.schemas.store import Store

#: As what the columns are sent: the engine makes of it what they are.
_TYPES = {
    **{field.name: "UInt64" if field.type == "int" else "String" for field in fields(LoadedBatch)},
    "loaded_at": "DateTime64(9, 'UTC')",
}


class Chains:
    """The heads of the chains, as the ledger has them. Safe to share between threads."""

    def __init__(self, ledger: Ledger) -> None:
        self._lock = threading.RLock()
        self._ledger = ledger

    def locked(self) -> AbstractContextManager[object]:
        """Return what is held by whoever writes into the ledger or inserts a batch: nobody else does meanwhile."""
        return self._lock

    @property
    def epoch(self) -> int:
        """Which chain of batches is the newest."""
        return self._ledger.epoch

    @property
    def batches(self) -> Head:
        """The last batch of the epoch."""
        return self._ledger.batches

    @property
    def receipts(self) -> Head:
        """The last receipt that the log is known to hold."""
        return self._ledger.receipts

    @property
    def applied(self) -> int:
        """What the receipts up to this number name is gone from the tables."""
        return self._ledger.buried

    @property
    def loaded_sequence(self) -> int:
        """Every record up to this one is loaded in the newest epoch, or in quarantine."""
        return self._ledger.loaded_sequence

    @property
    def hashes(self) -> KnownHashes:
        """What each record held when it was loaded first."""
        return self._ledger.hashes

    @property
    def lost(self) -> tuple[str, ...]:
        """Files beside the log that were missing at some start, though records had been loaded."""
        return tuple(self._ledger.lost)

    @property
    def damage(self) -> str:
        """What of the ledger could not be read when it was opened, in one sentence; '' where all could."""
        lines = self._ledger.damaged_lines
        if not lines:
            return ""
        which = "a line" if lines == 1 else f"{lines:,} lines"
        return (
            f"{which} could not be read when the collector started: everything was loaded again, and what was noted there of "
            "files that were missing is not known"
        )

    @property
    def is_rechecked(self) -> bool:
        """Whether the log was compared with its hashes since it was loaded anew."""
        return self._ledger.rechecked >= self._ledger.epoch

    @property
    def complaint(self) -> str:
        """Why the log may not be what it was, in one sentence; '' when nothing says so."""
        lost = [
            f"log/{name} was missing at a start, though records had been loaded" for name in self._ledger.lost
        ]
        damage = self.damage and f"log/batches.jsonl: {self.damage}"
        return "; ".join([*lost, *filter(None, [damage, self._ledger.differs])])

    @property
    def quarantined(self) -> tuple[int, ...]:
        """Records that the ledger says could not be loaded."""
        return tuple(self._ledger.quarantined)

    def note_rechecked(self, epoch: int, differs: str) -> None:
        """Note what came of comparing the log with its hashes after an epoch was loaded."""
        with self._lock:
            self._ledger.note_rechecked(epoch, differs)

    def note_receipt(self, head: Head) -> None:
        """Note the last receipt that the log holds; returns once that is on disk."""
        with self._lock:
            self._ledger.note_receipt(head)

    def note_applied(self, number: int) -> None:
        """Note that what the receipts up to this number name is gone from the tables."""
        with self._lock:
            self._ledger.note_buried(number)


def insert_link(store: Store, ledger: Ledger, log: int, batch: Batch, content: Content) -> Head:
    """Write the row of a batch that was just inserted; returns its place in the chain, for the ledger.

    A batch that is repeated after a crash leaves the same row again, which counts once.
    """
    row = LoadedBatch(
        tenant=next(iter(content.tenants)) if len(content.tenants) == 1 else "",
        log=log,
        epoch=ledger.epoch,
        number=ledger.batches.number + 1,
        first_record=base_of(log) + batch.first,
        last_record=base_of(log) + batch.last,
        records=len(content.frames),
        items=batch.items,
        bytes=content.size,
        content_hash=content.hash,
        loaded_at=batch.begun_at,
        previous_hash=ledger.batches.hash,
    )
    row = replace(row, batch_hash=hash_of_link(row))
    insert_encoded(store, encode_rows("loaded_batches", [row], _TYPES))
    return Head(row.number, row.batch_hash)
