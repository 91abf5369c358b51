"""The one place that both receivers hand requests to: read, salvage, make durable, report the outcome.

A request that reads as a whole goes into the log byte for byte, but that log records of no trace that tell what an agent
did are given the trace of their prompt (`prompt_traces`). From one with bad members the good ones are kept, and the
record that holds them also holds what was rejected and why. One that cannot be read at all leaves a record of that, and
is refused.

With a redactor, secrets are taken out before any of that is durable, and rejects carry no sample of their bytes.

What was sent is what was acknowledged, rejected or refused; `counters` has all three.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from retrospan.ingest.log.record import Reject
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.otlp import json as otlp_json
from retrospan.ingest.otlp.prompt_traces import with_traces
from retrospan.ingest.otlp.salvage import (
    LOGS,
    TRACES,
    Faults,
    Salvaged,
    Shape,
    count,
    reasons_in_words,
    salvage,
)
from retrospan.ingest.receive.budget import Budget, Hold
from retrospan.ingest.redact.redactor import Redacted, Redactor
from retrospan.ingest.settings.config import Limits
from retrospan.schemas.errors import (
    BadRequest,
    PayloadTooLarge,
    PermanentError,
    RetryableError,
    TooManyParts,
)

Signal: TypeAlias = Literal["traces", "logs"]
Format: TypeAlias = Literal["protobuf", "json"]

NOUNS: dict[Signal, str] = {"traces": "span", "logs": "log record"}


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The outcome of a request that was not refused; for logs, read log records for spans.

    `spans` are on disk. `message` is '' on full success, else it names the reasons, or why a request that is not empty
    has none. `sequence` is the log record, 0 when there was nothing to keep.
    """

    spans: int
    rejected_spans: int
    message: str
    sequence: int


@dataclass(slots=True)
class IntakeCounters:
    """Since the start of the process. For each signal: received = acknowledged + rejected + refused."""

    requests: int = 0
    requests_refused: int = 0
    requests_undecodable: int = 0
    requests_crowded: int = 0
    requests_waited: int = 0
    requests_over_budget: int = 0
    bytes_held: int = 0
    spans_received: int = 0
    spans_acknowledged: int = 0
    spans_rejected: int = 0
    spans_refused: int = 0
    log_records_received: int = 0
    log_records_acknowledged: int = 0
    log_records_rejected: int = 0
    log_records_refused: int = 0
    spans_redacted: int = 0
    spans_withheld: int = 0
    log_records_redacted: int = 0
    log_records_withheld: int = 0
    values_redacted: int = 0
    bytes_received: int = 0


@dataclass(slots=True)
class _Read:
    """A request after reading: what to store, how many members that is, what was left out, and why it has nothing."""

    body: bytes
    kept: int
    faults: Faults = field(default_factory=Faults)
    warning: str = ""


class Intake:
    """Takes requests from any thread and returns once they are durable."""

    def __init__(
        self, log: WriteAheadLog, limits: Limits | None = None, redactor: Redactor | None = None
    ) -> None:
        self.limits = limits or Limits()
        self.budget = Budget(self.limits.requests_bytes)
        self._redactor = redactor
        self._log = log
        self._counters = IntakeCounters()
        self._counting = threading.Lock()

    @property
    def counters(self) -> IntakeCounters:
        """A copy, consistent in itself."""
        budget = self.budget.counters
        with self._counting:
            return replace(
                self._counters,
                requests_waited=budget.requests_waited,
                requests_over_budget=budget.requests_over_budget,
                bytes_held=budget.bytes_held,
            )

    def traces(
        self, body: bytes, tenant: str = "default", *, format: Format = "protobuf", hold: Hold | None = None
    ) -> Acknowledgement:
        """Take an ExportTraceServiceRequest. `hold` is what it holds of the budget, and narrows as it becomes less.

        Raises:
            BadRequest: it cannot be read; a reject is in the log.
            PayloadTooLarge: it is over the limit.
            LogFull, LogFailed: nothing was stored; the sender may try again.
        """
        return self._take("traces", body, tenant, format, hold)

    def logs(
        self, body: bytes, tenant: str = "default", *, format: Format = "protobuf", hold: Hold | None = None
    ) -> Acknowledgement:
        """Take an ExportLogsServiceRequest. Raises as `traces` does."""
        return self._take("logs", body, tenant, format, hold)

    def note_refused(self) -> None:
        """Count a request that a receiver refused before it had its body, or that may be sent again."""
        with self._counting:
            self._counters.requests += 1
            self._counters.requests_refused += 1

    def _take(
        self, signal: Signal, body: bytes, tenant: str, format: Format, hold: Hold | None
    ) -> Acknowledgement:
        if len(body) > self.limits.request_bytes:
            self.note_refused()
            raise PayloadTooLarge(
                f"the request has {len(body)} bytes and the limit is {self.limits.request_bytes}",
                limit_bytes=self.limits.request_bytes,
            )
        try:
            read = _READERS[signal, format](body)
        except BadRequest as cause:
            self.refuse(signal, body, tenant, cause)
            raise
        if signal == "logs" and read.kept:
            read.body = with_traces(read.body)
        redacted = self._redact(signal, read)
        if hold is not None:
            hold.narrow(len(body) + (0 if read.body is body else len(read.body)))
        try:
            sequence = self._store(signal, body, tenant, read)
        except RetryableError:
            self._count(signal, len(body), refused=read.kept + read.faults.total)
            raise
        if redacted is not None:
            self._count_redacted(signal, redacted)
        rejected = read.faults.total
        self._count(signal, len(body), acknowledged=read.kept, rejected=rejected)
        if not rejected:
            return Acknowledgement(read.kept, 0, read.warning, sequence)
        message = reasons_in_words(read.faults, NOUNS[signal], read.kept + rejected)
        return Acknowledgement(read.kept, rejected, message, sequence)

    def _redact(self, signal: Signal, read: _Read) -> Redacted | None:
        """Take secrets out of what is to be stored; a reject's sample is of bytes that nothing has searched."""
        if self._redactor is None:
            return None
        for reason in read.faults.samples:
            read.faults.samples[reason] = b""
        redacted = self._redactor.traces(read.body) if signal == "traces" else self._redactor.logs(read.body)
        read.body = redacted.body
        return redacted

    def _store(self, signal: Signal, body: bytes, tenant: str, read: _Read) -> int:
        if read.warning:
            return self._log.append(tenant=tenant, rejects=[self._whole(signal, body, read.warning)])
        if not read.kept and not read.faults.total:
            return 0
        rejects: list[Reject] = []
        if read.faults.total:
            request_hash = hashlib.sha256(body).digest()
            rejects = [
                Reject(
                    signal=signal,
                    spans=spans,
                    reason=reason,
                    request_hash=request_hash,
                    sample=read.faults.samples[reason],
                )
                for reason, spans in read.faults.counts.items()
            ]
        stored = read.body if read.kept else None
        if signal == "traces":
            return self._log.append(tenant=tenant, traces=stored, rejects=rejects, items=read.kept)
        return self._log.append(tenant=tenant, logs=stored, rejects=rejects, items=read.kept)

    def refuse(self, signal: Signal, body: bytes, tenant: str, cause: PermanentError) -> None:
        """Count a request that cannot be taken, its body as it was sent, and put it on record.

        Where even that has no room, the counters remain: the sender must not be told to try the same again.
        """
        with self._counting:
            self._counters.requests += 1
            self._counters.requests_refused += 1
            self._counters.requests_undecodable += isinstance(cause, BadRequest)
            self._counters.requests_crowded += isinstance(cause, TooManyParts)
            self._counters.bytes_received += len(body)
        with contextlib.suppress(RetryableError):
            self._log.append(tenant=tenant, rejects=[self._whole(signal, body, str(cause))])

    def _whole(self, signal: Signal, body: bytes, reason: str) -> Reject:
        """Return the reject of a request of which nothing is stored, without a count of what it held."""
        if self._redactor is not None:
            said: list[str] = []
            self._redactor.redacting(said.append)(reason)  # it may quote the request
            [reason] = said
        return Reject(
            signal=signal,
            spans=0,
            reason=reason,
            request_hash=hashlib.sha256(body).digest(),
            sample=body if self._redactor is None else b"",
        )

    def _count_redacted(self, signal: Signal, redacted: Redacted) -> None:
        changed = redacted.members - redacted.withheld_members
        with self._counting:
            self._counters.values_redacted += redacted.values
            if signal == "traces":
                self._counters.spans_redacted += changed
                self._counters.spans_withheld += redacted.withheld_members
            else:
                self._counters.log_records_redacted += changed
                self._counters.log_records_withheld += redacted.withheld_members

    def _count(
        self, signal: Signal, size: int, *, acknowledged: int = 0, rejected: int = 0, refused: int = 0
    ) -> None:
        received = acknowledged + rejected + refused
        counters = self._counters
        with self._counting:
            counters.requests += 1
            counters.bytes_received += size
            counters.requests_refused += bool(refused)
            if signal == "traces":
                counters.spans_received += received
                counters.spans_acknowledged += acknowledged
                counters.spans_rejected += rejected
                counters.spans_refused += refused
            else:
                counters.log_records_received += received
                counters.log_records_acknowledged += acknowledged
                counters.log_records_rejected += rejected
                counters.log_records_refused += refused


def _read_traces(body: bytes) -> _Read:
    return _read(body, TRACES, "ExportTraceServiceRequest")


def _read_logs(body: bytes) -> _Read:
    return _read(body, LOGS, "ExportLogsServiceRequest")


def _read(body: bytes, shape: Shape, message: str) -> _Read:
    kept = count(body, shape)
    return _salvaged(salvage(body, shape), message) if kept is None else _Read(body, kept)


def _salvaged(salvaged: Salvaged | None, message: str) -> _Read:
    if salvaged is None:
        raise BadRequest(f"the body is not an {message}: it cannot be read as protobuf")
    return _Read(salvaged.body, salvaged.kept, salvaged.faults)


def _read_json_traces(body: bytes) -> _Read:
    return _checked(otlp_json.traces_from_json(body), _read_traces)


def _read_json_logs(body: bytes) -> _Read:
    return _checked(otlp_json.logs_from_json(body), _read_logs)


def _checked(converted: Salvaged, read: Callable[[bytes], _Read]) -> _Read:
    """Return what JSON gave, once more through the protobuf reader, which checks the ids."""
    checked = read(converted.body)
    checked.warning = converted.warning
    for reason, members in converted.faults.counts.items():
        checked.faults.add(reason, converted.faults.samples[reason], members)
    return checked


_READERS: dict[tuple[Signal, Format], Callable[[bytes], _Read]] = {
    ("traces", "protobuf"): _read_traces,
    ("logs", "protobuf"): _read_logs,
    ("traces", "json"): _read_json_traces,
    ("logs", "json"): _read_json_logs,
}
