"""The outcome of one attempt to deliver an alert to a target, and the time limit of an attempt."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

#: One attempt, from looking up the name to the status of the answer, or to the end of the program.
ATTEMPT_SECONDS = 10.0
#: What is sent in one.
BODY_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent: an alert's id, JSON, and whether it is the first attempt."""

    alert_id: str
    attempt: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Attempt:
    """`refused` may go better the next time, `given_up` cannot unless somebody changes something."""

    outcome: Literal["sent", "refused", "given_up"]
    reason: str = ""


class Deadline:
    """A moment by which something has to be done."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left. Raises TimeoutError when there are none."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no answer within {self._seconds:g} s")
        return left
