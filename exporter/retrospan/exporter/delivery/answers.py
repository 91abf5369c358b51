"""What a receiver's answer means for its request."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from math import isnan
from typing import Protocol

from retrospan.exporter.delivery.records import Signal
from retrospan.schemas.redaction.walk import fields
from retrospan.schemas.wire import NotAMessage, read_varint

#: Longer than this no receiver is believed.
_LONGEST_WAIT_SECONDS = 300.0
_LONGEST_REASON = 300
_LONGEST_RETRY_AFTER = 100


class Fate(Enum):
    """The outcome of a request."""

    DELIVERED = "delivered"
    LATER = "later"
    """The receiver is away or busy: the same request may pass later."""
    BLOCKED = "blocked"
    """Wrong address or token: it passes once somebody has set that right."""
    TOO_LARGE = "too large"
    REFUSED = "refused"
    """The receiver will never take it."""
    UNREAD = "unread"
    """Its file in the spool could not be read, so that nobody was asked: the file stays."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The fate of a request; `reason` is for a person; `wait_seconds` is what the receiver asked for, if it did."""

    fate: Fate
    reason: str = ""
    wait_seconds: float | None = None
    rejected: int = 0
    """As the receiver says: it may be more than it was sent."""


class Transport(Protocol):
    """A way to one receiver. Used from one thread."""

    target: str
    """The address, as a person knows it."""

    def send(self, body: bytes, signal: Signal = Signal.TRACES) -> Answer:
        """Send an export request of a signal. Never raises."""
        ...

    def close(self) -> None: ...


def delivered(body: bytes) -> Answer:
    """Return the answer of an export response: {1 partial_success {1 number rejected, 2 error_message}}."""
    rejected, message = 0, ""
    try:
        for outer in fields(body):
            for each in fields(outer.content) if outer.number == 1 else ():
                if each.number == 1:
                    rejected = (read_varint(each.content, 0, len(each.content)) or (0, 0))[0]
                elif each.number == 2:
                    message = each.content.decode(errors="replace")
    except NotAMessage:
        pass
    return Answer(Fate.DELIVERED, shortened(message), rejected=rejected)


def status_message(body: bytes) -> str:
    """Return the message of a google.rpc.Status {1 code, 2 message}; '' where the bytes are none."""
    try:
        found = [each.content.decode() for each in fields(body) if each.number == 2 and each.wire_type == 2]
    except ValueError:
        return ""
    return shortened(found[-1]) if found else ""


def retry_info_seconds(body: bytes) -> float | None:
    """Return the delay of a google.rpc.RetryInfo {1 Duration {1 seconds, 2 nanos}}."""
    try:
        delays = [each.content for each in fields(body) if each.number == 1]
        parts = {each.number: read_varint(each.content, 0, len(each.content)) for each in fields(delays[-1])}
    except (NotAMessage, IndexError):
        return None
    seconds, nanos = parts.get(1) or (0, 0), parts.get(2) or (0, 0)
    return _believed(seconds[0] + nanos[0] / 1e9)


def retry_after_seconds(text: str | None) -> float | None:
    """Return what HTTP's Retry-After says: seconds, or a date."""
    if not text or len(text) > _LONGEST_RETRY_AFTER:
        return None
    try:
        return _believed(float(text))
    except ValueError:
        pass
    try:
        return _believed(parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def shortened(text: str) -> str:
    """One line of bounded length."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 2 * _LONGEST_REASON]).split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 1] + "…"


def told(error: BaseException, headers: Mapping[str, str]) -> str:
    """Return an error in one line; without what it says where that repeats a header: its value may be a secret."""
    name = type(error).__name__
    try:
        text = f"{name}: {error}"
        secrets = {part for value in headers.values() for part in (value, value.rpartition(" ")[2]) if part}
        if any(secret in text or repr(secret)[1:-1] in text for secret in secrets):
            return f"{name}, which repeats a header and is not shown"
    except Exception:  # noqa: BLE001 - whatever an adapter of the user's raises
        return name
    return shortened(text)


def _believed(seconds: float) -> float | None:
    return min(max(seconds, 0.0), _LONGEST_WAIT_SECONDS) if not isnan(seconds) else None
