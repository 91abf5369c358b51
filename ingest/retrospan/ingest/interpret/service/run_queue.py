"""Which traces wait to be interpreted, and when each is due."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from retrospan.schemas.sequences import Newest, newest_of

TraceKey = tuple[str, str]


class Touched(NamedTuple):
    """A trace with `records` new records, the `newest` of each log among them; `home`: who passed it on, or ''.

    `ended`: its root span has come, so that little will follow. `late`: what comes now is to be read before it.
    """

    tenant: str
    trace_id: str
    records: int = 0
    newest: Sequence[int] = ()
    home: str = ""
    ended: bool = False
    late: bool = False

    @property
    def trace(self) -> TraceKey:
        """Return its tenant and its id."""
        return self.tenant, self.trace_id


#: A trace that never falls quiet is read again after this long, once half as many records have come as it had.
PATIENCE_SECONDS = 2.0
#: Traces that still grow are each read again after so many times what one reading of all of them costs: together they
#: take no more than a third of the time, however many they are.
GROWING_PAUSE = 3.0
#: A trace that was read before and of which nothing came for so long does not grow any more.
GROWING_SECONDS = 60.0
#: While no more traces of now wait than these, one whose root span has ended is read at once: little will follow. Where
#: more wait, it has its turn later in any case.
FEW = 400
#: Where more are due than a batch may hold, the oldest, as many as so many batches may, are read in the order in which
#: their spans lie once they are merged: each batch then unpacks a part of them, and not all for a few spans in each.
SWEEP_BATCHES = 16
#: Of what comes now so many full batches in a row are read while something waits that is late, then one of that.
FRESH_BATCHES = 3
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
    ended: bool
    late: bool


@dataclass(slots=True)
class _Read:
    """What a trace held when it was last read, in records, what that cost in seconds, and when it was."""

    records: int = 0
    effort: float = 0.0
    at: float = 0.0


class RunQueue:
    """Traces with new records. Times are seconds of any one monotonic clock.

    A trace is due when it is new and its root span has ended, when it has been quiet for max(`quiet_seconds`, twice its
    last effort), or when its records grew by half. One that was read before and whose root span has not ended will be
    read again in any case. It waits for its turn among all that grow (`GROWING_PAUSE`), so that those which have ended
    are not kept waiting by those which go on, and has it whether it is quiet or not: whatever the rhythm of its spans,
    it is read as often. Those that grow are read together, for what a reading takes of the engine hardly depends on how
    many traces it is of.

    Where more are due than are taken, they are taken in sweeps (`SWEEP_BATCHES`): one that becomes due waits for the rest
    of the sweep that is under way, and for its place in the next. What comes now goes before what is late: read anew
    because somebody asked for all of it, or left unread by those before. That has the room that is left in a batch, and
    each fourth batch where none is (`FRESH_BATCHES`).
    """

    def __init__(self, quiet_seconds: float, most: int = MOST_WAITING) -> None:
        """With `most` traces waiting that are not late, others are left out unless they are urgent."""
        self.left_out = 0
        """How many touches were of traces that are not here, since the caller last looked for those."""
        self._quiet = quiet_seconds
        self._most = most
        # In the order of `since`: a trace that was taken and comes back is a new one.
        self._waiting: dict[TraceKey, _Waiting] = {}
        self._late = 0  # how many of these
        self._fresh_batches = 0  # in a row
        self._read: dict[TraceKey, _Read] = {}
        # Due when it began, in the order in which they are taken: of what comes now, and of what is late.
        self._sweeps: dict[bool, deque[TraceKey]] = {False: deque(), True: deque()}
        self._growing: dict[TraceKey, float] = {}  # when each was last touched, in that order
        self._growing_effort = 0.0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def has_room(self) -> bool:
        """Whether traces that were left out may be looked for: nothing that is late waits, and half as many others as may."""
        return not self._late and 2 * self._fresh <= self._most

    def touch(
        self,
        trace: TraceKey,
        records: int,
        newest: Newest,
        now: float,
        urgent: bool = False,
        ended: bool = False,
        late: bool = False,
    ) -> None:
        """Note new records of a trace, the newest of each log among them. What is urgent does not wait for quiet; what is
        late neither, and lets others go first."""
        urgent = urgent or late
        self._note_growth(trace, now, ended)
        held = self._waiting.get(trace)
        if held is None:
            if self._fresh >= self._most and not urgent:
                self.left_out += 1
                return
            self._waiting[trace] = _Waiting(now, now, records, newest, urgent, ended, late)
            self._late += late
        else:
            self._late -= held.late and not late
            held.late = held.late and late
            held.touched, held.records = now, held.records + records
            held.newest, held.urgent = newest_of((*held.newest, *newest)), held.urgent or urgent
            held.ended = held.ended or ended

    def waits_its_turn(self, trace: TraceKey) -> bool:
        """Whether it makes a difference to a trace that its root span has ended: it was read, and others grow as well."""
        return trace in self._read and self._turn > self._quiet

    def may_be_read_at_once(self, traces: Iterable[TraceKey]) -> Iterator[TraceKey]:
        """Yield those among these traces that would be due if they had ended: few wait, and they are new."""
        room = FEW - self._fresh if self._quiet else 0
        return islice((trace for trace in traces if trace not in self._read), max(0, room))

    def looked(self, found: int) -> None:
        """Note that the caller looked for up to `most` traces that are not here, and found so many."""
        self.left_out = max(1, self.left_out - self._most) if found >= self._most else 0

    def take(self, now: float, limit: int) -> list[tuple[TraceKey, Newest]]:
        """Remove and return up to `limit` traces that are due, with their newest sequences."""
        due = self._next(now, limit)
        if any(trace in self._growing for trace in due):
            due += islice(self._almost(now, due), limit - len(due))
        taken = []
        for trace in due:
            held = self._waiting.pop(trace)
            self._late -= held.late
            taken.append((trace, held.newest))
            read = self._read.pop(trace, None) or _Read()
            read.records += held.records
            read.at = now
            self._read[trace] = read
        while len(self._read) > REMEMBERED:
            forgotten = next(iter(self._read))
            self._stop_growing(forgotten)
            self._read.pop(forgotten)
        return taken

    def done(self, trace: TraceKey, effort: float) -> None:
        """Note what the reading of a trace cost, for traces that keep growing."""
        if trace in self._read:
            if trace in self._growing:
                self._growing_effort += effort - self._read[trace].effort
            self._read[trace].effort = effort

    def oldest(self) -> float | None:
        """Return since when the longest waiting trace waits."""
        return next((held.since for held in self._waiting.values()), None)

    def lag(self, now: float) -> float:
        """Return how long the longest waiting trace has waited; one that grows waits from when it has its turn."""
        for trace, held in self._waiting.items():
            if trace not in self._growing or held.urgent:
                return max(0.0, now - held.since)
            if (over := now - max(held.since, self._read[trace].at + self._pause)) > 0.0:
                return over
        return 0.0

    @property
    def _fresh(self) -> int:
        return len(self._waiting) - self._late

    def _next(self, now: float, limit: int) -> list[TraceKey]:
        """Return up to `limit` traces that are due: of what comes now, then of what is late."""
        found: dict[TraceKey, None] = {}
        if not self._late or self._fresh_batches < FRESH_BATCHES:
            self._add(found, now, limit, late=False)
        self._fresh_batches = self._fresh_batches + 1 if len(found) == limit else 0
        for late in (True, False) if self._late else ():
            self._add(found, now, limit, late)
        return [*found]

    def _add(self, found: dict[TraceKey, None], now: float, limit: int, late: bool) -> None:
        """Add what is due until there are `limit`: the rest of a sweep, then those of another."""
        sweep = self._sweeps[late]
        while len(found) < limit:
            if not sweep:
                others = (trace for trace in self._due(now, late) if trace not in found)
                sweep.extend(sorted(islice(others, SWEEP_BATCHES * limit)))
                if not sweep:
                    break
            trace = sweep.popleft()
            held = self._waiting.get(trace)
            if held is not None and self._is_due(trace, held, now):
                found[trace] = None

    def _due(self, now: float, late: bool) -> Iterator[TraceKey]:
        left = self._late if late else self._fresh
        for trace, held in self._waiting.items():
            if left == 0:
                return
            if held.late == late:
                left -= 1
                if self._is_due(trace, held, now):
                    yield trace

    def _almost(self, now: float, due: Iterable[TraceKey]) -> Iterator[TraceKey]:
        """Yield the traces that grow and have more than half of their pause behind them, those that are due apart."""
        others = self._waiting.keys() & self._growing.keys() - {*due}
        for trace in sorted(others, key=lambda trace: self._waiting[trace].since):
            if now - self._read[trace].at > self._pause / 2:
                yield trace

    def _is_due(self, trace: TraceKey, held: _Waiting, now: float) -> bool:
        if held.urgent:
            return True
        read = self._read.get(trace)
        if read is None and held.ended:
            return True
        effort = read.effort if read else 0.0
        is_quiet = now - held.touched >= max(self._quiet, 2 * effort)
        if read is not None and trace in self._growing:
            if now - read.at >= self._pause:
                return True
        elif is_quiet:
            return True
        grown = held.records >= (read.records if read else 0) / 2
        return grown and now - held.since >= max(PATIENCE_SECONDS, self._quiet, 2 * effort)

    @property
    def _pause(self) -> float:
        """How long a trace that grows is not read again, whatever comes."""
        return max(2.0 * self._quiet, self._turn)

    @property
    def _turn(self) -> float:
        """After how many seconds a trace that grows has its turn again."""
        return GROWING_PAUSE * self._growing_effort

    def _note_growth(self, trace: TraceKey, now: float, ended: bool) -> None:
        read = self._read.get(trace)
        self._stop_growing(trace)
        if read is not None and not ended:
            self._growing[trace] = now
            self._growing_effort += read.effort
        while self._growing and now - (oldest := next(iter(self._growing.items())))[1] > GROWING_SECONDS:
            self._stop_growing(oldest[0])

    def _stop_growing(self, trace: TraceKey) -> None:
        if self._growing.pop(trace, None) is not None:
            left = self._growing_effort - self._read[trace].effort
            self._growing_effort = max(0.0, left) if self._growing else 0.0
