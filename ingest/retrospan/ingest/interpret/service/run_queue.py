"""Which traces wait to be interpreted, and when each is due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from retrospan.schemas.sequences import Newest, newest_of

TraceKey = tuple[str, str]


class Touched(NamedTuple):
    """A trace with `records` new records, the `newest` of each log among them; `home`: who passed it on, or ''."""

    tenant: str
    trace_id: str
    records: int = 0
    newest: Sequence[int] = ()
    home: str = ""

    @property
    def trace(self) -> TraceKey:
        """Return its tenant and its id."""
        return self.tenant, self.trace_id


#: A trace that never falls quiet is read again after this long, once half as many records have come as it had.
PATIENCE_SECONDS = 2.0
#: Of so many traces is known what reading them cost.
REMEMBERED = 100_000
#: So many traces wait in memory, about 25 MB. The warehouse knows the rest.
MOST_WAITING = 50_000


@dataclass(slots=True)
class _Waiting:
    since: float
    touched: float
    records: int
    newest: Newest
    urgent: bool


@dataclass(slots=True)
class _Read:
    """What a trace held when it was last read, in records, and what that cost in seconds."""

    records: int = 0
    effort: float = 0.0


class RunQueue:
    """Traces with new records. Times are seconds of any one monotonic clock.

    A trace is due when it has been quiet for max(`quiet_seconds`, four times its last effort), or when its records grew by
    half: the total work for a growing run stays within three times the last reading of it.
    """

    def __init__(self, quiet_seconds: float, most: int = MOST_WAITING) -> None:
        """With `most` traces waiting, others are left out unless they are urgent."""
        self.left_out = 0
        """How many touches were of traces that are not here, since the caller last looked for those."""
        self._quiet = quiet_seconds
        self._most = most
        # In the order of `since`: a trace that was taken and comes back is a new one.
        self._waiting: dict[TraceKey, _Waiting] = {}
        self._read: dict[TraceKey, _Read] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def touch(self, trace: TraceKey, records: int, newest: Newest, now: float, urgent: bool = False) -> None:
        """Note new records of a trace, the newest of each log among them. What is urgent does not wait for quiet."""
        held = self._waiting.get(trace)
        if held is None:
            if len(self._waiting) >= self._most and not urgent:
                self.left_out += 1
                return
            self._waiting[trace] = _Waiting(now, now, records, newest, urgent)
        else:
            held.touched, held.records = now, held.records + records
            held.newest, held.urgent = newest_of((*held.newest, *newest)), held.urgent or urgent

    def looked(self, found: int) -> None:
        """Note that the caller looked for up to `most` traces that are not here, and found so many."""
        self.left_out = max(1, self.left_out - self._most) if found >= self._most else 0

    def take(self, now: float, limit: int) -> list[tuple[TraceKey, Newest]]:
        """Remove and return up to `limit` traces that are due, longest waiting first, with their newest sequences."""
        due = (trace for trace, held in self._waiting.items() if self._is_due(trace, held, now))
        taken = []
        for trace in [*islice(due, limit)]:
            held = self._waiting.pop(trace)
            taken.append((trace, held.newest))
            read = self._read.pop(trace, None) or _Read()
            read.records += held.records
            self._read[trace] = read
        while len(self._read) > REMEMBERED:
            self._read.pop(next(iter(self._read)))
        return taken

    def done(self, trace: TraceKey, effort: float) -> None:
        """Note what the reading of a trace cost, for traces that keep growing."""
        if trace in self._read:
            self._read[trace].effort = effort

    def oldest(self) -> float | None:
        """Return since when the longest waiting trace waits."""
        return next((held.since for held in self._waiting.values()), None)

    def _is_due(self, trace: TraceKey, held: _Waiting, now: float) -> bool:
        if held.urgent:
            return True
        read = self._read.get(trace)
        effort = read.effort if read else 0.0
        if now - held.touched >= max(self._quiet, 4 * effort):
            return True
        grown = held.records >= (read.records if read else 0) / 2
        return grown and now - held.since >= max(PATIENCE_SECONDS, self._quiet, 2 * effort)
