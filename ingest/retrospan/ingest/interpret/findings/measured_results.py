"""Results without what they measure of the call itself: how long a search took.

Two searches that found the same came to the same, though one of them took longer.
"""

from __future__ import annotations

import re
from functools import lru_cache

from retrospan.ingest.json_text import read_value, write_json

#: Names that are of no thing a tool could be asked for: `duration` is that of a song or of a way, too, and an id may be what
#: was made.
_MEASURED = re.compile(
    r"(?:took|elapsed|latency|(?:response|execution|query|search|processing)_?time)(?:_?(?:in_?)?(?:ms|s|sec|secs|seconds|millis"
    r"|milliseconds|us|ns))?",
    re.IGNORECASE,
)
#: Parts of these, whatever begins with a capital: a text without any is not read.
_PARTS = ("took", "lapsed", "atency", "_time", "Time")
#: Longer results are compared whole.
_MOST_CHARACTERS = 20_000


@lru_cache(maxsize=1024)
def unmeasured(result: str) -> str | None:
    """Return the JSON of a result without those members of its objects; None where it has none, or nothing besides."""
    if len(result) > _MOST_CHARACTERS or not any(part in result for part in _PARTS):
        return None
    value = read_value(result)
    left = _without(value)
    return None if left == value or not left else write_json(left)


def _without(value: object) -> object:
    if isinstance(value, dict):
        return {
            name: _without(each)
            for name, each in value.items()
            if not (_MEASURED.fullmatch(name) and isinstance(each, str | int | float))
        }
    if isinstance(value, list):
        return [_without(each) for each in value]
    return value
