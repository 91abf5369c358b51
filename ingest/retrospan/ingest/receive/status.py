"""The one table from errors to gRPC codes and HTTP statuses, and `google.rpc.Status` in both encodings.

Status and its details are three small messages, written by hand on the wire:
Status {1 code, 2 message, 3 details: Any {1 type_url, 2 value}}, RetryInfo {1 retry_delay: {1 seconds, 2 nanos}},
BadRequest {1 field_violations: {1 field, 2 description}}.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from retrospan.schemas.errors import (
    BadRequest,
    Forbidden,
    MethodNotAllowed,
    NotFound,
    OverQuota,
    PayloadTooLarge,
    PermanentError,
    RetryableError,
    SlowRequest,
    Unauthenticated,
    UnsupportedMedia,
)
from retrospan.schemas.wire import delimited, varint

INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED = 3, 5, 7, 8
UNIMPLEMENTED, INTERNAL, UNAVAILABLE, UNAUTHENTICATED = 12, 13, 14, 16

#: Stock exporters give up after 10 s or six tries: a second lets them try for as long as they live.
RETRY_SECONDS = 1

_TYPES = "type.googleapis.com/google.rpc."
#: What a client is sent at most; a response has a limit of its own.
_MESSAGE_CHARACTERS = 4096


#: First match wins; a subclass stands before its base.
_TABLE: tuple[tuple[type[Exception], int, int], ...] = (
    (BadRequest, INVALID_ARGUMENT, 400),
    (Unauthenticated, UNAUTHENTICATED, 401),
    (Forbidden, PERMISSION_DENIED, 403),
    (NotFound, NOT_FOUND, 404),
    (MethodNotAllowed, UNIMPLEMENTED, 405),
    (PayloadTooLarge, RESOURCE_EXHAUSTED, 413),
    (UnsupportedMedia, INVALID_ARGUMENT, 415),
    (PermanentError, INTERNAL, 500),
    (SlowRequest, UNAVAILABLE, 408),
    (OverQuota, RESOURCE_EXHAUSTED, 429),
    (RetryableError, UNAVAILABLE, 503),
)


@dataclass(frozen=True, slots=True)
class Status:
    """An answer that is not success. `retry_seconds` 0 means: do not try again."""

    grpc_code: int
    http_status: int
    message: str
    retry_seconds: int = 0

    def protobuf(self) -> bytes:
        """As google.rpc.Status."""
        status = b"\x08" + varint(self.grpc_code) + delimited(2, self.message.encode(errors="replace"))
        detail = self._detail()
        if detail:
            status += delimited(3, delimited(1, (_TYPES + detail[0]).encode()) + delimited(2, detail[1]))
        return status

    def json(self) -> bytes:
        """As google.rpc.Status in protobuf's JSON."""
        status: dict[str, object] = {"code": self.grpc_code, "message": self.message}
        if self.retry_seconds:
            status["details"] = [{"@type": f"{_TYPES}RetryInfo", "retryDelay": f"{self.retry_seconds}s"}]
        elif self.grpc_code == INVALID_ARGUMENT:
            violations = [{"description": self.message}]
            status["details"] = [{"@type": f"{_TYPES}BadRequest", "fieldViolations": violations}]
        return json.dumps(status).encode()

    def retry_info(self) -> bytes:
        """As google.rpc.RetryInfo; '' when trying again is useless."""
        return delimited(1, b"\x08" + varint(self.retry_seconds)) if self.retry_seconds else b""

    def _detail(self) -> tuple[str, bytes] | None:
        if self.retry_seconds:
            return "RetryInfo", self.retry_info()
        if self.grpc_code == INVALID_ARGUMENT:
            return "BadRequest", delimited(1, delimited(2, self.message.encode(errors="replace")))
        return None


def status_of(error: BaseException) -> Status:
    """Return the answer to an error. An error that is not in the table is our own fault and retryable."""
    for kind, grpc_code, http_status in _TABLE:
        if isinstance(error, kind):
            retry = RETRY_SECONDS if isinstance(error, RetryableError) else 0
            return Status(grpc_code, http_status, str(error)[:_MESSAGE_CHARACTERS], retry)
    return Status(UNAVAILABLE, 503, f"an internal error: {type(error).__name__}", RETRY_SECONDS)


def partial_success(rejected: int, message: str) -> bytes:
    """Return an Export…ServiceResponse: empty on full success, else with partial_success."""
    if not rejected and not message:
        return b""
    text = message[:_MESSAGE_CHARACTERS].encode(errors="replace")
    return delimited(1, (b"\x08" + varint(rejected) if rejected else b"") + delimited(2, text))


def partial_success_json(signal: str, rejected: int, message: str) -> bytes:
    """Return the same in JSON, where the count's name depends on the signal and a 64-bit number is a string."""
    if not rejected and not message:
        return b"{}"
    name = "rejectedSpans" if signal == "traces" else "rejectedLogRecords"
    return json.dumps(
        {"partialSuccess": {name: str(rejected), "errorMessage": message[:_MESSAGE_CHARACTERS]}}
    ).encode()
