"""Reads the columns of a view's row with the types that docs/views.md gives them; None where a value is unknown."""

from __future__ import annotations

from collections.abc import Mapping


def text_of(row: Mapping[str, object], name: str) -> str | None:
    """Return a text."""
    value = row[name]
    return None if value is None else str(value)


def whole(row: Mapping[str, object], name: str) -> int | None:
    """Return a whole number."""
    value = row[name]
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def texts_of(row: Mapping[str, object], name: str) -> list[str]:
    """Return a list of texts; it is empty where there is none."""
    value = row[name]
    return [str(each) for each in value] if isinstance(value, list) else []
