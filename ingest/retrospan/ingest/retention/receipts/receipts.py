"""Writes receipts: chained, and durable in the log before anything they name is deleted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Protocol

from retrospan.ingest.load.chain import Chains
from retrospan.ingest.load.ledger import Head
from retrospan.ingest.log.record import Note
from retrospan.ingest.retention.policy.units import Unit
from retrospan.ingest.retention.receipts.evidence import Evidence
from retrospan.ingest.retention.sql import load
from retrospan.schemas.errors import WarehouseUnavailable
from retrospan.schemas.retention_tables import Receipt, hash_of_link
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows


class NoteLog(Protocol):
    """What is asked of the write-ahead log."""

    @property
    def durable_sequence(self) -> int: ...

    def append(self, *, tenant: str, notes: Sequence[Note] = ()) -> int: ...


class Loading(Protocol):
    """What is asked of the loader."""

    @property
    def loaded_sequence(self) -> int: ...

    def wait_loaded(self, sequence: int, timeout: float) -> bool: ...


class Receipts:
    """The chain of one log's receipts, at its end. Belongs to whoever deletes just now."""

    def __init__(self, log: NoteLog, loader: Loading, chains: Chains, log_number: int) -> None:
        self._log = log
        self._loader = loader
        self._chains = chains
        self.log_number = log_number
        self._head = chains.receipts

    @property
    def number(self) -> int:
        """The number of the last receipt."""
        return self._head.number

    def catch_up(self, store: Store) -> None:
        """Find the end of the chain, once all that the log holds is loaded.

        Raises:
            WarehouseUnavailable: the log is not loaded, or receipts that it holds are not in the warehouse.
        """
        require_loaded(self._loader, self._log.durable_sequence)
        rows = typed_rows(store, tuple[int, str], load("last_receipt"), {"log": self.log_number})
        found = Head(*rows[0]) if rows else Head()
        noted = self._chains.receipts
        if found.number < noted.number or (found.number == noted.number and found.hash != noted.hash):
            raise WarehouseUnavailable(
                f"the last receipt in the warehouse is number {found.number}, and this log wrote up to number "
                f"{noted.number}: nothing is deleted until they agree. `retrospan verify` names the place, "
                "`retrospan rebuild` brings receipts back."
            )
        if found != noted:
            # The process died between writing the receipt and noting it.
            self._chains.note_receipt(found)
        self._head = found

    def write(self, tenant: str, receipts: Sequence[Receipt]) -> list[Receipt]:
        """Chain the receipts, append them to the log as one record, and return them once they are on disk and loaded."""
        chained: list[Receipt] = []
        head = self._head
        for receipt in receipts:
            linked = replace(
                receipt, log=self.log_number, number=head.number + 1, previous_hash=head.hash, receipt_hash=""
            )
            linked = replace(linked, receipt_hash=hash_of_link(linked))
            head = Head(linked.number, linked.receipt_hash)
            chained.append(linked)
        notes = [Note("receipt", json.dumps(asdict(receipt)).encode()) for receipt in chained]
        sequence = self._log.append(tenant=tenant, notes=notes)
        self._head = head
        self._chains.note_receipt(head)
        require_loaded(self._loader, sequence)
        return chained


def require_loaded(loader: Loading, sequence: int) -> None:
    """Wait until a record is loaded, as long as the loader gets on. Raises WarehouseUnavailable when it does not."""
    before = -1
    while not loader.wait_loaded(sequence, 60.0):
        if loader.loaded_sequence == before:
            raise WarehouseUnavailable(
                f"record {sequence} of the log is not loaded, and the loader got no further than {before} in a "
                "minute: see the reasons in /health. What is not deleted now is deleted the next time."
            )
        before = loader.loaded_sequence


def receipts_of(unit: Unit, evidence: Evidence, now: int, by: str) -> list[Receipt]:
    """Return the receipts of one unit, not yet chained. What several runs share is counted with the first of them."""
    firsts, lasts = evidence.ranges()
    first = Receipt(
        tenant=unit.tenant,
        log=0,
        number=0,
        what=unit.what,
        subject=unit.members[0].run_id,
        run_class=unit.run_class,
        rule=unit.rule,
        deleted_at=now,
        by=by,
        last_arrival=evidence.last_arrival,
        trace_ids=unit.trace_ids,
        first_records=firsts,
        last_records=lasts,
        spans=evidence.spans,
        log_records=evidence.log_records,
        arrivals=0 if unit.payloads else evidence.arrivals,
        rows=evidence.rows - (evidence.arrivals if unit.payloads else 0),
        bytes=evidence.bytes,
        content_hash=evidence.content_hash,
        hash_after="",
        previous_hash="",
    )
    others = [
        replace(first, subject=member.run_id, spans=0, log_records=0, arrivals=0, rows=0, bytes=0)
        for member in unit.members[1:]
    ]
    return [first, *others]
