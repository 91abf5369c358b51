"""Results without what they measure of the call itself: how long a search took, under which id it was answered.

Two searches that found the same came to the same, though one of them took longer.
"""

from __future__ import annotations

import re
from functools import lru_cache

from retrospan.ingest.json_text import read_value, write_json

#: Names that are of no thing a tool could be asked for: `duration` is that of a song or of a way, too.
_MEASURED = re.compile(
    r"(?:took|elapsed|latency|(?:response|execution|query|search|processing)_?time)(?:_?(?:in_?)?(?:ms|s|sec|secs|seconds|millis"
    r"|milliseconds|us|ns))?|(?:request|correlation)_?id",
    re.IGNORECASE,
)
_MAY_MEASURE = re.compile(r"took|elapsed|latency|time|request_?id|correlation_?id", re.IGNORECASE)
#: Longer results are compared whole.
_MOST_CHARACTERS = 20_000


@lru_cache(maxsize=1024)
def unmeasured(result: str) -> str | None:
    """Return the JSON of a result without those members of its objects; None where it has none, or nothing besides."""
    if len(result) > _MOST_CHARACTERS or not _MAY_MEASURE.search(result):
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
