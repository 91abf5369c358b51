"""Times that travel as RFC 3339 text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)?$", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: What a DateTime64(9) holds from 1970 on.
_LAST = 2**63 - 1


class NotATime(ValueError):
    """The text is not an RFC 3339 time; the message says why. Never leaves this package."""


@dataclass(frozen=True, slots=True)
class Time:
    nanoseconds: int  # Unix time

    @property
    def kept(self) -> int:
        """The nearest time that the tables hold."""
        return min(max(self.nanoseconds, 0), _LAST)


def read_rfc3339(text: object) -> Time:
    """Return the time that the text names, to the nanosecond. Raises NotATime."""
    found = _RFC3339.match(text) if isinstance(text, str) else None
    if found is None:
        raise NotATime("not an RFC 3339 time such as 2026-11-21T14:32:00Z")
    if found[4] is None:
        raise NotATime("has no zone: end it with Z or an offset such as +01:00")
    zone = "+00:00" if found[4] in "Zz" else found[4]
    try:
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}{zone}")
        seconds = (moment - _EPOCH).days * 86400 + (moment - _EPOCH).seconds
    except (ValueError, OverflowError):
        raise NotATime("this day or time does not exist") from None
    return Time(seconds * 10**9 + int((found[3] or "")[:9].ljust(9, "0")))
