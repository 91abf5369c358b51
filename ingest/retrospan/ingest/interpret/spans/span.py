"""A span with its attributes decoded, its log records beside it: what interpretation reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

Attributes = Mapping[str, object]

#: OTLP span flags: whether the remote bit is known, and whether the parent lives in another process.
HAS_IS_REMOTE, IS_REMOTE = 0x100, 0x200
#: OTLP span kinds.
SERVER, CLIENT = 2, 3
#: In nanoseconds.
MILLISECOND = 1_000_000


def begun_by(started_at: int) -> int:
    """Return the latest that something may have begun: some clocks count whole milliseconds, and round down."""
    return started_at if started_at % MILLISECOND else started_at + MILLISECOND - 1


@dataclass(slots=True, kw_only=True)
class Event:
    """An event of a span: sent with the span, or as a log record that names it, or both.

    `identity` is the same in whichever form it comes; '' is none. `arrived_at` is when the first of them arrived, 0 with the
    span.
    """

    name: str
    time_ns: int
    attributes: Attributes
    identity: str = ""
    arrived_at: int = 0


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


@dataclass(frozen=True, slots=True)
class Unread:
    """Something that a span's events or log records say and that cannot be read."""

    field: str
    raw: str
    reason: str


@dataclass(slots=True, kw_only=True)
class Span:
    """One OTLP span. Times are Unix nanoseconds, 0 where the producer gave none; status is ok, error or unset.

    One that `is_open` was said to have begun and never ended. One that `is_placeholder` never came at all: events name it.
    """

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
    loose: list[LogRecord] = field(
        default_factory=list
    )  # evaluations in its trace that name no span that is known
    strays: list[LogRecord] = field(
        default_factory=list
    )  # of no trace, written while it lasted, naming its conversation
    dropped_attributes: int = 0
    sequence: int = 0
    arrived_at: int = 0
    heard_sequence: int = 0  # of the newest record that says anything of it
    heard_at: int = 0  # when that arrived
    is_open: bool = False
    is_placeholder: bool = False
    is_told: bool = False  # log records alone tell it: it was never sent
    process_id: str = ""  # of the process that said that it has begun
    filled_at: int = 0  # when an event last said something that is now among its attributes
    unread: list[Unread] = field(default_factory=list)
    other_times: int = 0  # how many variants of it, which are not shown, began at other times
    is_apart: bool = False  # of another execution with the same ids, whose other spans are not shown
    parent_trace_id: str = ""  # of a parent in another trace that this one joins; '' is the own trace
    called: object = field(default=None, init=False, repr=False, compare=False)  # of `names_of_span`

    @property
    def order(self) -> tuple[int, int, str]:
        """Order of spans everywhere, but for parents that start and end with their children."""
        return (self.started_at, self.ended_at, self.span_id)

    @property
    def done_at(self) -> int:
        """When what it did was done: its end, else its start."""
        return self.ended_at or self.started_at

    @property
    def begun_by(self) -> int:
        """The latest that it may have begun."""
        return begun_by(self.started_at)

    @property
    def is_unfinished(self) -> bool:
        """Whether nobody said that it ended."""
        return self.is_open or self.is_placeholder

    @property
    def said_at(self) -> int:
        """The time of the newest that it said: its end, its beginning, or an event."""
        return max(self.done_at, self.filled_at, *(event.time_ns for event in self.events))

    @property
    def until(self) -> float:
        """When it ended; what has not is open for ever."""
        return inf if self.is_open else self.ended_at

    @property
    def has_remote_parent(self) -> bool:
        return bool(self.flags & HAS_IS_REMOTE and self.flags & IS_REMOTE)

    @property
    def duration_ms(self) -> float | None:
        if not self.started_at or self.ended_at < self.started_at:
            return None
        return (self.ended_at - self.started_at) / 1e6
