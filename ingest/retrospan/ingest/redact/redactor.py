"""Removes secrets from whole requests. A request in which nothing is found keeps its bytes.

A span or log record that cannot be searched to the end is kept without its payload: ids, times, kind and status
code stay, and `retrospan.redacted` says that the rest is withheld. The same holds for a resource or scope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from retrospan.ingest.otlp import lenient
from retrospan.ingest.settings.config import RedactionSettings
from retrospan.ingest.settings.trusted_file import require_trusted
from retrospan.schemas.redaction.matching import Matcher, Taken
from retrospan.schemas.redaction.messages import LOG, RESOURCE, SCOPE, SPAN, Message
from retrospan.schemas.redaction.rules import Rules
from retrospan.schemas.redaction.walk import Walk, mark, marked
from retrospan.schemas.wire import delimited

WITHHELD = "withheld"
_NAME = b"[withheld]"
_SPAN_KEEPS = (
    "trace_id",
    "span_id",
    "parent_span_id",
    "flags",
    "kind",
    "start_time_unix_nano",
    "end_time_unix_nano",
)
_LOG_KEEPS = ("trace_id", "span_id", "flags", "time_unix_nano", "observed_time_unix_nano", "severity_number")


@dataclass(frozen=True, slots=True)
class Redacted:
    """A request without its secrets.

    `members` is how many spans or log records were changed, those withheld among them; `values` is how many values
    were taken out, those of resources and scopes among them.
    """

    body: bytes
    members: int = 0
    values: int = 0
    withheld_members: int = 0


@dataclass(slots=True)
class _Tally:
    members: int = 0
    values: int = 0
    withheld: int = 0
    withheld_members: int = 0


class Redactor:
    """Applies rules to requests, from any thread."""

    def __init__(self, rules: Rules) -> None:
        self._matcher = Matcher(rules)

    @classmethod
    def of(cls, settings: RedactionSettings) -> Redactor | None:
        """As configured; None where nothing is to be redacted. Raises ConfigError."""
        if not settings.enabled:
            return None
        if settings.rules is None:
            return cls(Rules.builtin())
        require_trusted(settings.rules)
        return cls(Rules.read(settings.rules))

    def traces(self, body: bytes) -> Redacted:
        """Return an ExportTraceServiceRequest that has been read before."""
        return self._request(
            body, lenient.TracesEnvelope, "resource_spans", "scope_spans", "spans", self._span
        )

    def logs(self, body: bytes) -> Redacted:
        """Return an ExportLogsServiceRequest that has been read before."""
        return self._request(
            body, lenient.LogsEnvelope, "resource_logs", "scope_logs", "log_records", self._log
        )

    def redacting(self, log_event: Callable[[str], None]) -> Callable[[str], None]:
        """Return the same way of saying a line to a person, without secrets."""

        def log_redacted(line: str) -> None:
            try:
                line = self._matcher.text(line, "", Taken())
            except ValueError:
                line = "a line that could not be searched for secrets is withheld"
            log_event(line)

        return log_redacted

    def _request(
        self,
        body: bytes,
        envelope: Any,
        groups: str,
        scopes: str,
        members: str,
        redact: Callable[[bytes, _Tally], bytes],
    ) -> Redacted:
        if not self._matcher.may_hold(body):
            return Redacted(body)
        request = envelope.FromString(body)
        tally = _Tally()
        for group in getattr(request, groups):
            self._header(group, "resource", RESOURCE, tally)
            self._schema_url(group, tally)
            for scope in getattr(group, scopes):
                self._header(scope, "scope", SCOPE, tally)
                self._schema_url(scope, tally)
                found = getattr(scope, members)
                for place, data in enumerate(found):
                    if not self._matcher.may_hold(data):
                        continue
                    before = tally.withheld
                    new = redact(data, tally)
                    tally.withheld_members += tally.withheld - before
                    if new is not data:
                        found[place] = new
                        tally.members += 1
        self._unknown(request, tally)
        if not tally.values and not tally.withheld:
            return Redacted(body)
        return Redacted(request.SerializeToString(), tally.members, tally.values, tally.withheld_members)

    def _header(self, group: Any, name: str, shape: Message, tally: _Tally) -> None:
        data: bytes = getattr(group, name)
        if data and self._matcher.may_hold(data):
            new = self._redacted(data, shape, tally, lambda: delimited(shape.attributes, _all_withheld()))
            if new is not data:
                setattr(group, name, new)

    def _schema_url(self, group: Any, tally: _Tally) -> None:
        data: bytes = group.schema_url
        if data and self._matcher.may_hold(data):
            taken = Taken()
            text = self._matcher.text(data.decode(errors="surrogateescape"), "schema_url", taken)
            if taken:
                group.schema_url = text.encode(errors="surrogateescape")
                tally.values += taken.values

    def _unknown(self, request: Any, tally: _Tally) -> None:
        """Fields that this release does not know, between the spans: they go when anything is found in them."""
        before = request.ByteSize()
        bare = type(request)()
        bare.CopyFrom(request)
        bare.DiscardUnknownFields()
        if bare.ByteSize() < before and self._matcher.may_hold(request.SerializeToString()):
            request.DiscardUnknownFields()
            tally.values += 1

    def _span(self, data: bytes, tally: _Tally) -> bytes:
        def withheld() -> bytes:
            span = lenient.Span.FromString(data)
            kept = lenient.Span(name=_NAME, **_kept(span, _SPAN_KEEPS))
            kept.status.code = span.status.code
            return bytes(kept.SerializeToString()) + delimited(SPAN.attributes, _all_withheld())

        return self._redacted(data, SPAN, tally, withheld)

    def _log(self, data: bytes, tally: _Tally) -> bytes:
        def withheld() -> bytes:
            kept = lenient.LogRecord(**_kept(lenient.LogRecord.FromString(data), _LOG_KEEPS))
            return bytes(kept.SerializeToString()) + delimited(LOG.attributes, _all_withheld())

        return self._redacted(data, LOG, tally, withheld)

    def _redacted(self, data: bytes, shape: Message, tally: _Tally, withheld: Callable[[], bytes]) -> bytes:
        walk = Walk(self._matcher)
        try:
            new = walk.message(data, shape)
            if new is not data:
                new = marked(new, shape.attributes, walk.taken)
        except (ValueError, RecursionError, MemoryError):
            # What could not be searched to the end might hold anything.
            tally.withheld += 1
            return withheld()
        tally.values += walk.taken.values
        return new


def _kept(message: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(message, name) for name in names}


def _all_withheld() -> bytes:
    return mark([{"path": "*", "rule": WITHHELD}])


__all__ = ["WITHHELD", "Redacted", "Redactor"]
