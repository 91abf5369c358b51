"""Times: nanoseconds since 1970 UTC inside, shown in one stated zone, typed as the contract allows."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta, tzinfo

_CLICKHOUSE = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?$")
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(:\d\d)?(?:\.(\d{1,9}))?)?\s*([Zz]|[+-]\d\d:\d\d)?$", re.ASCII
)
_CLOCK = re.compile(r"(\d\d?):(\d\d)(?::(\d\d))?(?:\.(\d{1,9}))?$", re.ASCII)
_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*(s|sec|m|min|h|d|w)[a-z]*(?:\s+ago)?$", re.ASCII)
_UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
#: The latest time in nanoseconds since 1970 that 64 bits hold.
LATEST = 2**63 - 1
TIME_HELP = "RFC 3339 (2026-11-21T14:32:00Z), 14:32 (the latest such time, UTC) or '2h ago'"


class Moment(int):
    """Nanoseconds since 1970-01-01 UTC."""

    @classmethod
    def read(cls, text: str) -> Moment:
        """Read what ClickHouse prints for a DateTime64 in UTC. Raises ValueError for anything else."""
        found = _CLICKHOUSE.match(text)
        if found is None:
            raise ValueError(f"not a time: {text!r}")
        whole = datetime.fromisoformat(f"{found[1]}T{found[2]}+00:00")
        return cls(_seconds(whole) * 10**9 + int((found[3] or "").ljust(9, "0")))

    @classmethod
    def now(cls) -> Moment:
        return cls(time.time_ns())

    def rfc3339(self) -> str:
        """UTC with nanoseconds and Z."""
        return f"{self.clock(UTC, '%Y-%m-%dT%H:%M:%S')}.{self % 10**9:09d}Z"

    def clickhouse(self) -> str:
        """Return the value of a DateTime64(9, 'UTC') parameter."""
        return f"{self.clock(UTC, '%Y-%m-%d %H:%M:%S')}.{self % 10**9:09d}"

    def clock(self, zone: tzinfo | None, pattern: str) -> str:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self // 10**9)
        return moment.astimezone(zone).strftime(pattern)


def _seconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)


def parse_time(text: str, now: Moment | None = None) -> Moment:
    """Read a TIME of the command line.

    `14:32` is the latest such time of day in UTC; a time without a zone is UTC. Raises ValueError with a
    message that says what is accepted.
    """
    now = Moment.now() if now is None else now
    typed = text.strip()
    if typed == "now":
        return now
    try:
        moment = _ago(typed, now) or _clock(typed, now) or _rfc3339(typed)
    except (ValueError, OverflowError):
        moment = None
    if moment is None or moment < 0:
        raise ValueError(f"'{text}' is not a time: use {TIME_HELP}")
    if moment > LATEST:
        raise ValueError(f"'{text}' is after 2262-04-11, the latest possible time")
    return moment


def _ago(typed: str, now: Moment) -> Moment | None:
    found = _AGO.match(typed)
    return None if found is None else Moment(now - round(float(found[1]) * _UNITS[found[2]] * 1e9))


def _clock(typed: str, now: Moment) -> Moment | None:
    found = _CLOCK.match(typed)
    if found is None:
        return None
    today = now.clock(UTC, "%Y-%m-%d")
    seconds, fraction = found[3] or "00", (found[4] or "").ljust(9, "0")
    moment = Moment.read(f"{today} {int(found[1]):02d}:{found[2]}:{seconds}.{fraction}")
    return moment if moment <= now else Moment(moment - 86400 * 10**9)


def _rfc3339(typed: str) -> Moment | None:
    found = _RFC3339.match(typed)
    if found is None:
        return None
    zone = "+00:00" if (found[5] or "Z") in "Zz" else found[5]
    whole = datetime.fromisoformat(f"{found[1]}T{found[2] or '00:00'}{found[3] or ':00'}{zone}")
    return Moment(_seconds(whole) * 10**9 + int((found[4] or "").ljust(9, "0")))


class Zone:
    """The zone in which one answer shows its times; `name` is printed once per answer."""

    def __init__(self, utc: bool) -> None:
        self._zone: tzinfo | None = UTC if utc or _is_utc() else None  # None: the machine's local zone

    def clock(self, moment: Moment | None) -> str:
        """Time of day with seconds."""
        return "-" if moment is None else moment.clock(self._zone, "%H:%M:%S")

    def exact(self, moment: Moment | None) -> str:
        """Date and time with milliseconds."""
        if moment is None:
            return "-"
        return f"{moment.clock(self._zone, '%Y-%m-%d %H:%M:%S')}.{moment % 10**9 // 10**6:03d}"

    def listed(self, moment: Moment | None, now: Moment) -> str:
        """Time of day for the last 24 hours, else date and time."""
        if moment is None:
            return "-"
        if abs(now - moment) < 86400 * 10**9:
            return self.clock(moment)
        return moment.clock(self._zone, "%Y-%m-%d %H:%M")

    def name(self) -> str:
        if self._zone is UTC:
            return "UTC"
        offset = datetime.now().astimezone().strftime("%z")
        return f"{_local_name()} ({offset[:3]}:{offset[3:5]})"


def _is_utc() -> bool:
    return time.timezone == 0 and not time.daylight


def _local_name() -> str:
    """Return the zone's name as the system writes it (Europe/Oslo), else its abbreviation."""
    import os

    named = os.environ.get("TZ", "").lstrip(":")
    if "/" in named and not named.startswith("/"):
        return named
    target = os.path.realpath("/etc/localtime")
    if "/zoneinfo/" in target and not named:
        return target.split("/zoneinfo/", 1)[1]
    return datetime.now(UTC).astimezone().tzname() or "local"
