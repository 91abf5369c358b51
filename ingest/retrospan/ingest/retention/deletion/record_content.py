"""A record of the log without deleted spans and log records, and without deleted payloads.

Only the envelope of a request is parsed and rewritten; unchanged spans keep their bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.message import DecodeError

from retrospan.ingest.log.record import decode, encode
from retrospan.ingest.otlp import lenient
from retrospan.ingest.retention.deletion.strip import strip_log, strip_span

#: (tenant, trace id) → the last arrival, Unix nanoseconds, that went.
Graves = Mapping[tuple[str, bytes], int]

#: Nothing in the record was deleted: its bytes stay as they are.
KEPT = b""

_SPANS = ("resource_spans", "scope_spans", "spans")
_LOGS = ("resource_logs", "scope_logs", "log_records")


def without_deleted(data: bytes, graves: Graves, bared: Graves) -> bytes | None:
    """Return the record, with its length, without what was deleted, and what is `bared` without its payload.

    `KEPT` when that changes nothing, None when nothing is left. A record that cannot be read stays as it is. Flags,
    holds, receipts and rejects always stay.
    """
    record = decode(data)

    def is_in(found: Graves, trace_id: bytes) -> bool:
        return record.arrived_at <= found.get((record.tenant, trace_id), -1)

    def left_of(member: Any, bare: Callable[[bytes], bytes], one: bytes) -> bytes | None:
        trace_id = member.FromString(one).trace_id
        if is_in(graves, trace_id):
            return None
        return bare(one) if is_in(bared, trace_id) else one

    try:
        traces, spans, bared_spans = _changed(
            record.traces, lenient.TracesEnvelope, _SPANS, lambda one: left_of(lenient.Span, strip_span, one)
        )
        logs, log_records, bared_logs = _changed(
            record.logs, lenient.LogsEnvelope, _LOGS, lambda one: left_of(lenient.LogRecord, strip_log, one)
        )
    except (DecodeError, ValueError):
        return KEPT
    if not spans and not log_records and not bared_spans and not bared_logs:
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


def _changed(
    body: bytes | None, envelope: Any, names: tuple[str, str, str], left_of: Callable[[bytes], bytes | None]
) -> tuple[bytes | None, int, int]:
    """Return a request of what is left of each member, None when none is; how many went, and how many changed."""
    if body is None:
        return None, 0, 0
    request = envelope.FromString(body)
    resources, taken, changed = getattr(request, names[0]), 0, 0
    for resource in resources:
        scopes = getattr(resource, names[1])
        for scope in scopes:
            members = list(getattr(scope, names[2]))
            left = [left_of(one) for one in members]
            kept = [one for one in left if one is not None]
            taken += len(members) - len(kept)
            changed += sum(one is not None and one is not old for one, old in zip(left, members, strict=True))
            del getattr(scope, names[2])[:]
            getattr(scope, names[2]).extend(kept)
        _drop_empty(scopes, names[2])
    if not taken and not changed:
        return body, 0, 0
    _drop_empty(resources, names[1])
    return (request.SerializeToString() if resources else None), taken, changed


def _drop_empty(groups: Any, inner: str) -> None:
    for place in range(len(groups) - 1, -1, -1):
        if not getattr(groups[place], inner):
            del groups[place]
