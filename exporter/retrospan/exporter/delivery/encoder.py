"""The thread that turns spans and log records into requests: encoding, redaction, packing. It gives way to the agent all
the time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from retrospan.exporter.delivery import notices
from retrospan.exporter.delivery.backlog import Backlog
from retrospan.exporter.delivery.cleaning import Cleaner
from retrospan.exporter.delivery.encoding import (
    described,
    encode_attributes,
    encode_log_record,
    encode_resource,
    encode_scope,
    encode_span,
    text_bytes,
)
from retrospan.exporter.delivery.notices import Losses
from retrospan.exporter.delivery.outbox import Outbox
from retrospan.exporter.delivery.pulse import Pulse
from retrospan.exporter.delivery.records import BegunRecord, LogRecord, Signal
from retrospan.exporter.delivery.reduction import reduced
from retrospan.exporter.delivery.requests import ExportRequest, Origin, Packer, joined
from retrospan.exporter.delivery.weighing import Entry
from retrospan.exporter.settings import Settings
from retrospan.schemas.attributes import EXPORTER_LOST
from retrospan.schemas.redaction.messages import LOG
from retrospan.schemas.redaction.walk import fields

#: An event loop that wants to go on waits for the interpreter's lock up to 5 ms. It gets it after each slice of work,
#: by a sleep long enough for it to wake up and take it. A longer sleep was no better for the loop, and left less time
#: to bring a thousand steps a second to the spool.
_SLICE_SECONDS, _REST_SECONDS = 0.0002, 0.0001
_IDLE_SECONDS = 1.0
_MOST_ORIGINS = 1_000
_LARGE_BYTES, _MOST_REMEMBERED = 1_000, 200


class Encoder:
    """Empties the backlog into the outbox until it is told to close."""

    def __init__(
        self,
        settings: Settings,
        cleaner: Cleaner,
        backlog: Backlog,
        outbox: Outbox,
        losses: Mapping[Signal, Losses],
        finished: Callable[[Signal, int], None],
        pulse: Pulse,
    ) -> None:
        """`finished` is told of spans and log records that are lost here."""
        self._settings, self._cleaner = settings, cleaner
        self._backlog, self._outbox, self._losses = backlog, outbox, losses
        self._finished, self._pulse = finished, pulse
        self._origins: dict[tuple[int, int], tuple[Resource, InstrumentationScope | None, Origin]] = {}
        self._harmless: dict[int, tuple[bytes, ...]] = {}
        self._told_lost = 0
        self._said_unencodable = False
        self.reduced = 0
        self.closing = threading.Event()
        self.ended = threading.Event()

    def run(self) -> None:
        try:
            while True:
                closing = self.closing.is_set()
                if not closing and (alive := self._pulse.beat()) is not None:
                    self._backlog.put(alive)
                self._drain()
                for losses in self._losses.values():
                    losses.tell()
                if closing and not len(self._backlog):
                    return
                if not self.closing.is_set():
                    idle = self._pulse.seconds_left(_IDLE_SECONDS)
                    self._backlog.wait(self._settings.delay_seconds, idle)
        finally:
            self.ended.set()
            self._outbox.nudge()

    def _drain(self) -> None:
        pace = _Pace(self._backlog, self.closing)
        packing = _Packing(self._settings.request_bytes, self._outbox, pace)
        while (entry := self._backlog.take()) is not None:
            signal = Signal.LOGS if isinstance(entry, LogRecord) else Signal.TRACES
            try:
                data = self._encoded(entry, signal)
                if data is not None:
                    origin = self._origin(entry.resource, _scope(entry))
                    self._backlog.account(len(data))
                    packing.add(signal, origin, data)
            except Exception as error:  # noqa: BLE001
                notices.note("a span could not be encoded", error)
                if not self._said_unencodable:
                    self._said_unencodable = True
                    kind = type(error).__name__
                    notices.say(f"{_name(entry)[:100]!r} could not be encoded: {kind}. This is logged once.")
                self._losses[signal].add(notices.UNENCODABLE, 1)
                self._finished(signal, 1)
            pace.give_way()
        packing.close()

    def _encoded(self, entry: Entry, signal: Signal) -> bytes | None:
        """Return a span or log record as it may leave the process; None, and counted, where it is too large."""
        data = encode_log_record(entry) if isinstance(entry, LogRecord) else encode_span(entry)
        if len(data) > self._settings.span_bytes:
            small = reduced(data, self._settings.span_bytes, signal.shape)
            if small is None:
                self._losses[signal].add(notices.TOO_LARGE, 1)
                self._finished(signal, 1)
                return None
            if not self.reduced:
                notices.say(
                    f"{_name(entry)[:100]!r} has {len(data)} bytes, more than {self._settings.span_bytes}: its largest "
                    "values are described instead of sent. This is logged once; counts().reduced keeps counting."
                )
            self.reduced += 1
            data = small
        if not isinstance(entry, LogRecord):
            context = entry.get_span_context()
            return self._cleaner.span(data, self._harmless.pop(context.span_id if context else 0, ()))
        cleaned = self._cleaner.log_record(data)
        if cleaned is data and isinstance(entry, BegunRecord):
            self._remember(entry.span_id, data)
        return cleaned

    def _remember(self, span_id: int, record: bytes) -> None:
        """Keep the large attributes of a span that has begun, which hold nothing that is to be taken out: to search
        them takes most of the time, and the span has them again when it ends."""
        large = tuple(
            each.content
            for each in fields(record)
            if each.number == LOG.attributes and len(each.content) > _LARGE_BYTES
        )
        if large:
            self._harmless[span_id] = large
            if len(self._harmless) > _MOST_REMEMBERED:
                del self._harmless[next(iter(self._harmless))]

    def _origin(self, resource: Resource, scope: InstrumentationScope | None) -> Origin:
        lost = self._losses[Signal.TRACES].total
        if self._told_lost != lost or len(self._origins) > _MOST_ORIGINS:
            self._origins.clear()
        known = self._origins.get((id(resource), id(scope)))
        if known is not None:
            return known[2]
        self._told_lost = lost
        made = origin_of(resource, scope, self._cleaner, lost)
        # The objects are held as well: their ids must not come to mean others.
        self._origins[id(resource), id(scope)] = (resource, scope, made)
        return made


class _Pace:
    """The slices of the thread's work, and the rests between them; none where memory runs out, or at the end."""

    def __init__(self, backlog: Backlog, closing: threading.Event) -> None:
        self._backlog, self._closing = backlog, closing
        self._began = time.perf_counter()

    def give_way(self) -> None:
        """Rest, if a slice has been worked since the last time."""
        if time.perf_counter() - self._began > _SLICE_SECONDS:
            if not self._backlog.crowded() and not self._closing.is_set():
                time.sleep(_REST_SECONDS)
            self._began = time.perf_counter()


class _Packing:
    """The requests that are being filled, one for each signal. What waits was accounted for, and goes with its
    request. A request that is put together is a slice of work by itself."""

    def __init__(self, request_bytes: int, outbox: Outbox, pace: _Pace) -> None:
        self._packers = {signal: Packer(request_bytes, signal) for signal in (Signal.LOGS, Signal.TRACES)}
        self._held = dict.fromkeys(self._packers, 0)
        self._outbox, self._pace = outbox, pace

    def add(self, signal: Signal, origin: Origin, data: bytes) -> None:
        full = self._packers[signal].add(origin, data)
        if full is not None:
            self._pace.give_way()
            if signal is Signal.TRACES:
                # What a span's records say was said before it ended.
                self._close(Signal.LOGS)
            self._put(full)
        self._held[signal] += len(data)

    def close(self) -> None:
        for signal in self._packers:
            self._close(signal)

    def _close(self, signal: Signal) -> None:
        if (rest := self._packers[signal].close()) is not None:
            self._put(rest)

    def _put(self, request: ExportRequest) -> None:
        self._outbox.put(request, self._held[request.signal])
        self._held[request.signal] = 0
        self._pace.give_way()


def origin_of(
    resource: Resource, scope: InstrumentationScope | None, cleaner: Cleaner, lost_spans: int = 0
) -> Origin:
    """Return where something comes from, encoded and redacted, with how many spans this process has lost."""
    lost = encode_attributes(1, {EXPORTER_LOST: lost_spans}) if lost_spans else b""
    return Origin(
        cleaner.resource(encode_resource(resource)) + lost,
        text_bytes(resource.schema_url or ""),
        cleaner.scope(encode_scope(scope)),
        text_bytes((scope.schema_url if scope is not None else "") or ""),
    )


def request_of(record: LogRecord, cleaner: Cleaner) -> ExportRequest:
    """Return one log record as a request of its own."""
    data = cleaner.log_record(encode_log_record(record))
    return ExportRequest(joined([(origin_of(record.resource, record.scope, cleaner), data)]), 1, Signal.LOGS)


def _scope(entry: Entry) -> InstrumentationScope | None:
    return entry.scope if isinstance(entry, LogRecord) else entry.instrumentation_scope


def _name(entry: Entry) -> str:
    name: object = entry.event if isinstance(entry, LogRecord) else entry.name
    return name if isinstance(name, str) else described(name)
