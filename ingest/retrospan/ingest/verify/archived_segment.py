"""Checks that a segment of the archive still holds what was loaded from it, before it is rewritten.

A receipt has the hash of what a segment held. Made from an altered segment, it would certify the alteration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from retrospan.ingest.load.chain import Chains
from retrospan.ingest.log.hashes import KnownHashes
from retrospan.ingest.log.segment import Segment
from retrospan.ingest.verify.log_bytes import (
    Attested,
    LogBytes,
    VerifiedLog,
    attested_segments,
    content_hash,
    known_hashes,
)
from retrospan.ingest.verify.report import VerifiedPart
from retrospan.schemas.store import Store


def faults_in(
    log: VerifiedLog, chains: Chains, log_number: int
) -> Callable[[Store, Segment, Callable[[], None]], str]:
    """Return the function that looks at one segment of this log."""

    def fault(store: Store, segment: Segment, go_on: Callable[[], None]) -> str:
        attested = attested_segments(store, log_number)
        return fault_of(segment, log, chains.hashes, attested, chains.loaded_sequence, go_on)

    return fault


def fault_of(
    segment: Segment,
    log: VerifiedLog,
    hashes: KnownHashes,
    attested: Mapping[str, Attested],
    loaded: int,
    go_on: Callable[[], None] = lambda: None,
) -> str:
    """Return why a segment is not what it was, '' where nothing says so.

    `attested` are receipts by the name of their segment. Reads the segment, and what its first and last batches have in
    the segments beside it. `go_on` is called now and then; it may raise.
    """
    receipt = attested.get(segment.path.name)
    if receipt is not None:
        if content_hash(segment) in (receipt.hash_before, receipt.hash_after):
            return ""
        return f"matches neither hash of receipt {receipt.number}: before or after the deletion"
    part = VerifiedPart("segment", lambda told: faults.append(f"{told['where']}: {told['wrong']}"))
    faults: list[str] = []
    expected = list(
        known_hashes(hashes, part, lambda first, last: first <= segment.last and last >= segment.first)
    )
    if expected:
        first, last = expected[0].first, expected[-1].last
        beside = {
            name: other for name, other in attested.items() if other.first <= last and other.last >= first
        }
        check = LogBytes(log, beside, loaded, part, go_on)
        check.check_segments()
        check.check(expected)
    return "; ".join(faults)
