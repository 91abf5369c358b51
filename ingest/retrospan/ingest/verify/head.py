"""The head of everything loaded and deleted, in one line: stored elsewhere, to compare with later.

    <batches>-<receipts>-<SHA-256, hex>

The hash is over the link of the file of hashes after so many batches and the hash of the receipt of that number. Who
has the line can tell later whether what was there then is still what the chains begin with.
"""

from __future__ import annotations

import hashlib
import re

from retrospan.ingest.log.hashes import KnownHashes
from retrospan.ingest.verify.sql import load
from retrospan.schemas.errors import BadRequest
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_column

_FORM = re.compile(r"(\d{1,18})-(\d{1,18})-([0-9a-f]{64})")


def head_of(store: Store, log: int, hashes: KnownHashes, receipts: int) -> str:
    """Return the head as it is now, with so many receipts."""
    number, link = 0, ""
    for line in hashes.read():
        number, link = line.number, line.link
    return f"{number}-{receipts}-{_hash(link, _receipt(store, log, receipts) or '')}"


def fault_of(expected: str, store: Store, log: int, hashes: KnownHashes) -> str:
    """Return why an expected head is not one of those that the chains went through; '' when it is.

    Raises:
        BadRequest: it is not a head.
    """
    match = _FORM.fullmatch(expected.strip())
    if match is None:
        raise BadRequest(f"--expect takes a head as printed by verify; {expected[:80]!r} is not one.")
    batches, receipts = int(match[1]), int(match[2])
    number, link = 0, ""
    for line in hashes.read():
        if number == batches:
            break
        number, link = line.number, line.link
    if number < batches:
        return f"log/hashes ends at line {number}, but the expected head has {batches}"
    found = _receipt(store, log, receipts)
    if found is None:
        return f"receipt {receipts} is missing, but the expected head includes it"
    if _hash(link, found) != match[3]:
        return f"the first {batches} lines of log/hashes and receipt {receipts} do not make the expected head"
    return ""


def _receipt(store: Store, log: int, number: int) -> str | None:
    """Return the hash of a receipt, '' of none before the first; None when it is missing."""
    if not number:
        return ""
    found = typed_column(store, str, load("receipt_hash"), {"log": log, "number": number})
    return found[0] if len(found) == 1 else None


def _hash(link: str, receipt: str) -> str:
    return hashlib.sha256(f"{link} {receipt}".encode()).hexdigest()
