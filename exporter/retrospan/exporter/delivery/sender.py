"""The thread that delivers requests, one after the other, oldest first, each until its fate is known.

Nothing is given up because time has passed: a request that the collector could not take is tried again, after what
the collector asked for, else after 0.5 s to 30 s, doubling, with jitter. A request that is too large for the
receiver is halved; a single span or log record that is too large loses its largest values. A receiver that takes
spans and no log records gets none for a while: they never stop the spans, which say the same once they end. A file of
the spool that cannot be read now is left where it is and tried again: only an answer, or proven damage, ends a request.
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress

from retrospan.exporter.delivery import notices
from retrospan.exporter.delivery.answers import Answer, Fate, Transport
from retrospan.exporter.delivery.notices import Losses, Reach, say
from retrospan.exporter.delivery.outbox import Item, Outbox
from retrospan.exporter.delivery.records import Signal
from retrospan.exporter.delivery.reduction import reduced
from retrospan.exporter.delivery.requests import halves, joined, taken_apart

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 30.0
_URGENT_PAUSE_SECONDS = 0.2
_JITTER = 0.3
_ADOPT_SECONDS = 5.0
_SMALLEST_BYTES = 4_000
#: How long a receiver that takes no log records is not asked again: it may be replaced by one that does.
_NO_LOGS_SECONDS = 300.0


class Sender:
    """Empties the outbox until it is told to close, or to give up."""

    def __init__(
        self,
        outbox: Outbox,
        make_transport: Callable[[], Transport],
        target: str,
        losses: Mapping[Signal, Losses],
        finished: Callable[[Signal, int, int], None],
        *,
        keeps: str,
        probes: bool,
    ) -> None:
        """`finished` is told of the spans or log records of a request and how many of them were delivered. `keeps` says
        where spans wait. `probes`: ask at the start whether the receiver is there."""
        self._outbox, self._make_transport = outbox, make_transport
        self._losses, self._finished = losses, finished
        self._keeps, self._probes = keeps, probes
        self._reach = Reach(target)
        self._failures = 0
        self._adopted_at = float("-inf")
        self._lost_here = 0
        self._no_logs_until = float("-inf")
        self.reduced = 0
        self.done = 0
        """Requests that came to their end, adopted ones too."""
        self.delivered = dict.fromkeys(Signal, 0)
        self.trouble: Answer | None = None
        """Why the last request was not taken, where it may be later."""
        self._said_kinds: set[str] = set()
        self.urgent_until = 0.0
        self.stir = threading.Event()
        self.encoded: Callable[[], bool] = lambda: False
        self.closing = threading.Event()
        self.given_up = threading.Event()
        self.ended = threading.Event()

    def run(self) -> None:
        """Deliver to the end. Nothing above this frame would say an error to anybody, and nobody would deliver after it:
        so it is said, and what was going on begins anew after a pause."""
        try:
            while (trouble := self._troubled()) is not None:
                self.trouble = trouble
                if not self._pause(trouble):
                    return
        finally:
            self.ended.set()

    def _troubled(self) -> Answer | None:
        """Return what kept delivery from its end; None at the end."""
        try:
            transport = self._make_transport()
        except Exception as error:  # noqa: BLE001
            reason = f"the connection cannot be prepared: {type(error).__name__}: {error}"
            self._reach.lost("unprepared", reason, f"It is tried again; spans wait {self._keeps}.")
            return Answer(Fate.BLOCKED, reason)
        try:
            if self._probes:
                self._probe(transport)
            self._run(transport)
        except Exception as error:  # noqa: BLE001
            reason = f"delivery was interrupted by {type(error).__name__}"
            self._say_once(reason, f"{reason} and goes on. Please report this.")
            notices.note(reason, error)
            return Answer(Fate.LATER, reason)
        finally:
            with suppress(Exception):
                transport.close()
        return None

    def _probe(self, transport: Transport) -> None:
        """Send an empty request: OTLP receivers take it; a wrong address or token shows before the first span."""
        answer = transport.send(b"")
        if answer.fate in (Fate.LATER, Fate.BLOCKED):
            self._reach.lost(answer.fate.value, answer.reason, self._advice(answer))
        else:
            self._reach.found()

    def _run(self, transport: Transport) -> None:
        while not self.given_up.is_set():
            if time.monotonic() - self._adopted_at > self._look_again_seconds():
                self._outbox.adopt()
                self._take_up()
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
        if self._is_only_copy(item):
            self._outbox.keep(item)
            return True
        try:
            request = self._outbox.read(item)
        except (OSError, MemoryError) as error:
            self._put_off(item, error)
            return True
        self._lost_here = 0
        if request is None:
            self._lose(item, notices.DAMAGED, max(1, item.parts))
        parts = deque([] if request is None else [request.body])
        while parts:
            if self.leaves_out(item.signal):
                self._lose(item, notices.NO_LOGS, _count(parts.popleft()))
                continue
            answer = transport.send(parts[0], item.signal)
            if self.given_up.is_set() and answer.fate is not Fate.DELIVERED:
                return False
            if answer.fate in (Fate.LATER, Fate.BLOCKED):
                if self._has_no_ear(transport, item.signal, answer):
                    if self._is_only_copy(item):
                        self._outbox.keep(item)
                        return True
                    continue
                self.trouble = answer
                self._reach.lost(answer.fate.value, answer.reason, self._advice(answer))
                if not self._pause(answer):
                    return False
                continue
            self._reach.found()
            self._failures = 0
            if self.trouble is not None and self.trouble.fate is not Fate.UNREAD:
                self.trouble = None
            body = parts.popleft()
            if answer.fate is Fate.TOO_LARGE:
                parts.extendleft(reversed(self._smaller(item, body, answer)))
            elif answer.fate is Fate.REFUSED:
                self._say_once("refused", f"a request was refused: {answer.reason}.")
                self._lose(item, notices.REFUSED, _count(body))
            elif answer.rejected:
                # A receiver may say any number; no more than were sent can be lost.
                rejected = min(answer.rejected, _count(body))
                self._say_once("rejected", f"{rejected} {item.signal.noun} were rejected: {answer.reason}.")
                self._lose(item, notices.REJECTED, rejected)
        self._outbox.done(item)
        delivered = max(0, item.parts - self._lost_here)
        self.done += 1
        self.delivered[item.signal] += delivered
        if item.own:
            self._finished(item.signal, item.parts, delivered)
        for losses in self._losses.values():
            losses.tell()
        return True

    def _put_off(self, item: Item, error: OSError | MemoryError) -> None:
        reason = f"the spool cannot be read: {error or type(error).__name__}"
        self.trouble = Answer(Fate.UNREAD, reason)
        self._say_once("unread", f"{reason}. What cannot be read is left there, and tried again.")
        self._outbox.put_off(item)

    def _take_up(self) -> None:
        if self.trouble is not None and self.trouble.fate is Fate.UNREAD:
            self.trouble = None
        self._outbox.take_up()

    def _look_again_seconds(self) -> float:
        return _URGENT_PAUSE_SECONDS if time.monotonic() < self.urgent_until else _ADOPT_SECONDS

    def leaves_out(self, signal: Signal) -> bool:
        """Return whether the receiver does not take such requests, and gets none for a while."""
        return signal is Signal.LOGS and time.monotonic() < self._no_logs_until

    def _is_only_copy(self, item: Item) -> bool:
        """Return whether a request is to wait for a receiver that takes log records: what somebody said who is dead is
        on no span."""
        return not item.own and self.leaves_out(item.signal)

    def _has_no_ear(self, transport: Transport, signal: Signal, answer: Answer) -> bool:
        """Return whether a receiver takes spans but no log records, which then are left out for a while."""
        if answer.fate is not Fate.BLOCKED or signal is not Signal.LOGS:
            return False
        if transport.send(b"").fate is not Fate.DELIVERED:
            return False
        self._reach.found()
        self._no_logs_until = time.monotonic() + _NO_LOGS_SECONDS
        self._say_once(
            "no logs",
            f"the receiver takes spans, but no log records ({answer.reason}): what is said before a span ends is not "
            "sent until it does.",
        )
        return True

    def _smaller(self, item: Item, body: bytes, answer: Answer) -> list[bytes]:
        try:
            parts = halves(body)
            if len(parts) > 1:
                return parts
            origin, part = next(taken_apart(body))
        except (ValueError, StopIteration):
            self._lose(item, notices.TOO_LARGE, 1)
            return []
        most = max(_SMALLEST_BYTES, len(part) // 2)
        small = reduced(part, most, item.signal.shape) if len(part) > _SMALLEST_BYTES else None
        if small is None:
            self._lose(item, notices.TOO_LARGE, 1)
            return []
        what = "span" if item.signal is Signal.TRACES else "log record"
        self._say_once(
            "reduced",
            f"a {what} of {len(part)} bytes is too large for the receiver ({answer.reason}): its largest values are "
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

    def _lose(self, item: Item, reason: str, parts: int) -> None:
        self._lost_here += parts
        self._losses[item.signal].add(reason, parts)

    def _say_once(self, kind: str, line: str) -> None:
        if kind not in self._said_kinds:
            self._said_kinds.add(kind)
            say(f"{line} This is logged once.")

    def _advice(self, answer: Answer) -> str:
        return (
            f"{cure_of(answer)} Meanwhile spans wait {self._keeps}. This is logged once until it works again."
        )


def cure_of(answer: Answer) -> str:
    """Return what a person can do so that a request is taken."""
    if answer.fate is Fate.LATER:
        return "Start a collector there (retrospan serve), or set OTEL_EXPORTER_OTLP_ENDPOINT."
    if answer.fate is Fate.UNREAD:
        return "The files are left as they are: set that right, and send again."
    if any(word in answer.reason for word in ("401", "403", "UNAUTHENTICATED", "PERMISSION_DENIED")):
        return "Give a token that may send: RETROSPAN_TOKEN, or token= of instrument()."
    return "Check OTEL_EXPORTER_OTLP_ENDPOINT, or endpoint= of instrument()."


def _count(body: bytes) -> int:
    try:
        return sum(1 for _ in taken_apart(body))
    except ValueError:
        return 1
