"""Finds the records of a refused batch that ClickHouse cannot read, and gets everything else in.

A batch is halved until single records remain, or until the engine's memory suffices. A record that is refused alone is
rewritten without what the engine cannot read (unknown groups, fields of another wire type, enum numbers beyond 32
bits). If it is still refused, only its rejects are inserted, with one more that gives the reason; its bytes stay in the
log.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from typing import cast

from google.protobuf.message import DecodeError, Message

from retrospan.ingest.load.batches import Content, Frame, token_of
from retrospan.ingest.load.landing import insert_nothing, insert_records, note_stored
from retrospan.ingest.log.record import SAMPLE_BYTES, Record, Reject, decode, encode
from retrospan.ingest.otlp import lenient
from retrospan.schemas.errors import OutOfMemory, SqlError, WarehouseUnavailable
from retrospan.schemas.store import Store

_LOG = logging.getLogger(__name__)


def insert_piecemeal(
    store: Store, content: Content, epoch: int, set_aside: Callable[[int, str], None]
) -> None:
    """Insert all records that can be inserted, and call `set_aside(sequence, reason)` for each of the others.

    Raises WarehouseUnavailable when the fault is not in the data.
    """
    _require_sound(store)
    # What was refused may have got some of its rows in, under another token.
    note_stored(store, content.frames[0].sequence)
    whole = content.data
    waiting: list[Sequence[Frame]] = [content.frames]
    while waiting:
        frames = waiting.pop()
        data = whole[frames[0].start : frames[-1].end]
        try:
            insert_records(store, data, token_of(epoch, data))
        except (OutOfMemory, SqlError) as refusal:
            if len(frames) > 1:
                middle = len(frames) // 2
                waiting += [frames[middle:], frames[:middle]]
            elif isinstance(refusal, OutOfMemory):
                raise
            else:
                _insert_mended(
                    store,
                    decode(whole[frames[0].body : frames[0].end]),
                    epoch,
                    str(refusal),
                    set_aside,
                )


def _require_sound(store: Store) -> None:
    """Check the tables: where a table or the schema file is why a batch is refused, no record is to blame."""
    try:
        insert_nothing(store)
    except SqlError as cause:
        raise WarehouseUnavailable(f"The warehouse takes no records at all: {cause}") from cause


def _insert_mended(
    store: Store, record: Record, epoch: int, reason: str, set_aside: Callable[[int, str], None]
) -> None:
    mended = _mend(record)
    if mended is not None:
        try:
            insert_records(store, mended, token_of(epoch, mended))
        except SqlError as refusal:
            reason = str(refusal)
        else:
            _LOG.info("record %d was refused as sent and stored without its unknown fields", record.sequence)
            return
    _require_sound(store)
    note = _note(record, reason)
    insert_records(store, note, token_of(epoch, note))
    _LOG.warning("record %d cannot be loaded and is in quarantine: %.300s", record.sequence, reason)
    set_aside(record.sequence, reason[:1000])


def _mend(record: Record) -> bytes | None:
    """Return the record as a protobuf library writes it without what it does not know; None if it cannot read it."""
    try:
        traces = None if record.traces is None else _rewritten(lenient.parse_traces(record.traces))
        logs = None if record.logs is None else _rewritten(lenient.parse_logs(record.logs))
    except DecodeError:
        return None
    return _framed(record, traces, logs, record.rejects)


def _rewritten(request: object) -> bytes:
    message = cast(Message, request)
    message.DiscardUnknownFields()
    return message.SerializeToString()


def _note(record: Record, reason: str) -> bytes:
    """Return the record with its rejects alone, and one for what could not be loaded."""
    payload = (record.traces or b"") + (record.logs or b"")
    reject = Reject(
        signal="traces" if record.traces is not None else "logs",
        spans=record.items,
        reason=f"quarantined: {reason[:1000]}",
        request_hash=hashlib.sha256(payload).digest(),
        sample=payload[:SAMPLE_BYTES],
    )
    return _framed(record, None, None, [*record.rejects, reject])


def _framed(record: Record, traces: bytes | None, logs: bytes | None, rejects: Sequence[Reject]) -> bytes:
    parts, _ = encode(
        arrived_at=record.arrived_at,
        sequence=record.sequence,
        tenant=record.tenant,
        traces=traces,
        logs=logs,
        rejects=rejects,
        items=record.items if traces is not None or logs is not None else 0,
        notes=record.notes,
    )
    return b"".join(parts)
