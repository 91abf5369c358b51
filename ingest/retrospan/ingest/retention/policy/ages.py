"""Ages as policies write them: `7d`, `36h`, `12w`, `forever`."""

from __future__ import annotations

import re

HOUR = 3_600 * 10**9
DAY = 24 * HOUR
_UNITS = {"h": HOUR, "d": DAY, "w": 7 * DAY}
_AGE = re.compile(r"(-?\d+(?:\.\d+)?)\s*(h|d|w)")
FOREVER = "forever"
SHORTEST = HOUR
LONGEST = 36_525 * DAY


def parse_age(value: object) -> int | None:
    """Nanoseconds; None for `forever`. Raises ValueError with what is wrong."""
    if value == FOREVER:
        return None
    found = _AGE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError("not an age such as 36h, 7d, 12w or forever")
    number = float(found[1]) * _UNITS[found[2]]
    if number > LONGEST:
        raise ValueError("an age over a hundred years is written forever")
    age = round(number)
    if age < 0:
        raise ValueError("an age cannot be negative")
    if age < SHORTEST:
        raise ValueError("an age under an hour deletes everything of the class as it arrives")
    return age


def age_text(age: int | None) -> str:
    """Return an age as it is written."""
    if age is None:
        return FOREVER
    for unit in ("w", "d", "h"):
        if age % _UNITS[unit] == 0 and (unit != "w" or age >= 4 * _UNITS[unit]):
            return f"{age // _UNITS[unit]}{unit}"
    return f"{age / HOUR:.1f}h"
