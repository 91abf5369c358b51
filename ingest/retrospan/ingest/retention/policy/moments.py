"""Times as retention prints them."""

from __future__ import annotations

from datetime import UTC, datetime


def text_of(time_ns: int) -> str:
    """Return a time (Unix ns) in UTC, to the second."""
    return f"{datetime.fromtimestamp(time_ns / 1e9, UTC):%Y-%m-%dT%H:%M:%SZ}"
