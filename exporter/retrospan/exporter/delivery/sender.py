"""The thread that delivers requests, one after the other, oldest first, each until its fate is known.

Nothing is given up because time has passed: a request that the collector could not take is tried again, after what
the collector asked for, else after 0.5 s to 30 s, doubling, with jitter. A request that is too large for the
receiver is halved; a single span that is too large loses its largest values.
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable

from retrospan.exporter.delivery import notices
from retrospan.exporter.delivery.answers import Answer, Fate, Transport
from retrospan.exporter.delivery.notices import Losses, Reach, say
from retrospan.exporter.delivery.outbox import Item, Outbox
from retrospan.exporter.delivery.reduction import reduced
from retrospan.exporter.delivery.requests import halves, joined, taken_apart

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 30.0
_URGENT_PAUSE_SECONDS = 0.2
_JITTER = 0.3
_ADOPT_SECONDS = 5.0
_SMALLEST_BYTES = 4_000


class Sender:
    """Empties the outbox until it is told to close, or to give up."""

    def __init__(
        self,
        outbox: Outbox,
        make_transport: Callable[[], Transport],
        target: str,
        losses: Losses,
        finished: Callable[[int, int], None],
        *,
        keeps: str,
        probes: bool,
    ) -> None:
        """`finished` is told of the spans of a request and how many of them were delivered. `keeps` says where spans
        wait. `probes`: ask at the start whether the receiver is there."""
        self._outbox, self._make_transport = outbox, make_transport
        self._losses, self._finished = losses, finished
        self._keeps, self._probes = keeps, probes
        self._reach = Reach(target)
        self._failures = 0
        self._adopted_at = float("-inf")
        self._lost_here = 0
        self.reduced = 0
        self._said_kinds: set[str] = set()
        self.urgent_until = 0.0
        self.stir = threading.Event()
        self.encoded: Callable[[], bool] = lambda: False
        self.closing = threading.Event()
        self.given_up = threading.Event()
        self.ended = threading.Event()

    def run(self) -> None:
        try:
            transport = self._make_transport()
            try:
                if self._probes:
                    self._probe(transport)
                self._run(transport)
            finally:
                transport.close()
        except Exception as error:  # noqa: BLE001
            # Nothing above this frame would say it to anybody.
            say(f"delivery has ended: {type(error).__name__}: {error}. Please report this.")
            notices.logger.debug("delivery has ended", exc_info=error)
        finally:
            self.ended.set()

    def _probe(self, transport: Transport) -> None:
        """Send an empty request: OTLP receivers take it; a wrong address or token shows before the first span."""
        answer = transport.send(b"")
        if answer.fate in (Fate.LATER, Fate.BLOCKED):
            self._reach.lost(answer.fate.value, answer.reason, self._advice(answer))
        else:
            self._reach.found()

    def _run(self, transport: Transport) -> None:
        while not self.given_up.is_set():
            if time.monotonic() - self._adopted_at > _ADOPT_SECONDS:
                self._outbox.adopt()
                self._adopted_at = time.monotonic()
            # Read before the look: what was put in between is seen by the look.
            last = self.closing.is_set() and self.encoded()
            item = self._outbox.head(0.05 if self.closing.is_set() else 1.0)
            if item is None:
                if last:
                    return
            elif not self._deliver(transport, item):
                return

    def _deliver(self, transport: Transport, item: Item) -> bool:
        """Bring a request to its end; False when it was given up, and waits on."""
        request = self._outbox.read(item)
        self._lost_here = 0
        if request is None:
            self._lose(notices.DAMAGED, max(1, item.spans))
        parts = deque([] if request is None else [request.body])
        while parts:
            answer = transport.send(parts[0])
            if self.given_up.is_set() and answer.fate is not Fate.DELIVERED:
                return False
            if answer.fate in (Fate.LATER, Fate.BLOCKED):
                self._reach.lost(answer.fate.value, answer.reason, self._advice(answer))
                if not self._pause(answer):
                    return False
                continue
            self._reach.found()
            self._failures = 0
            body = parts.popleft()
            if answer.fate is Fate.TOO_LARGE:
                parts.extendleft(reversed(self._smaller(body, answer)))
            elif answer.fate is Fate.REFUSED:
                self._say_once("refused", f"a request was refused: {answer.reason}.")
                self._lose(notices.REFUSED, _count(body))
            elif answer.rejected_spans:
                # A receiver may say any number; no more than were sent can be lost.
                rejected = min(answer.rejected_spans, _count(body))
                self._say_once("rejected", f"{rejected} span(s) were rejected: {answer.reason}.")
                self._lose(notices.REJECTED, rejected)
        self._outbox.done(item)
        if item.own:
            self._finished(item.spans, max(0, item.spans - self._lost_here))
        self._losses.tell()
        return True

    def _smaller(self, body: bytes, answer: Answer) -> list[bytes]:
        try:
            parts = halves(body)
            if len(parts) > 1:
                return parts
            origin, span = next(taken_apart(body))
        except (ValueError, StopIteration):
            self._lose(notices.TOO_LARGE, 1)
            return []
        small = reduced(span, max(_SMALLEST_BYTES, len(span) // 2)) if len(span) > _SMALLEST_BYTES else None
        if small is None:
            self._lose(notices.TOO_LARGE, 1)
            return []
        self._say_once(
            "reduced",
            f"a span of {len(span)} bytes is too large for the receiver ({answer.reason}): its largest values are "
            "described instead of sent.",
        )
        self.reduced += 1
        return [joined([(origin, small)])]

    def _pause(self, answer: Answer) -> bool:
        """Wait until it is worth trying again; False when the end has come before."""
        asked = answer.wait_seconds
        pause = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2 ** min(self._failures, 10))
        pause *= random.uniform(1 - _JITTER, 1 + _JITTER)
        self._failures += 1
        began = time.monotonic()
        while True:
            if self.given_up.is_set():
                return False
            # The end of the process waits only for a receiver that has answered before.
            if self.closing.is_set() and not self._reach.answered:
                return False
            urgent = asked is None and (time.monotonic() < self.urgent_until or self.closing.is_set())
            wanted = asked if asked is not None else min(pause, _URGENT_PAUSE_SECONDS) if urgent else pause
            left = began + wanted - time.monotonic()
            if left <= 0:
                return True
            self.stir.wait(left)
            self.stir.clear()

    def _lose(self, reason: str, spans: int) -> None:
        self._lost_here += spans
        self._losses.add(reason, spans)

    def _say_once(self, kind: str, line: str) -> None:
        if kind not in self._said_kinds:
            self._said_kinds.add(kind)
            say(f"{line} This is logged once.")

    def _advice(self, answer: Answer) -> str:
        reason = answer.reason
        if answer.fate is Fate.LATER:
            cure = "Start a collector there (retrospan serve), or set OTEL_EXPORTER_OTLP_ENDPOINT."
        elif any(word in reason for word in ("401", "403", "UNAUTHENTICATED", "PERMISSION_DENIED")):
            cure = "Give a token that may send: RETROSPAN_TOKEN, or token= of instrument()."
        else:
            cure = "Check OTEL_EXPORTER_OTLP_ENDPOINT, or endpoint= of instrument()."
        return f"{cure} Meanwhile spans wait {self._keeps}. This is logged once until it works again."


def _count(body: bytes) -> int:
    try:
        return sum(1 for _ in taken_apart(body))
    except ValueError:
        return 1
