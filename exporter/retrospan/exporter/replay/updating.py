"""Makes a new record of a run that goes another way: what the old one does not answer is really asked, and recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from threading import Lock

from retrospan.exporter.replay.asking import ask, whole
from retrospan.exporter.replay.current import admit
from retrospan.exporter.replay.exchange import Exchange, TransportFailed
from retrospan.exporter.replay.new_record import NewRecord
from retrospan.exporter.replay.report import Report
from retrospan.exporter.replay.wire.answered import answered
from retrospan.exporter.replay.wire.form import Asked, Form, Reply
from retrospan.exporter.replay.wire.forms import reply_of
from retrospan.schemas.bundle.form import CallError

#: What of an error's headers tells a client whether and when to try again.
_RETRIES = ("retry-after", "retry-after-ms", "x-should-retry")
#: How Bedrock streams: it is asked for that, and not for a whole answer.
_EVENT_STREAM = "application/vnd.amazon.eventstream"


class Updating:
    """The new record, and who asks for what the old one does not hold."""

    def __init__(self, report: Report) -> None:
        self.record = NewRecord()
        self._report, self._lock = report, Lock()

    def ask(self, form: Form, request: Asked, asked: Exchange, key: str) -> Reply:
        """Ask a model really, and return what it said. Raises TransportFailed where it says nothing."""
        with self._lock:
            self._report.live.append(f"{request.model or form.name} at {asked.authority}")
        question = whole(form, asked, request)
        admit(asked.host)
        try:
            said = ask(question)
        except TransportFailed as error:
            kind = "TimeoutError" if error.kind == "timeout" else "ConnectionError"
            self.record.model(key, request, CallError(type=kind, message=str(error)))
            raise
        content_type, body = said.headers.get("content-type", "application/json"), said.body
        if content_type.startswith(_EVENT_STREAM) and said.status == HTTPStatus.OK:
            try:
                body = _unstreamed(body)
            except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
                broke = CallError(type="ConnectionError", message=f"the stream broke off: {error}")
                self.record.model(key, request, broke)
                return Reply(said.status, content_type, (said.body,))
        found = answered(form, body) if said.status == HTTPStatus.OK else None
        if found is None:
            message = f"Error code: {said.status} - {said.body.decode(errors='replace')}"
            failed = CallError(type="HTTPError", message=message, status_code=said.status)
            self.record.model(key, request, failed)
            return Reply(said.status, content_type, (said.body,), _retries(said.headers))
        self.record.model(key, request, found)
        if request.streamed:
            return reply_of(form, found.as_answer(request.model or ""), request)
        return Reply(said.status, content_type, (said.body,))


def _unstreamed(body: bytes) -> bytes:
    """Return what came as AWS's event stream as it comes whole. Raises ValueError and others for a stream that broke
    off.
    """
    # Here: only Bedrock streams so.
    from retrospan.exporter.replay.wire.event_stream import whole_answer

    return json.dumps(whole_answer(body)).encode()


def _retries(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, headers[name]) for name in _RETRIES if name in headers)
