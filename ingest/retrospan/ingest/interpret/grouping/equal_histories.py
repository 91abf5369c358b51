"""The limit on how many traces may share one history. Apart from what joins them: whoever looks for such traces reads no run."""

from __future__ import annotations

#: More traces than so many with one history are not told apart: none of them is joined any more.
MOST_EQUAL = 50
