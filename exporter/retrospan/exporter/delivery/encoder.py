"""The thread that turns spans into requests: encoding, redaction, packing. It gives way to the agent all the time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from retrospan.exporter.delivery import notices
from retrospan.exporter.delivery.backlog import Backlog
from retrospan.exporter.delivery.cleaning import Cleaner
from retrospan.exporter.delivery.encoding import (
    encode_attributes,
    encode_resource,
    encode_scope,
    encode_span,
    text_bytes,
)
from retrospan.exporter.delivery.notices import Losses
from retrospan.exporter.delivery.outbox import Outbox
from retrospan.exporter.delivery.reduction import reduced
from retrospan.exporter.delivery.requests import ExportRequest, Origin, Packer
from retrospan.exporter.settings import Settings
from retrospan.schemas.attributes import EXPORTER_LOST

#: An event loop that wants to go on waits for the interpreter's lock up to 5 ms. It gets it after each slice of work,
#: by a sleep long enough for it to wake up and take it.
_SLICE_SECONDS, _REST_SECONDS = 0.0002, 0.0001
_MOST_ORIGINS = 1_000


class Encoder:
    """Empties the backlog into the outbox until it is told to close."""

    def __init__(
        self,
        settings: Settings,
        cleaner: Cleaner,
        backlog: Backlog,
        outbox: Outbox,
        losses: Losses,
        finished: Callable[[int], None],
    ) -> None:
        """`finished` is told of spans that are lost here."""
        self._settings, self._cleaner = settings, cleaner
        self._backlog, self._outbox, self._losses = backlog, outbox, losses
        self._finished = finished
        self._origins: dict[tuple[int, int], tuple[Resource, InstrumentationScope | None, Origin]] = {}
        self._told_lost = 0
        self.reduced = 0
        self.closing = threading.Event()
        self.ended = threading.Event()

    def run(self) -> None:
        try:
            while True:
                closing = self.closing.is_set()
                self._drain()
                self._losses.tell()
                if closing and not len(self._backlog):
                    return
                if not self.closing.is_set():
                    self._backlog.wait(self._settings.delay_seconds)
        finally:
            self.ended.set()
            self._outbox.nudge()

    def _drain(self) -> None:
        packer = Packer(self._settings.request_bytes)
        began = time.perf_counter()
        held = 0
        while (span := self._backlog.take()) is not None:
            try:
                full, size = self._add(packer, span)
            except Exception as error:  # noqa: BLE001
                notices.logger.debug("a span could not be encoded", exc_info=error)
                self._losses.add(notices.UNENCODABLE, 1)
                self._finished(1)
                continue
            self._backlog.account(size)
            if full is not None:
                self._outbox.put(full, held)
                held = 0
            held += size
            if time.perf_counter() - began > _SLICE_SECONDS:
                if not self._backlog.crowded():
                    time.sleep(_REST_SECONDS)
                began = time.perf_counter()
        if (rest := packer.close()) is not None:
            self._outbox.put(rest, held)

    def _add(self, packer: Packer, span: ReadableSpan) -> tuple[ExportRequest | None, int]:
        """Return the request that is full now, and what this span takes in the one that is not."""
        data = encode_span(span)
        if len(data) > self._settings.span_bytes:
            small = reduced(data, self._settings.span_bytes)
            if small is None:
                self._losses.add(notices.TOO_LARGE, 1)
                self._finished(1)
                return None, 0
            if not self.reduced:
                notices.say(
                    f"span {span.name[:100]!r} has {len(data)} bytes, more than {self._settings.span_bytes}: its largest "
                    "values are described instead of sent. This is logged once; counts().reduced keeps counting."
                )
            self.reduced += 1
            data = small
        data = self._cleaner.span(data)
        return packer.add(self._origin(span), data), len(data)

    def _origin(self, span: ReadableSpan) -> Origin:
        resource, scope = span.resource, span.instrumentation_scope
        if self._told_lost != self._losses.total or len(self._origins) > _MOST_ORIGINS:
            self._origins.clear()
        known = self._origins.get((id(resource), id(scope)))
        if known is not None:
            return known[2]
        self._told_lost = self._losses.total
        lost = encode_attributes(1, {EXPORTER_LOST: self._told_lost}) if self._told_lost else b""
        origin = Origin(
            self._cleaner.resource(encode_resource(resource)) + lost,
            text_bytes(resource.schema_url or ""),
            self._cleaner.scope(encode_scope(scope)),
            text_bytes((scope.schema_url if scope is not None else "") or ""),
        )
        # The objects are held as well: their ids must not come to mean others.
        self._origins[id(resource), id(scope)] = (resource, scope, origin)
        return origin
