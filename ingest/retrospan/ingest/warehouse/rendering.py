"""Rows out of a result, for every kind of connection."""

from __future__ import annotations

import json


def parse_rows(data: bytes) -> list[list[object]]:
    """Read JSONCompactEachRow. Text that is not UTF-8 is surrogate-escaped."""
    # Split at the newline alone: JSON escapes it, and other line ends may stand inside strings.
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return [json.loads(line) for line in lines if line]
