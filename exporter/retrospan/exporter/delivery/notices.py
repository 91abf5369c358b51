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
DAMAGED = "their file in the spool was damaged"
SHUT_DOWN = "the process ended before they were delivered"
AFTER_SHUTDOWN = "they ended after shutdown()"


@dataclass(frozen=True, slots=True)
class Counts:
    """Of this process so far: accepted = delivered + waiting + lost after they were accepted."""

    accepted: int
    delivered: int
    waiting: int
    lost: dict[str, int]
    """Spans that no receiver will see, by reason."""
    reduced: int
    """Spans that lost their largest values."""
    redacted_values: int
    withheld_spans: int

    @property
    def lost_spans(self) -> int:
        return sum(self.lost.values())


class Losses:
    """Spans lost, by reason. Counting takes no lock that a signal handler or a finalizer could wait for."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._lost: dict[str, int] = {}
        self._said: set[str] = set()

    def add(self, reason: str, spans: int) -> None:
        if spans > 0:
            with self._lock:
                self._lost[reason] = self._lost.get(reason, 0) + spans

    @property
    def total(self) -> int:
        return sum(self._lost.copy().values())

    def by_reason(self) -> dict[str, int]:
        return self._lost.copy()

    def tell(self) -> None:
        """Say each new reason once. From a thread of the exporter, never from the agent's."""
        for reason, spans in self._lost.copy().items():
            if reason not in self._said:
                self._said.add(reason)
                say(f"{spans} span(s) lost: {reason}. This is logged once; counts().lost keeps counting.")

    def tell_all(self) -> None:
        """Say the sums, at the end."""
        if self._lost:
            parts = "; ".join(f"{spans}: {reason}" for reason, spans in sorted(self._lost.copy().items()))
            say(f"{self.total} span(s) of this process were lost ({parts}).")


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
            logger.info("retrospan: spans reach %s.", self._target)
            self._troubles.clear()
        self.answered = True


def say(line: str) -> None:
    """One line for a person. Never raises, whatever handlers the agent has."""
    try:
        logger.warning("retrospan: %s", line)
    except Exception:  # noqa: BLE001, S110
        pass
