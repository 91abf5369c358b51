"""Keeps what was deleted from being loaded again: content that receipts of the log name and its records still hold.

The bytes of what was deleted leave the log after its rows, segment by segment, and a backup may hold an older copy of a
segment. Loaded as they are, such records would become rows that everybody sees, until the receipts behind them in the log are
carried out. So the log is first read to its end for receipts: what they name is not inserted at all.
"""

from __future__ import annotations

import json
import logging
from bisect import bisect_right
from collections.abc import Callable

from retrospan.ingest.load.batches import Content, Frame, ReadableLog
from retrospan.ingest.log.record import decode, holds_only_spans
from retrospan.ingest.retention.deletion.record_content import KEPT, without_deleted
from retrospan.ingest.retention.sql import load
from retrospan.schemas.sequences import base_of
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows
from retrospan.schemas.wire import read_varint

_LOG = logging.getLogger(__name__)
_AT_ONCE = 4 << 20
#: From so many bytes on, reading for receipts takes a while, and is told.
_LONG_BYTES = 1 << 30


class Returning:
    """Belongs to the loader's thread. Knows nothing outside a loading of records that were loaded before."""

    def __init__(self, log: ReadableLog, log_number: int = 0, *, alone: bool = True) -> None:
        """`alone`: no other log fills the warehouse, so that every receipt is in this one."""
        self._log = log
        self._base = base_of(log_number)
        self._alone = alone
        self._end = 0
        self._graves: dict[tuple[str, bytes], int] = {}
        self._bared: dict[tuple[str, bytes], int] = {}
        self._ranges: list[tuple[int, int]] = []

    def learn(self, store: Store, after: int, go_on: Callable[[], None]) -> None:
        """Read what follows a record for receipts. `go_on` is called now and then; it may raise."""
        self._forget()
        if self._log.bytes_beyond(after) > _LONG_BYTES:
            _LOG.info("reading the log for receipts before it is loaded, so that nothing deleted is shown")
        at = after
        while (chunk := self._log.read(at, max_bytes=_AT_ONCE)) is not None:
            go_on()
            if not holds_only_spans(chunk.data):
                for frame in chunk.frames():
                    if not holds_only_spans(chunk.data[frame.start : frame.end]):
                        self._take(chunk.data[frame.body : frame.end])
            at = chunk.last_sequence
        if not self._alone and at > after:
            self._take_others(store, after, at)
        self._end = at
        self._ranges = _joined(self._ranges)

    def without_deleted(self, content: Content) -> Content:
        """Return the records of a batch without what receipts name; the same where they name nothing of it."""
        if not content.frames or content.frames[0].sequence > self._end:
            self._forget()
            return content
        if not any(self._is_named(frame.sequence) for frame in content.frames):
            return content
        data, parts, frames, size, changed = content.data, list[bytes](), list[Frame](), 0, False
        for frame in content.frames:
            whole = data[frame.start : frame.end]
            if self._is_named(frame.sequence):
                made = without_deleted(data[frame.body : frame.end], self._graves, self._bared)
                changed = changed or made != KEPT
                if made is None:
                    continue
                whole = made or whole
            body = read_varint(whole, 0, len(whole))
            assert body is not None, "a record has its length in front"
            frames.append(Frame(frame.sequence, size, size + body[1], size + len(whole)))
            parts.append(whole)
            size += len(whole)
        return Content.of(b"".join(parts), frames) if changed else content

    def _take(self, record: bytes) -> None:
        for note in decode(record).notes:
            if note.kind != "receipt":
                continue
            receipt = json.loads(note.body)
            if receipt["what"] == "segment":
                continue
            self._add(
                receipt["tenant"],
                receipt["trace_ids"],
                receipt["last_arrival"],
                receipt["what"] == "payloads",
            )
            self._ranges += [
                (first - self._base, last - self._base)
                for first, last in zip(receipt["first_records"], receipt["last_records"], strict=True)
            ]

    def _take_others(self, store: Store, after: int, end: int) -> None:
        """Receipts of other logs may name records of this one."""
        between = {"first": self._base + after + 1, "last": self._base + end}
        rows = typed_rows(store, tuple[str, str, int, int, int], load("graves_between"), between)
        for tenant, trace_id, last_arrival, _, payloads in rows:
            self._add(tenant, [trace_id], last_arrival, bool(payloads))
        if rows:
            self._ranges.append((after + 1, end))

    def _add(self, tenant: str, trace_ids: list[str], last_arrival: int, payloads: bool) -> None:
        found = self._bared if payloads else self._graves
        for trace_id in trace_ids:
            key = (tenant, bytes.fromhex(trace_id))
            found[key] = max(found.get(key, 0), last_arrival)

    def _is_named(self, sequence: int) -> bool:
        at = bisect_right(self._ranges, (sequence, 2**63)) - 1
        return at >= 0 and self._ranges[at][1] >= sequence

    def _forget(self) -> None:
        self._end = 0
        self._graves, self._bared, self._ranges = {}, {}, []


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined
