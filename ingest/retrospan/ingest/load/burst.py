"""Tells whether more is received than can be loaded at the same time: then loading waits, since senders need the cores.

What is acknowledged is safe, so during a burst senders come first, and what they sent is loaded as soon as the burst is
over. A burst that lasts is a flood, in which receiving and loading go on side by side.
"""

from __future__ import annotations

import time
from collections.abc import Callable

#: So long a burst is waited for, once until the loader has caught up.
_LONGEST_SECONDS = 5.0
#: How often is looked whether it is over. A sync of the disk that takes long is not its end.
_LOOK_SECONDS = 0.2


class Burst:
    """Belongs to the loader's thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds that only grow."""
        self._clock = clock
        self._was_waited_for = False

    def let_pass(self, rate: float, waiting: Callable[[], int], pause: Callable[[float], bool]) -> None:
        """Return once no more than can be loaded is received, or after some seconds; at once where one was waited for.

        Args:
            rate: what can be loaded, in bytes a second.
            waiting: how many bytes are to be loaded, now.
            pause: sleeps for so many seconds; returns true when there is no more time to wait.
        """
        if self._was_waited_for:
            return
        self._was_waited_for = True
        at, before = self._clock(), waiting()
        until = at + _LONGEST_SECONDS
        while at < until and not pause(_LOOK_SECONDS):
            now, there = self._clock(), waiting()
            if there - before < rate * (now - at):
                return
            at, before = now, there

    def caught_up(self) -> None:
        """Wait for the next one again: so little was left to load that the batch was small."""
        self._was_waited_for = False
