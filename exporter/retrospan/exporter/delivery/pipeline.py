"""The pipeline takes ended spans and earlier log records and delivers them: start, fork, flush, shutdown, counts.

Two daemon threads per process do the work. After a fork the child begins with nothing that is the parent's, and its
threads start with its first span. All of it is bounded: memory and spool by size, `flush` and `shutdown` by time.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from math import isnan
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource

from retrospan.exporter.delivery import notices
from retrospan.exporter.delivery.answers import Transport
from retrospan.exporter.delivery.backlog import Backlog
from retrospan.exporter.delivery.celery_workers import end_with_worker
from retrospan.exporter.delivery.cleaning import Cleaner
from retrospan.exporter.delivery.encoder import Encoder, request_of
from retrospan.exporter.delivery.notices import Counts, Losses, Tally, say
from retrospan.exporter.delivery.outbox import Outbox
from retrospan.exporter.delivery.owners import Dead
from retrospan.exporter.delivery.pulse import Pulse, killed
from retrospan.exporter.delivery.records import LogRecord, Signal
from retrospan.exporter.delivery.requests import ExportRequest
from retrospan.exporter.delivery.sender import Sender
from retrospan.exporter.delivery.spool import Spool
from retrospan.exporter.delivery.threads import workers
from retrospan.exporter.delivery.weighing import Entry
from retrospan.exporter.endpoints import shown
from retrospan.exporter.operating_system import after_fork_in_child, is_forked_unseen
from retrospan.exporter.settings import MIB, Settings
from retrospan.schemas.redaction.rules import Rules


class Pipeline:
    """Takes spans and log records and delivers them. Nothing here raises into the agent once it is made."""

    def __init__(
        self,
        settings: Settings,
        rules: Rules | None,
        make_transport: Callable[[], Transport],
        *,
        behind_batches: bool = False,
    ) -> None:
        """`behind_batches`: spans come out of a batch processor of the SDK, whose provider ends it, and then this."""
        self._behind_batches = behind_batches
        self._settings, self._make_transport = settings, make_transport
        self._cleaner = Cleaner(rules)
        self._closed = False
        self._following = threading.RLock()
        self.resource = Resource({})
        """The resource of what this process says of others; that of the provider once it is known."""
        self._begin(Pulse(settings.alive_seconds), probes=True)
        _LIVING.add(self)
        if not behind_batches:
            atexit.register(_shut_down, weakref.ref(self))
        self._end_with_multiprocessing()

    def _begin(self, pulse: Pulse, *, probes: bool) -> None:
        self._probes = probes
        self._losses = {Signal.TRACES: Losses(), Signal.LOGS: Losses("log record(s)")}
        self._backlog = Backlog(self._settings.memory_bytes)
        self._finished = dict.fromkeys(Signal, 0)
        self._delivered = dict.fromkeys(Signal, 0)
        self._progress = threading.Condition()
        self._starting = threading.RLock()
        self._begins = self._said_unstarted = False
        self._outbox: Outbox | None = None
        self._encoder: Encoder | None = None
        self._sender: Sender | None = None
        # Last: whoever finds that it is of this process finds all the rest so.
        self._pulse = pulse

    @property
    def pulse(self) -> Pulse:
        """That of this process."""
        self._follow_fork()
        return self._pulse

    def _follow_fork(self) -> None:
        """Begin anew in a child of a fork that Python does not know of: uWSGI's, for one, whose workers have no threads."""
        if self._pulse.pid != os.getpid():
            with self._following:
                if self._pulse.pid != os.getpid():  # another thread may have
                    self.begin_in_child()

    def start_ahead(self) -> None:
        """Start the threads before there is a span, so that a wrong address or token is said at once; not where workers are
        forked that would find no way around them."""
        if not is_forked_unseen():
            self.start()

    def start(self) -> None:
        """Start the threads, if they do not run. Where the system has none to give that is said, and the next span that
        ends tries again. Never raises."""
        try:
            with self._starting:
                # A signal's handler may come here as well while this thread is here.
                if self._sender is None and not self._closed and not self._begins:
                    self._begins = True
                    try:
                        self._begin_delivery()
                    finally:
                        self._begins = False
        except Exception as error:  # noqa: BLE001
            if not self._said_unstarted:
                self._said_unstarted = True
                say(
                    f"delivery cannot begin: {type(error).__name__}: {error}. Spans wait in memory; each that ends tries "
                    "again. This is logged once."
                )

    def _begin_delivery(self) -> None:
        with workers(("retrospan-encode", "retrospan-send")) as (encoding, sending):
            encoder, sender = self._made()
            # From here on nothing can fail.
            encoding.begin(encoder.run)
            sending.begin(sender.run)

    def _made(self) -> tuple[Encoder, Sender]:
        """Return what the two threads run."""
        self._backlog.attend()
        outbox = Outbox(self._opened_spool(), self._backlog.account, self._said_killed)
        encoder = Encoder(
            self._settings,
            self._cleaner,
            self._backlog,
            outbox,
            self._losses,
            lambda signal, parts: self._note(signal, parts, 0),
            self._pulse,
        )
        limit = self._settings.memory_bytes / MIB
        where = (
            f"in {self._settings.spool}" if self._settings.spool else f"in memory ({limit:.4g} MiB at most)"
        )
        sender = Sender(
            outbox,
            self._make_transport,
            shown(self._settings.endpoint),
            self._losses,
            self._note,
            keeps=where,
            probes=self._probes,
        )
        sender.encoded = encoder.ended.is_set
        self._outbox, self._encoder, self._sender = outbox, encoder, sender
        return encoder, sender

    def accept(self, entry: Entry) -> None:
        """Take a span that has ended, or a log record. Waits for nothing."""
        try:
            self._follow_fork()
            if self._closed:
                self._refuse(entry, notices.AFTER_SHUTDOWN).tell()
                return
            if not self._backlog.put(entry):
                self._refuse(entry, notices.MEMORY_FULL)
            if self._sender is None:
                self.start()
        except Exception as error:  # noqa: BLE001
            notices.note("a span could not be queued", error)
            self._refuse(entry, notices.UNENCODABLE)

    def _refuse(self, entry: Entry, reason: str) -> Losses:
        losses = self._losses[Signal.LOGS if isinstance(entry, LogRecord) else Signal.TRACES]
        losses.add(reason, 1)
        return losses

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait until what was taken before is delivered; False when it was not within so many seconds."""
        timeout = _seconds(timeout, 30.0)
        self._follow_fork()
        if self._sender is None and len(self._backlog):
            self.start()
        sender = self._sender
        if sender is None or self._closed:
            return self._is_done(self._backlog.accepted())
        deadline, wanted = time.monotonic() + timeout, self._backlog.accepted()
        sender.urgent_until = max(sender.urgent_until, deadline)
        sender.stir.set()
        self._backlog.wake()
        with self._progress:
            return self._progress.wait_for(lambda: self._is_done(wanted), max(0.0, timeout))

    def shutdown(self, timeout: float | None = None) -> bool:
        """Take no more spans, deliver what waits, and stop; True when all was delivered.

        Args:
            timeout: seconds at most; without it, the setting `exit_seconds`.
        """
        self._follow_fork()
        if self._sender is None and len(self._backlog):
            self.start()
        with self._starting:
            if self._closed:
                return not self._has_lost()
            self._closed = True
        outbox, encoder, sender = self._outbox, self._encoder, self._sender
        if outbox is None or encoder is None or sender is None:
            for signal, losses in self._losses.items():
                losses.add(notices.SHUT_DOWN, self._waiting(signal))
                losses.tell_all()
            return not self._has_lost()
        deadline = time.monotonic() + _seconds(timeout, self._settings.exit_seconds)
        encoder.closing.set()
        sender.closing.set()
        self._backlog.wake()
        sender.stir.set()
        # Even with no time left what waits is encoded: the spool keeps it.
        encoder.ended.wait(max(deadline - time.monotonic(), 2.0 if self._settings.spool else 0.0))
        outbox.nudge()
        sender.ended.wait(max(0.0, deadline - time.monotonic()))
        sender.given_up.set()
        sender.stir.set()
        self._settle(outbox, sender)
        return self._is_done(self._backlog.accepted()) and not self._has_lost()

    def _settle(self, outbox: Outbox, sender: Sender) -> None:
        """Count and log what was not delivered."""
        # A sender that still waits for an answer is left to it; the process may end meanwhile.
        sender.ended.wait(0.05)
        outbox.persist()
        left: list[str] = []
        for signal, losses in self._losses.items():
            kept = outbox.left(signal)
            losses.add(notices.SHUT_DOWN, self._waiting(signal) - kept)
            left += [f"{kept} {signal.noun}"] if kept else []
        if left:
            say(f"{' and '.join(left)} are left in {self._settings.spool} for the next process that uses it.")
        outbox.close()
        for losses in self._losses.values():
            losses.tell_all()

    def counts(self) -> Counts:
        """Return what became of this process's spans so far."""
        encoder, sender, accepted = self._encoder, self._sender, self._backlog.accepted()
        return Counts(
            accepted=accepted[Signal.TRACES],
            delivered=self._delivered[Signal.TRACES],
            waiting=self._waiting(Signal.TRACES),
            lost=self._losses[Signal.TRACES].by_reason(),
            reduced=(encoder.reduced if encoder else 0) + (sender.reduced if sender else 0),
            redacted_values=self._cleaner.values,
            withheld_spans=self._cleaner.withheld,
            records=Tally(
                accepted=accepted[Signal.LOGS],
                delivered=self._delivered[Signal.LOGS],
                waiting=self._waiting(Signal.LOGS),
                lost=self._losses[Signal.LOGS].by_reason(),
            ),
        )

    def begin_in_child(self) -> None:
        """After a fork: nothing of the parent's is sent, and no lock of its is waited for."""
        outbox = self._outbox
        self._begin(Pulse(self._settings.alive_seconds, parent=self._pulse), probes=False)
        if outbox is not None:
            outbox.leave_to_parent()
        self._end_with_multiprocessing()

    def end_with_child(self) -> None:
        """At the end of a child of multiprocessing."""
        flush = getattr(trace.get_tracer_provider(), "force_flush", None) if self._behind_batches else None
        if flush is not None:
            flush()
        self.shutdown()

    def _waiting(self, signal: Signal) -> int:
        return max(0, self._backlog.accepted()[signal] - self._finished[signal])

    def _is_done(self, wanted: Mapping[Signal, int]) -> bool:
        return all(self._finished[signal] >= number for signal, number in wanted.items())

    def _has_lost(self) -> bool:
        """Return whether something is lost for good. Log records that the receiver does not take are not: the spans
        say the same."""
        said = self._losses[Signal.LOGS].by_reason()
        return bool(self._losses[Signal.TRACES].total or said.keys() - {notices.NO_LOGS})

    def _note(self, signal: Signal, parts: int, delivered: int) -> None:
        with self._progress:
            self._finished[signal] += parts
            self._delivered[signal] += delivered
            self._progress.notify_all()

    def _said_killed(self, dead: Dead) -> ExportRequest:
        return request_of(killed(dead, self.resource), self._cleaner)

    def _opened_spool(self) -> Spool | None:
        if self._settings.spool is None:
            return None
        try:
            return Spool(self._settings.spool, self._settings.spool_bytes, self._pulse.process)
        except OSError as error:
            say(f"the spool {self._settings.spool} cannot be used: {error}. Spans wait in memory instead.")
            return None

    def _end_with_multiprocessing(self) -> None:
        """Children of multiprocessing end without `atexit`; they have a list of their own, emptied at their start."""
        util: Any = sys.modules.get("multiprocessing.util")
        if util is not None:
            util.register_after_fork(self, _finish_with_child)
            _finish_with_child(self)
        end_with_worker(_end_children)


_LIVING: weakref.WeakSet[Pipeline] = weakref.WeakSet()


def _begin_in_child() -> None:
    for pipeline in list(_LIVING):
        pipeline.begin_in_child()


after_fork_in_child(_begin_in_child)


def _end_children() -> None:
    for pipeline in list(_LIVING):
        pipeline.end_with_child()


def _finish_with_child(pipeline: Pipeline) -> None:
    util: Any = sys.modules["multiprocessing.util"]
    util.Finalize(None, _end_with_child, args=(weakref.ref(pipeline),), exitpriority=-10)


def _end_with_child(pipeline: weakref.ref[Pipeline]) -> None:
    living = pipeline()
    if living is not None:
        living.end_with_child()


def _seconds(given: float | None, default: float) -> float:
    """Return how long to wait at most: as long as a wait can be, where it is to have no end; what is not a number of
    seconds is the default."""
    try:
        seconds = default if given is None else float(given)
    except (TypeError, ValueError, OverflowError):
        seconds = default
    return min(default if isnan(seconds) else max(0.0, seconds), threading.TIMEOUT_MAX / 2)


def _shut_down(pipeline: weakref.ref[Pipeline]) -> None:
    living = pipeline()
    if living is not None:
        living.shutdown()
