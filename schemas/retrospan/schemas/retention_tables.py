"""Records of retention and loading: receipts of deletions and the loaded batches, each chained by hash.

Each class mirrors its table, column for column. A link's hash covers every column before it, including the hash of the
previous link, so that a changed, removed, added or moved row no longer fits. The first link of a chain follows ''. Each
log has its own chain, with links numbered from 1.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from hashlib import sha256

from retrospan.schemas.hashing import canonical_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One deletion. `what` is run, trace (one without a run), payloads (those of either, which stays) or segment (a
    file of the log's archive).

    Times are Unix nanoseconds. The records of the log that held the spans run from `first_records[i]` to
    `last_records[i]`, as sequences. `rows` counts those of every table, `bytes` is the size of spans and log records
    without compression; of a segment, what its file lost. `content_hash` is of what was there, `hash_after` of what a
    segment held afterwards, '' when nothing was left.
    """

    tenant: str
    log: int
    number: int
    what: str
    subject: str
    run_class: str
    rule: str
    deleted_at: int
    by: str
    last_arrival: int
    trace_ids: tuple[str, ...]
    first_records: tuple[int, ...]
    last_records: tuple[int, ...]
    spans: int
    log_records: int
    arrivals: int
    rows: int
    bytes: int
    content_hash: str
    hash_after: str
    previous_hash: str
    receipt_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedBatch:
    """Records of one log that were inserted together. `content_hash` is the SHA-256 of their bytes.

    `tenant` is '' when the records are of several. `epoch` grows when everything is loaded again; each epoch is a
    chain of its own.
    """

    tenant: str
    log: int
    epoch: int
    number: int
    first_record: int
    last_record: int
    records: int
    items: int
    bytes: int
    content_hash: str
    loaded_at: int
    previous_hash: str
    batch_hash: str = ""


RECEIPT_COLUMNS = tuple(field.name for field in fields(Receipt))
BATCH_COLUMNS = tuple(field.name for field in fields(LoadedBatch))


def hash_of_link(link: Receipt | LoadedBatch) -> str:
    """Return the hash that the link must have: SHA-256 over all its columns but that, as canonical JSON."""
    said = asdict(link)
    del said["receipt_hash" if isinstance(link, Receipt) else "batch_hash"]
    return sha256(canonical_json(said)).hexdigest()
