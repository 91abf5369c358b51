"""What the exporter reports: counts, and log lines (logger `retrospan.exporter`), each matter once."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

logger = logging.getLogger("retrospan.exporter")

MEMORY_FULL = "the memory for waiting spans was full"
REFUSED = "the receiver refused them"
REJECTED = "the receiver took the request and rejected them"
TOO_LARGE = "too large, even without their largest values"
UNENCODABLE = "they could not be encoded"
NO_LOGS = "the receiver takes no log records"
#: What the sender says itself, once, with the reason; the spans say the same as these records.
_SAID_ELSEWHERE = {NO_LOGS}
DAMAGED = "their file in the spool was damaged, or gone"
SHUT_DOWN = "the process ended before they were delivered"
AFTER_SHUTDOWN = "they ended after shutdown()"


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of the log records of this process."""

    accepted: int
    delivered: int
    waiting: int
    lost: dict[str, int]


@dataclass(frozen=True, slots=True)
class Counts:
    """Of this process so far: accepted = delivered + waiting + lost after they were accepted. Spans, but for the
    last."""

    accepted: int
    delivered: int
    waiting: int
    lost: dict[str, int]
    """Spans that no receiver will see, by reason."""
    reduced: int
    """Spans that lost their largest values."""
    redacted_values: int
    withheld_spans: int
    """Spans and log records of which only ids and times were sent."""
    records: Tally
    """Log records: what was said before its span ended."""

    @property
    def lost_spans(self) -> int:
        return sum(self.lost.values())


class Losses:
    """Spans or log records lost, by reason. Counting takes no lock that a signal handler or a finalizer could wait
    for."""

    def __init__(self, noun: str = "span(s)") -> None:
        self._noun = noun
        self._lock = threading.RLock()
        self._lost: dict[str, int] = {}
        self._said: set[str] = set()

    def add(self, reason: str, number: int) -> None:
        if number > 0:
            with self._lock:
                self._lost[reason] = self._lost.get(reason, 0) + number

    @property
    def total(self) -> int:
        return sum(self._lost.copy().values())

    def by_reason(self) -> dict[str, int]:
        return self._lost.copy()

    def tell(self) -> None:
        """Say each new reason once. From a thread of the exporter, never from the agent's."""
        where = "counts().lost" if self._noun == "span(s)" else "counts().records"
        for reason, number in self._lost.copy().items():
            if reason not in self._said | _SAID_ELSEWHERE:
                self._said.add(reason)
                say(f"{number} {self._noun} lost: {reason}. This is logged once; {where} keeps counting.")

    def tell_all(self) -> None:
        """Say the sums, at the end."""
        lost = {
            reason: number for reason, number in self._lost.copy().items() if reason not in _SAID_ELSEWHERE
        }
        if lost:
            parts = "; ".join(f"{number}: {reason}" for reason, number in sorted(lost.items()))
            say(f"{sum(lost.values())} {self._noun} of this process were lost ({parts}).")


class Reach:
    """Whether the receiver is reached. A change is logged, not each attempt."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._troubles: set[str] = set()
        self.answered = False
        """Whether the receiver has ever taken a request."""

    def lost(self, kind: str, reason: str, advice: str) -> None:
        """Say each kind of trouble once until all is well again."""
        if kind not in self._troubles:
            self._troubles.add(kind)
            say(f"spans do not reach {self._target}: {reason}. {advice}")

    def found(self) -> None:
        if self._troubles:
            _log(logging.INFO, f"spans reach {self._target}.")
            self._troubles.clear()
        self.answered = True


def say(line: str, error: BaseException | None = None) -> None:
    """One line for a person, and the traceback of an error. Never raises, whatever handlers the agent has."""
    _log(logging.WARNING, line, error)


def note(line: str, error: BaseException) -> None:
    """One line and a traceback for whoever looks for a cause (DEBUG). Never raises."""
    _log(logging.DEBUG, line, error)


def _log(level: int, line: str, error: BaseException | None = None) -> None:
    try:
        logger.log(level, "retrospan: %s", line, exc_info=error)
    except Exception:  # noqa: BLE001, S110
        pass
