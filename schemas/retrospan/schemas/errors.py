"""Everything Retrospan raises, in one tree with two behaviours.

    RetrospanError
    ├── PermanentError            trying again cannot help: the input or the set-up must change
    │   ├── BadRequest            what was sent cannot be read (gRPC INVALID_ARGUMENT, HTTP 400)
    │   │   └── TooManyParts      it has more elements than a request may have
    │   ├── Unauthenticated       no token, or none that is in force (gRPC UNAUTHENTICATED, HTTP 401)
    │   ├── Forbidden             the token may not do this (gRPC PERMISSION_DENIED, HTTP 403)
    │   ├── MethodNotAllowed      an HTTP method that is not answered here (HTTP 405)
    │   ├── UnsupportedMedia      a content type or encoding nobody here speaks (HTTP 415)
    │   ├── PayloadTooLarge       over the size limit, before or after decompression
    │   ├── DirectoryInUse        another process owns the data directory
    │   ├── PortInUse             another process owns the port
    │   ├── ConfigError           an unknown or unusable setting
    │   ├── SqlError              the engine or the guard refused a query
    │   ├── NotFound              no such run, step or view
    │   ├── TooLate               what was to be kept was deleted meanwhile
    │   ├── SchemaTooNew          the data was written by a later release
    │   ├── BadBundle             a file that should be a bundle of runs cannot be read
    │   │   ├── NotABundle        it is something else
    │   │   ├── BundleDamaged     it was cut or edited
    │   │   └── BundleTooNew      a later release wrote it
    │   ├── NotRestorable         a recorded checkpoint does not hold what going on from it needs
    │   ├── ReplayMiss            a replayed agent asked what its record does not answer
    │   ├── ReplayRefused         a replayed agent wanted to reach the world
    │   └── MissingExtra          an optional dependency is not installed
    └── RetryableError            the same call may succeed later
        ├── SlowRequest           a request body did not arrive in time (HTTP 408)
        ├── Overloaded            more requests are on their way in than memory is set aside for
        ├── OverQuota             a tenant sends more than it may (gRPC RESOURCE_EXHAUSTED, HTTP 429)
        ├── LogFull               the write-ahead log is at its limit, the disk nearly full, or no file can be begun
        ├── LogFailed             the disk refused a write; nothing is acknowledged until a restart
        ├── SegmentUnreadable     a file of the log is gone, or the disk does not give it out
        ├── WarehouseUnavailable  ClickHouse does not answer, or not now
        └── CollectorUnreachable  nothing answers at the collector's address

Only `retrospan.ingest.receive.status` turns these into gRPC and HTTP codes, and only the command line into
exit codes.
"""

from __future__ import annotations

#: ClickHouse's code for a statement that took longer than it may.
TIMEOUT_EXCEEDED = 159
TOO_MANY_QUERIES = 202
QUERY_TOO_LARGE = 229


class RetrospanError(Exception):
    """Base of every error raised by Retrospan. The message says what happened, with which value, and what to do."""


class PermanentError(RetrospanError):
    """Trying again cannot help."""


class RetryableError(RetrospanError):
    """The same call may succeed later."""


class BadRequest(PermanentError):
    """What was sent cannot be read."""


class TooManyParts(BadRequest):
    """A request has more elements than one may have, however few bytes they take."""


class Unauthenticated(PermanentError):
    """A token is needed; `missing` when there was none. The message never holds the token."""

    def __init__(self, message: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.missing = missing


class Forbidden(PermanentError):
    """The bearer of the token may not do this."""


class MethodNotAllowed(PermanentError):
    """An HTTP method that is not answered here."""


class UnsupportedMedia(PermanentError):
    """The content type or content encoding is not one that is spoken here."""


class PayloadTooLarge(PermanentError):
    """A request is over the limit."""

    def __init__(self, message: str, *, limit_bytes: int) -> None:
        super().__init__(message)
        self.limit_bytes = limit_bytes


class DirectoryInUse(PermanentError):
    """Another process owns the data directory."""

    def __init__(self, message: str, *, pid: int | None) -> None:
        super().__init__(message)
        self.pid = pid


class PortInUse(PermanentError):
    """Another process listens on the port."""


class ConfigError(PermanentError):
    """A setting is unknown or cannot be used."""


class SqlError(PermanentError):
    """A query was refused: by the guard in front of the engine, or by the engine."""

    def __init__(self, message: str, *, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class NotFound(PermanentError):
    """No such run, step or view."""


class TooLate(PermanentError):
    """What was to be kept was deleted meanwhile, or another word on it counts; the message says what and when."""


class SchemaTooNew(PermanentError):
    """The warehouse was written by a later release."""


class BadBundle(PermanentError):
    """A file that should be a bundle of runs cannot be read."""


class NotABundle(BadBundle):
    """The file is something else."""


class BundleDamaged(BadBundle):
    """The bundle was cut or edited after it was written; `member` is the part of it, '' if that is not known."""

    def __init__(self, message: str, *, member: str = "") -> None:
        super().__init__(message)
        self.member = member


class BundleTooNew(BadBundle):
    """The bundle was written by a later release."""


class NotRestorable(PermanentError):
    """A recorded checkpoint does not hold what going on from it needs: it was cut, redacted or deleted."""


class ReplayMiss(PermanentError):
    """A replayed agent asked what its record does not answer; `step` and `field` say where it left the record."""

    def __init__(self, message: str, *, step: int | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.step = step
        self.field = field


class ReplayRefused(PermanentError, ConnectionError):
    """A replayed agent wanted to reach the world: a host, a process, a tool that writes."""


class MissingExtra(PermanentError):
    """An optional dependency is not installed; the message is the command that installs it."""

    def __init__(self, extra: str, *, module: str) -> None:
        super().__init__(f'{module} is not installed. Install it with: pip install "retrospan[{extra}]"')
        self.extra = extra
        self.module = module


class SlowRequest(RetryableError):
    """A request body did not arrive in time."""


class Overloaded(RetryableError):
    """More requests are on their way in than memory is set aside for."""


class OverQuota(RetryableError):
    """A tenant sends more than it may."""


class LogFull(RetryableError):
    """The write-ahead log takes nothing now: it is at its size limit, the disk is below its low-water mark, or it cannot
    begin a file."""


class LogFailed(RetryableError):
    """The disk refused a write or an fsync. Nothing is acknowledged any more; a restart recovers."""


class SegmentUnreadable(RetryableError, OSError):
    """A file of the log is gone, or the disk does not give it out. The message says which, and what to do."""


class WarehouseUnavailable(RetryableError):
    """ClickHouse does not answer, or not now."""


class OutOfMemory(WarehouseUnavailable):
    """ClickHouse had not the memory for a statement. The same may succeed later, or never: less at once will."""


class CollectorUnreachable(RetryableError):
    """Nothing answers at the collector's address."""
