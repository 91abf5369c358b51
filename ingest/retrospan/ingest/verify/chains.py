"""Checks the chains of loaded batches and of receipts, link by link, and names the first wrong place of each.

A row that was edited no longer has the hash that its columns make; one that was removed, added or moved breaks the
chain of numbers and hashes. The last link of this collector's own chains is compared with what its directory has noted,
so that rows missing at the end are found as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from retrospan.ingest.load.chain import Chains
from retrospan.ingest.load.ledger import Head
from retrospan.ingest.retention.sql import load
from retrospan.schemas.retention_tables import (
    BATCH_COLUMNS,
    RECEIPT_COLUMNS,
    LoadedBatch,
    Receipt,
    hash_of_link,
)
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_column, typed_rows

_PAGE = 5000
_LAST = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Checked:
    """One chain. `wrong` says where and what, '' when every link holds; `at` is the number of that link."""

    chain: str
    log: int
    links: int
    at: int = 0
    wrong: str = ""


def verify(store: Store, chains: Chains, log_number: int) -> list[Checked]:
    """Check every chain in the warehouse. Reads only; a page at a time, and loading goes on meanwhile."""
    with chains.locked():
        # No batch under way: the tables and the ledger speak of the same.
        own = {"batches": chains.batches, "receipts": chains.receipts}
        epoch = chains.epoch
        rows = typed_rows(store, tuple[str, int, int], load("chains"))
        found = {(chain, log): newest for chain, log, newest in rows}
        asked = {"log": log_number, "epoch": epoch}
        (newest_batch,) = typed_column(store, int, load("newest_batch"), asked)
    for chain, head in own.items():
        if head.number:
            found.setdefault((chain, log_number), epoch)
    if own["batches"].number:
        found["batches", log_number] = epoch
    # What is loaded meanwhile is not looked at; what stood there before that the collector does not know, is.
    ends = {"batches": max(own["batches"].number, newest_batch), "receipts": _LAST}
    return [
        _check(store, chain, log, newest, own[chain] if log == log_number else None, ends[chain])
        if log == log_number
        else _check(store, chain, log, newest, None, _LAST)
        for (chain, log), newest in sorted(found.items())
    ]


def _check(store: Store, chain: str, log: int, epoch: int, noted: Head | None, end: int) -> Checked:
    head, links = Head(), 0
    for link in _links(store, chain, log, epoch):
        if link.number > end:
            break
        wrong = _fault(link, head)
        if wrong:
            return Checked(chain, log, links, min(link.number, head.number + 1), wrong)
        head, links = Head(link.number, _hash(link)), links + 1
    if noted is not None and head != noted and noted.number >= head.number:
        if head.number == noted.number:
            wrong = f"{_name(chain)} {head.number} is not the last one that the collector wrote"
        else:
            wrong = (
                f"{_name(chain)} {head.number + 1} is missing: the collector wrote up to number {noted.number}, and the "
                f"warehouse ends at {head.number}"
            )
        return Checked(chain, log, links, min(noted.number, head.number + 1), wrong)
    if noted is not None and noted.number < head.number and chain == "batches":
        wrong = f"{_name(chain)} {noted.number + 1} was not written by the collector, whose last is {noted.number}"
        return Checked(chain, log, links, noted.number + 1, wrong)
    return Checked(chain, log, links)


def _fault(link: Receipt | LoadedBatch, before: Head) -> str:
    name = _name("receipts" if isinstance(link, Receipt) else "batches")
    if link.number > before.number + 1:
        return f"{name} {before.number + 1} is missing: after {before.number} comes {link.number}"
    if link.number <= before.number:
        return f"{name} {link.number} exists twice, with different content"
    if hash_of_link(link) != _hash(link):
        return f"{name} {link.number} was changed: its hash does not match its columns"
    if link.previous_hash != before.hash:
        return f"{name} {link.number} does not follow the previous one: its previous_hash is different"
    return ""


def _links(store: Store, chain: str, log: int, epoch: int) -> Iterator[Receipt | LoadedBatch]:
    number = 0
    while True:
        asked = {"log": log, "number": number, "limit": _PAGE}
        links: list[Receipt | LoadedBatch] = []
        if chain == "receipts":
            links += [
                Receipt(**_named(RECEIPT_COLUMNS, row)) for row in store.rows(load("receipt_links"), asked)
            ]
        else:
            asked["epoch"] = epoch
            links += [
                LoadedBatch(**_named(BATCH_COLUMNS, row)) for row in store.rows(load("batch_links"), asked)
            ]
        yield from links
        if len(links) < _PAGE:
            return
        number = links[-1].number


def _named(columns: tuple[str, ...], row: list[object]) -> dict[str, Any]:
    values = (tuple(value) if isinstance(value, list) else value for value in row)
    return dict(zip(columns, values, strict=True))


def _hash(link: Receipt | LoadedBatch) -> str:
    return link.receipt_hash if isinstance(link, Receipt) else link.batch_hash


def _name(chain: str) -> str:
    return "receipt" if chain == "receipts" else "batch"
