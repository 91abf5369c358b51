"""Sends events at once: an event goes on its span, and also leaves as a log record before the span ends.

A span ends when its work is done, and what lies on it leaves no sooner: an agent that is killed takes it along. Where
our own pipeline delivers the span, what was said leaves by itself; the event on the span has the same id, by which
readers know that the two are one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from time import time_ns
from typing import Any, Protocol

from opentelemetry.trace import Span

from retrospan.exporter.recording.scopes import scope_in
from retrospan.schemas.attributes import EVENT_ID, RUN_ID

#: Where a span of the SDK names who delivers it: on the span itself, as a process may have several providers.
TELLER = "_retrospan_teller"


class Teller(Protocol):
    """What delivers a span and what is said of it."""

    def began(self, span: Any) -> None: ...

    def said(self, span: Any, event: str, attributes: Mapping[str, Any], at: int) -> None: ...


def say(span: Span, event: str, attributes: Mapping[str, Any]) -> None:
    """Put an event on a span that is recorded, and send it at once; attributes that are None are left out."""
    known = {key: value for key, value in attributes.items() if value is not None}
    # Not from `random`: its sequence is the agent's.
    known[EVENT_ID] = os.urandom(8).hex()
    at = time_ns()
    span.add_event(event, known, at)
    _send(span, event, known, at)


def send(span: Span, event: str, attributes: Mapping[str, Any]) -> None:
    """Send an event of a span that is recorded at once; put it on the span only where nothing can be sent before.

    For what is too large to go twice, or comes too often for the number of events that a span may have.
    """
    known = {**attributes, EVENT_ID: os.urandom(8).hex()}
    at = time_ns()
    if hasattr(span, TELLER):
        _send(span, event, known, at)
    else:
        span.add_event(event, known, at)


def fill(span: Span, event: str, attributes: Mapping[str, Any]) -> None:
    """Set attributes of a span that is recorded, and send them at once as an event of that name."""
    span.set_attributes(attributes)
    if hasattr(span, TELLER):
        _send(span, event, {**attributes, EVENT_ID: os.urandom(8).hex()}, time_ns())


def tell_begun(span: Span) -> None:
    """Say that a span of ours has begun, with what is on it now."""
    teller: Teller | None = getattr(span, TELLER, None)
    if teller is not None:
        teller.began(span)


def _send(span: Span, event: str, attributes: Mapping[str, Any], at: int) -> None:
    teller: Teller | None = getattr(span, TELLER, None)
    if teller is not None:
        scope = scope_in()
        said = {**attributes, RUN_ID: scope.run_id} if scope is not None and scope.run_id else attributes
        teller.said(span, event, said, at)
