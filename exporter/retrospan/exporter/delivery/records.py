"""Log records, which go through the pipeline beside ended spans, and report events while their span still runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind

from retrospan.schemas.attributes import BEGUN_KIND, BEGUN_LINKS, BEGUN_NAME, BEGUN_PARENT, BEGUN_REMOTE
from retrospan.schemas.redaction.messages import LOG, SPAN, Message

#: OTLP's numbers of the kinds of spans.
KINDS = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}


#: The SDK's own numbers of kinds are one lower.
_LAST_KIND = 4


def kind_number(kind: object) -> int:
    """Return OTLP's number of a kind: of the SDK's enumeration, of its number or of its name; 0 of anything else."""
    name = getattr(kind, "name", kind)
    if isinstance(name, str):
        return KINDS.get(name.upper(), 0)
    return name + 1 if isinstance(name, int) and 0 <= name <= _LAST_KIND else 0


class Signal(Enum):
    """What a request holds: either of OTLP's two signals that are sent. Their requests have the same shape."""

    TRACES = "traces"
    LOGS = "logs"

    @property
    def noun(self) -> str:
        return "span(s)" if self is Signal.TRACES else "log record(s)"

    @property
    def shape(self) -> Message:
        """What one of them is as a message."""
        return SPAN if self is Signal.TRACES else LOG


@dataclass(frozen=True, slots=True, eq=False)
class LogRecord:
    """An event in the form of a log record. `at` in Unix nanoseconds; without a span both ids are 0."""

    event: str
    attributes: Mapping[str, object]
    at: int
    resource: Resource
    scope: InstrumentationScope | None
    trace_id: int = 0
    span_id: int = 0

    def said(self) -> Mapping[str, object]:
        """Return all attributes. Called once, by the thread that encodes."""
        return self.attributes


@dataclass(frozen=True, slots=True, eq=False)
class BegunRecord(LogRecord):
    """The record that a span has begun; `attributes` are the span's at that moment, and the process's."""

    name: str = ""
    kind: SpanKind = SpanKind.INTERNAL
    parent: SpanContext | None = None
    links: Sequence[Link] = ()

    def said(self) -> Mapping[str, object]:
        parent = self.parent
        said = {
            **self.attributes,
            BEGUN_NAME: self.name,
            BEGUN_KIND: kind_number(self.kind),
            BEGUN_PARENT: f"{parent.span_id:016x}" if parent is not None else "",
            BEGUN_REMOTE: parent is not None and parent.is_remote,
        }
        if self.links:
            said[BEGUN_LINKS] = json.dumps([_named(link) for link in self.links], default=str)
        return said


def _named(link: Link) -> dict[str, object]:
    return {
        "trace_id": f"{link.context.trace_id:032x}",
        "span_id": f"{link.context.span_id:016x}",
        "attributes": dict(link.attributes or {}),
    }
