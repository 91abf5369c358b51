"""Salvage: a request with a bad span or log record keeps its good ones.

The envelope (resources and scopes) is read with members as bytes; each member is then read by itself, and those
that cannot be read or carry no valid ids are taken out. What stays keeps its bytes exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import DecodeError

from retrospan.ingest.otlp import lean

TRACE_ID_BYTES = 16
SPAN_ID_BYTES = 8
NO_TRACE_ID = bytes(TRACE_ID_BYTES)
NO_SPAN_ID = bytes(SPAN_ID_BYTES)
# How many reasons one request can be told; a hostile one could think of many.
_REASONS = 16


@dataclass(slots=True)
class Faults:
    """What was left out of a request: per reason, how many members and the first one's bytes."""

    counts: dict[str, int] = field(default_factory=dict)
    samples: dict[str, bytes] = field(default_factory=dict)

    def add(self, reason: str, sample: bytes, members: int = 1) -> None:
        if len(self.counts) >= _REASONS and reason not in self.counts:
            reason = "for other reasons"
        self.counts[reason] = self.counts.get(reason, 0) + members
        self.samples.setdefault(reason, sample)

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What is left of a request: its bytes ('' when nothing is), how many members, and what was left out."""

    body: bytes
    kept: int
    faults: Faults


def span_fault(span: lean.LeanSpan) -> str:
    """Why a span's ids cannot stand; '' if they can."""
    if len(span.trace_id) != TRACE_ID_BYTES:
        return f"trace id has {len(span.trace_id)} bytes, not {TRACE_ID_BYTES}"
    if len(span.span_id) != SPAN_ID_BYTES:
        return f"span id has {len(span.span_id)} bytes, not {SPAN_ID_BYTES}"
    if span.trace_id == NO_TRACE_ID:
        return "trace id is all zero"
    return "span id is all zero" if span.span_id == NO_SPAN_ID else ""


def log_fault(record: lean.LeanSpan) -> str:
    """Why a log record's ids cannot stand; '' if they can. A record outside any trace has none, or zeros."""
    if len(record.trace_id) not in (0, TRACE_ID_BYTES):
        return f"trace id has {len(record.trace_id)} bytes, not {TRACE_ID_BYTES} or none"
    if len(record.span_id) not in (0, SPAN_ID_BYTES):
        return f"span id has {len(record.span_id)} bytes, not {SPAN_ID_BYTES} or none"
    return ""


def salvage_traces(body: bytes) -> Salvaged | None:
    """Keep a trace request's good spans; None if not even its envelope can be read."""
    return _salvage(
        body, lean.TracesEnvelope, lean.Span, span_fault, "span", "resource_spans", "scope_spans", "spans"
    )


def salvage_logs(body: bytes) -> Salvaged | None:
    """Keep a log request's good records; None if not even its envelope can be read."""
    return _salvage(
        body,
        lean.LogsEnvelope,
        lean.LogRecord,
        log_fault,
        "log record",
        "resource_logs",
        "scope_logs",
        "log_records",
    )


def _salvage(
    body: bytes,
    envelope: Any,
    member: Any,
    fault: Callable[[Any], str],
    noun: str,
    resources: str,
    scopes: str,
    members: str,
) -> Salvaged | None:
    try:
        request = envelope.FromString(body)
    except DecodeError:
        return None
    faults = Faults()
    kept = 0
    for group in getattr(request, resources):
        resource_reads = _reads(lean.Resource, group.resource)
        for scope in getattr(group, scopes):
            found = getattr(scope, members)
            if not resource_reads or not _reads(lean.Scope, scope.scope):
                what = "scope" if resource_reads else "resource"
                if found:
                    faults.add(f"{what} of the {noun} cannot be read", body, len(found))
                del found[:]
                scope.ClearField("scope")
                continue
            good = [each for each in found if _is_good(each, member, fault, noun, faults)]
            if len(good) < len(found):
                del found[:]
                found.extend(good)
            kept += len(good)
        if not resource_reads:
            group.ClearField("resource")
    return Salvaged(request.SerializeToString() if kept else b"", kept, faults)


def _is_good(data: bytes, member: Any, fault: Callable[[Any], str], noun: str, faults: Faults) -> bool:
    try:
        reason = fault(member.FromString(data))
    except DecodeError:
        reason = f"{noun} cannot be read"
    if reason:
        faults.add(reason, data)
    return not reason


def _reads(message: Any, data: bytes) -> bool:
    try:
        message.FromString(data)
    except DecodeError:
        return False
    return True


def count_traces(request: lean.LeanTraces) -> tuple[int, bool]:
    """The spans of a request, and whether the ids of every one can stand."""
    count = 0
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            spans = scope.spans
            count += len(spans)
            for span in spans:
                # Each look at a field makes a new object of it.
                trace_id, span_id = span.trace_id, span.span_id
                if (
                    len(trace_id) != TRACE_ID_BYTES
                    or len(span_id) != SPAN_ID_BYTES
                    or trace_id == NO_TRACE_ID
                    or span_id == NO_SPAN_ID
                ):
                    return count, False
    return count, True


def count_logs(request: lean.LeanLogs) -> tuple[int, bool]:
    """The log records of a request, and whether the ids of every one can stand."""
    records = [
        record
        for group in request.resource_logs
        for scope in group.scope_logs
        for record in scope.log_records
    ]
    return len(records), not any(log_fault(record) for record in records)


def reasons_in_words(faults: Faults, noun: str, total: int) -> str:
    """One sentence for `partial_success.error_message`."""
    listed: Iterable[str] = (f"{reason} ({count})" for reason, count in faults.counts.items())
    return f"{faults.total} of {total} {noun}s rejected: " + "; ".join(listed)
