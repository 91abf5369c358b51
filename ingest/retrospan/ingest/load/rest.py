"""How long the loader waits for more records after a batch that held little."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

#: An insert costs about 0.15 s of processor however little it holds. After one, the next batch waits for more records
#: for this many times as long; a trickle that does not end is waited for a little longer each time. So what comes after
#: a pause can be asked for at once, and a trickle of requests costs an eighth of a core, or
#: more where an insert takes longer than a seventh of a second, for no rest is longer than this.
_LEAST_SHARE, _MOST_SHARE = 2.0, 7.0
_LONGEST_SECONDS = 1.0
#: A trickle has ended when nothing came for so long after a rest.
_PAUSE_SECONDS = 1.0


class Rest:
    """Belongs to the loader's thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds that only grow."""
        self._clock = clock
        self._until = -math.inf
        self._share = _LEAST_SHARE

    @property
    def seconds_left(self) -> float:
        """How long it still lasts; 0 when it is over."""
        return max(0.0, self._until - self._clock())

    def begin(self, took: float, small: bool) -> None:
        """Rest after an insert that took so many seconds; not at all after one that was not small."""
        now = self._clock()
        goes_on = small and now - took - self._until < _PAUSE_SECONDS
        self._share = min(self._share + 1.0, _MOST_SHARE) if goes_on else _LEAST_SHARE
        self._until = now + min(took * self._share, _LONGEST_SECONDS) if small else -math.inf
