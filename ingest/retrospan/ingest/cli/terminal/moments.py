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
        return self.at(zone).strftime(pattern)

    def at(self, zone: tzinfo | None) -> datetime:
        """Return it by the clocks of a zone, in whole seconds; None is the machine's local zone."""
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self // 10**9)).astimezone(zone)


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
    # A leap second is the one before it once more: clocks that count from 1970 know no other way.
    is_leap = found[3] == ":60"
    clock = f"{found[2] or '00:00'}{':59' if is_leap else found[3] or ':00'}"
    seconds = _seconds(datetime.fromisoformat(f"{found[1]}T{clock}{zone}"))
    if is_leap and (seconds + 1) % 86400:
        raise ValueError("a leap second ends a day of UTC")
    return Moment(seconds * 10**9 + int((found[4] or "").ljust(9, "0")))


class Zone:
    """The zone in which one answer shows its times; `name` is printed once per answer, after the times that it is for.

    Where the clocks of the zone were changed between two times, each offset is named. A time that such a clock shows
    twice has its offset beside it, and so has one with an offset that the name, said before, does not have.
    """

    def __init__(self, utc: bool) -> None:
        self._zone: tzinfo | None = UTC if utc or _is_utc() else None  # None: the machine's local zone
        self._shown: set[str] = set()
        self._named: set[str] | None = None  # the offsets that the name had

    def clock(self, moment: Moment | None) -> str:
        """Time of day with seconds."""
        return self._written(moment, "%H:%M:%S")

    def second(self, moment: Moment | None) -> str:
        """Date and time with seconds."""
        return self._written(moment, "%Y-%m-%d %H:%M:%S")

    def exact(self, moment: Moment | None) -> str:
        """Date and time with milliseconds."""
        return self._written(moment, "%Y-%m-%d %H:%M:%S", milliseconds=True)

    def told(self, moment: Moment | None) -> str:
        """Date and time with milliseconds and the offset, for a sentence by itself."""
        if moment is None or self._zone is UTC:
            return "-" if moment is None else f"{self.exact(moment)} UTC"
        offset = _offset(moment.at(None))
        return f"{self.exact(moment).removesuffix(f' {offset}')} {offset}"

    def listed(self, moment: Moment | None, now: Moment) -> str:
        """Time of day for the last 24 hours, else date and time."""
        if moment is not None and abs(now - moment) < 86400 * 10**9:
            return self.clock(moment)
        return self._written(moment, "%Y-%m-%d %H:%M")

    def name(self) -> str:
        if self._zone is UTC:
            return "UTC"
        self._named = set(self._shown) or {_offset(Moment.now().at(None))}
        return f"{_local_name()} ({' and '.join(sorted(self._named))})"

    def _written(self, moment: Moment | None, pattern: str, *, milliseconds: bool = False) -> str:
        if moment is None:
            return "-"
        local = moment.at(self._zone)
        text = local.strftime(pattern) + (f".{moment % 10**9 // 10**6:03d}" if milliseconds else "")
        if self._zone is UTC:
            return text
        offset = _offset(local)
        self._shown.add(offset)
        is_named = self._named is None or offset in self._named
        return text if is_named and not _is_shown_twice(local) else f"{text} {offset}"


def _offset(local: datetime) -> str:
    offset = local.strftime("%z")
    return f"{offset[:3]}:{offset[3:5]}"


def _is_shown_twice(local: datetime) -> bool:
    """Whether the machine's clock shows this time before it is set back, and again after that."""
    first, second = (local.replace(tzinfo=None, fold=fold).astimezone().utcoffset() for fold in (0, 1))
    return first != second


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
