"""Words of a query read as Jaeger reads them: durations and times of Go, ids of traces, truth.

Each function raises BadRequest with what is wrong; the parameter is named by who asked. Pure.
"""

from __future__ import annotations

import base64
import binascii
import re
from datetime import UTC, datetime

from retrospan.schemas.errors import BadRequest

#: Nanoseconds; the last instant and the longest time that the tables hold.
LAST = (1 << 64) - 1
_NS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_INT64 = 1 << 63
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_HEX = re.compile(r"[0-9a-fA-F]{1,32}", re.ASCII)
_TRUTH = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def integer(text: str) -> int:
    """Read a decimal number of 64 bits."""
    if not re.fullmatch(r"[+-]?[0-9]{1,40}", text):
        raise BadRequest(f"{text[:60]!r} is not a whole number")
    found = int(text)
    if not -_INT64 <= found < _INT64:
        raise BadRequest(f"{text[:60]!r} is out of range")
    return found


def duration(text: str) -> int:
    """Read a duration such as 1.5s, 300ms or 1h2m; nanoseconds. A negative one is refused: no span is so short."""
    parts = _PART.findall(text) if len(text) <= 100 else []
    if not parts or "".join(number + unit for number, unit in parts) != text.removeprefix("+"):
        raise BadRequest(f"{text[:60]!r} is not a duration. Write it as 1.5s, 300ms or 1h2m")
    # In whole numbers: a float has too few digits for nanoseconds.
    total = 0
    for number, unit in parts:
        whole, _, fraction = number.partition(".")
        total += int(whole or "0") * _NS[unit] + int(fraction or "0") * _NS[unit] // 10 ** len(fraction)
    if total >= _INT64:
        raise BadRequest(f"{text[:60]!r} is out of range")
    return total


def instant(text: str) -> int:
    """Read an instant as RFC 3339 writes it; nanoseconds since 1970, before that 0.

    A `+` that a client did not escape arrives as a blank, and is read as what it was.
    """
    found = _RFC3339.fullmatch(text.replace(" ", "+"))
    if found is None:
        raise BadRequest(f"{text[:60]!r} is not a time. Write it as 2026-01-31T12:00:00Z")
    day, clock, fraction, zone = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if zone in 'Zz' else zone}").astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadRequest(f"{text[:60]!r} is not a time: {error}") from error
    seconds = int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    return within(seconds * 10**9 + int((fraction or "0").ljust(9, "0")))


def within(nanoseconds: int) -> int:
    """Return the nearest instant that a span can have."""
    return max(0, min(nanoseconds, LAST))


def truth(text: str) -> bool:
    """Read true or false in the ways that Go knows."""
    if text not in _TRUTH:
        raise BadRequest(f"{text[:60]!r} is not true or false")
    return _TRUTH[text]


def trace_id(text: str) -> str:
    """Read the id of a trace, in hex, where leading zeros may be missing, or in base64; returns 32 digits of hex."""
    if _HEX.fullmatch(text):
        return text.lower().rjust(32, "0")
    if len(text) <= 24:
        padded = text.replace("-", "+").replace("_", "/").rstrip("=")
        try:
            data = base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)
        except (binascii.Error, ValueError):
            data = b""
        if len(data) in (8, 16):
            return data.hex().rjust(32, "0")
    raise BadRequest(f"{text[:60]!r} is not the id of a trace, which has up to 32 digits of hex")
