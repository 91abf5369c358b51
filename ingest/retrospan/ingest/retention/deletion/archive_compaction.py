"""Removes the bytes of deleted runs and payloads from the log's archive, segment by segment.

A segment of which nothing is kept is deleted; any other is rewritten without them. The receipt, with the hash of the
content before and after, is durable before the file changes. A segment that has changed since it was loaded, is damaged
or is missing, is left alone and reported: a receipt would certify the alteration. So is one that was never archived
because it is damaged. The newest part of the log, which is not archived yet, is left for the next time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from retrospan.ingest.log.archive import opened
from retrospan.ingest.log.rewrite import Rewritten, drop, rewrite
from retrospan.ingest.log.segment import Segment
from retrospan.ingest.log.segment_reader import read_frames
from retrospan.ingest.machine.durable_files import NO_ROOM, Files
from retrospan.ingest.retention.deletion.record_content import without_deleted
from retrospan.ingest.retention.receipts.receipts import Receipts
from retrospan.ingest.retention.sql import load
from retrospan.schemas.errors import SegmentUnreadable
from retrospan.schemas.retention_tables import Receipt
from retrospan.schemas.sequences import base_of
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows

Report = Callable[[Mapping[str, object]], None]
#: Why a segment is not what was loaded from it, '' where nothing says so. Calls the last argument now and
#: then.
FaultOf = Callable[[Store, Segment, Callable[[], None]], str]
#: What receipts say of a segment: the newest's time (Unix ns), and its hashes before and after.
Told = tuple[int, str, str]


class Deleted(NamedTuple):
    """A trace of which receipts name something, as `graves_between` lists it. Times are Unix nanoseconds."""

    tenant: str
    trace_id: str
    last_arrival: int
    deleted_at: int
    payloads: int


_AT_ONCE = 4 << 20


class ArchivedLog(Protocol):
    """What is asked of the write-ahead log."""

    def archived(self, loaded_sequence: int) -> list[Segment]: ...

    def unarchived(self, loaded_sequence: int) -> list[Segment]: ...

    def put_back(self, rewritten: Rewritten) -> None: ...


class ArchiveCompaction:
    """Goes over the archive of one log."""

    def __init__(
        self, log: ArchivedLog, receipts: Receipts, fault_of: FaultOf, files: Files | None = None
    ) -> None:
        self._log = log
        self._receipts = receipts
        self._fault_of = fault_of
        self._files = files or Files()

    def run(
        self,
        store: Store,
        loaded: int,
        before: int,
        now: int,
        by: str,
        report: Report,
        go_on: Callable[[], None],
    ) -> dict[str, int]:
        """Cleanse every segment whose last record arrived before a time (Unix ns) and that holds what was deleted.

        Returns how many segments were removed, rewritten, and left because they are not what was loaded or the disk is full,
        and how many bytes of disk that gave back. Those that were left are reported, with what is wrong.
        """
        done = {
            "segments_removed": 0,
            "segments_rewritten": 0,
            "segments_altered": 0,
            "segments_waiting": 0,
            "archive_bytes": 0,
        }
        log_number = self._receipts.log_number
        receipts = typed_rows(
            store, tuple[str, int, str, str], load("receipts_of_segments"), {"log": log_number}
        )
        told = {row[0]: row[1:] for row in receipts}
        segments = self._log.archived(loaded)
        refused: set[int] = set()
        for place, segment in enumerate(segments):  # which grows by those that are tried again
            go_on()
            report({"phase": "archive", "done": place, "total": len(segments), "unit": "segments"})
            rows = self._graves(store, segment)
            known = told.get(segment.path.name)
            if not rows:
                continue
            try:
                if not self._is_due(segment, max(row.deleted_at for row in rows), known, before):
                    continue
                rewritten = rewrite(segment, cleanser_of(rows), self._files)
                fault = self._fault(store, rewritten, go_on)
                if not fault and rewritten.changed:
                    self._put_back(rewritten, known, now, by, done)
            except FileNotFoundError as gone:
                fault = f"{gone.filename} is missing"
            except SegmentUnreadable as beside:
                fault = f"cannot be compared with its hashes: {beside}"
            except OSError as full:
                if full.errno not in NO_ROOM:
                    raise
                if segment.first not in refused:
                    # What others take less by then may be room enough.
                    refused.add(segment.first)
                    segments.append(segment)
                    continue
                done["segments_waiting"] += 1
                fault = "has to wait: the disk is full, and to write it anew needs room. Free some, and repeat this"
                report({"where": segment.place, "wrong": fault})
                continue
            if fault:
                done["segments_altered"] += 1
                report({"where": segment.place, "wrong": fault})
        for segment in self._log.unarchived(loaded):
            if self._graves(store, segment):
                done["segments_altered"] += 1
                fault = "is damaged, so it is not archived: what was deleted may still be in it"
                report({"where": segment.place, "wrong": fault})
        return done

    def _graves(self, store: Store, segment: Segment) -> list[Deleted]:
        """Return the traces of which receipts name something that was in a segment."""
        base = base_of(self._receipts.log_number)
        between = {"first": base + segment.first, "last": base + segment.last}
        return typed_rows(store, Deleted, load("graves_between"), between)

    def _is_due(self, segment: Segment, newest: int, known: Told | None, before: int) -> bool:
        """Whether something was deleted since the segment was cleansed last, or its receipt waits to be carried out."""
        digest, last_arrival = _looked_at(segment)
        if last_arrival >= before:
            return False
        return known is None or newest > known[0] or digest == known[1]

    def _fault(self, store: Store, rewritten: Rewritten, go_on: Callable[[], None]) -> str:
        """Return why a segment must stay as it is, '' where nothing says so; its new content is dropped then."""
        segment, fault = rewritten.segment, ""
        if rewritten.intact < segment.size:
            fault = f"is damaged from byte {rewritten.intact:,} on: what was deleted may still be in it"
        elif rewritten.changed:
            fault = self._fault_of(store, segment, go_on)
        if fault:
            drop(rewritten, self._files)
        return fault

    def _put_back(
        self, rewritten: Rewritten, known: Told | None, now: int, by: str, done: dict[str, int]
    ) -> None:
        segment = rewritten.segment
        try:
            # A process that died in between has written this receipt already.
            if known is None or known[1:] != (rewritten.hash_before, rewritten.hash_after):
                self._receipts.write("default", [_receipt(rewritten, now, by)])
            before = segment.disk_bytes
            self._log.put_back(rewritten)
        finally:
            drop(rewritten, self._files)
        done["segments_removed" if rewritten.path is None else "segments_rewritten"] += 1
        left = segment.path.stat().st_size if rewritten.path is not None else 0
        done["archive_bytes"] += before - left


def cleanser_of(rows: list[Deleted]) -> Callable[[bytes], bytes | None]:
    """Return what is to be done with each record, by the rows of `graves_between`."""
    graves: dict[tuple[str, bytes], int] = {}
    bared: dict[tuple[str, bytes], int] = {}
    for row in rows:
        found = bared if row.payloads else graves
        found[row.tenant, bytes.fromhex(row.trace_id)] = row.last_arrival
    return lambda data: without_deleted(data, graves, bared)


def _looked_at(segment: Segment) -> tuple[str, int]:
    """Return the hash of a segment's content, and when its last record arrived (Unix ns)."""
    digest, newest, at = hashlib.sha256(), 0, 0
    with opened(segment) as descriptor:
        while at < segment.size:
            chunk, _ = read_frames(descriptor, at, segment.size, None, _AT_ONCE)
            if chunk is None:
                break
            digest.update(chunk.data)
            newest = max([newest, *(frame.arrived_at for frame in chunk.frames())])
            at += len(chunk.data)
    return digest.hexdigest(), newest


def _receipt(rewritten: Rewritten, now: int, by: str) -> Receipt:
    segment = rewritten.segment
    return Receipt(
        tenant="",
        log=0,
        number=0,
        what="segment",
        subject=segment.path.name,
        run_class="",
        rule="what it held was deleted" if rewritten.path is None else "part of what it held was deleted",
        deleted_at=now,
        by=by,
        last_arrival=0,
        trace_ids=(),
        first_records=(segment.first,),
        last_records=(segment.last,),
        spans=0,
        log_records=0,
        arrivals=0,
        rows=0,
        bytes=segment.size - rewritten.size,
        content_hash=rewritten.hash_before,
        hash_after=rewritten.hash_after,
        previous_hash="",
    )
