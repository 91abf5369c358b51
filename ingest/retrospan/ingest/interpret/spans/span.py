"""A span with its attributes decoded, its log records beside it: what interpretation reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Attributes = Mapping[str, object]

#: OTLP span flags: whether the remote bit is known, and whether the parent lives in another process.
HAS_IS_REMOTE, IS_REMOTE = 0x100, 0x200


@dataclass(slots=True, kw_only=True)
class Event:
    name: str
    time_ns: int
    attributes: Attributes


@dataclass(slots=True, kw_only=True)
class Link:
    trace_id: str
    span_id: str
    attributes: Attributes


@dataclass(slots=True, kw_only=True)
class LogRecord:
    """A log record that names a span. `event` is its event name, wherever the producer put it."""

    event: str
    time_ns: int
    body: object
    attributes: Attributes
    order: tuple[int, int, str]


@dataclass(slots=True, kw_only=True)
class Span:
    """One OTLP span. Times are Unix nanoseconds, 0 where the producer gave none; status is ok, error or unset."""

    trace_id: str
    span_id: str
    parent_span_id: str
    name: str
    kind: int
    flags: int
    started_at: int
    ended_at: int
    status: str
    status_message: str
    scope: str
    scope_version: str
    attributes: Attributes
    resource: Attributes
    events: list[Event] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    logs: list[LogRecord] = field(default_factory=list)
    dropped_attributes: int = 0
    sequence: int = 0
    arrived_at: int = 0
    parent_trace_id: str = ""  # of a parent in another trace that this one joins; '' is the own trace

    @property
    def order(self) -> tuple[int, int, str]:
        """Order of spans everywhere, but for parents that start and end with their children."""
        return (self.started_at, self.ended_at, self.span_id)

    @property
    def done_at(self) -> int:
        """When what it did was done: its end, else its start."""
        return self.ended_at or self.started_at

    @property
    def has_remote_parent(self) -> bool:
        return bool(self.flags & HAS_IS_REMOTE and self.flags & IS_REMOTE)

    @property
    def duration_ms(self) -> float | None:
        if not self.started_at or self.ended_at < self.started_at:
            return None
        return (self.ended_at - self.started_at) / 1e6
