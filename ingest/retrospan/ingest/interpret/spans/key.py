"""What the rows of a run have in common."""

from __future__ import annotations

from typing import TypedDict


class Key(TypedDict):
    """What every row of a run begins with."""

    tenant: str
    run_id: str
    generation: int


def text_of_attribute(value: object) -> str | None:
    """Return the text of an attribute; None when it is empty, missing or not text."""
    return value if isinstance(value, str) and value else None


def whole_number(value: object) -> int | None:
    """Return the number of an attribute; None when it is missing, negative or no whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
