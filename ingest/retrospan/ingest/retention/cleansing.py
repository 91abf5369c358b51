"""A record of the log without the spans and log records of what was deleted.

Only the envelope of a request is read and written anew; spans that stay keep their bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.message import DecodeError

from retrospan.ingest.log.record import decode, encode
from retrospan.ingest.otlp import lean

Graves = Mapping[tuple[str, bytes], int]
"""(tenant, trace id) → the last arrival, Unix nanoseconds, that went."""

KEPT = b""
"""Nothing in the record was deleted: its bytes stay as they are."""


def cleansed(data: bytes, graves: Graves) -> bytes | None:
    """The record, with its length, without what was deleted; `KEPT` when that changes nothing, None when nothing is left.

    A record that cannot be read stays as it is. Flags, holds, receipts and rejects always stay.
    """
    record = decode(data)

    def gone(trace_id: bytes) -> bool:
        return record.arrived_at <= graves.get((record.tenant, trace_id), -1)

    try:
        traces, spans = _without(record.traces, lean.TracesEnvelope, lean.Span, _SPANS, gone)
        logs, log_records = _without(record.logs, lean.LogsEnvelope, lean.LogRecord, _LOGS, gone)
    except DecodeError:
        return KEPT
    if not spans and not log_records:
        return KEPT
    if traces is None and logs is None and not record.rejects and not record.notes:
        return None
    parts, _ = encode(
        arrived_at=record.arrived_at,
        sequence=record.sequence,
        tenant=record.tenant,
        traces=traces,
        logs=logs,
        rejects=record.rejects,
        items=max(0, record.items - spans - log_records),
        notes=record.notes,
    )
    return b"".join(parts)


_SPANS = ("resource_spans", "scope_spans", "spans")
_LOGS = ("resource_logs", "scope_logs", "log_records")


def _without(
    body: bytes | None, envelope: Any, member: Any, names: tuple[str, str, str], gone: Any
) -> tuple[bytes | None, int]:
    """A request without members of what is gone, None when none is left, and how many were taken out."""
    if body is None:
        return None, 0
    request = envelope.FromString(body)
    resources, taken = getattr(request, names[0]), 0
    for resource in resources:
        scopes = getattr(resource, names[1])
        for scope in scopes:
            members = getattr(scope, names[2])
            kept = [one for one in members if not gone(member.FromString(one).trace_id)]
            if len(kept) < len(members):
                taken += len(members) - len(kept)
                del members[:]
                members.extend(kept)
        _drop_empty(scopes, names[2])
    if not taken:
        return body, 0
    _drop_empty(resources, names[1])
    return (request.SerializeToString() if resources else None), taken


def _drop_empty(groups: Any, inner: str) -> None:
    for place in range(len(groups) - 1, -1, -1):
        if not getattr(groups[place], inner):
            del groups[place]
