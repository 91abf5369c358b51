"""What the rows of a run have in common."""

from __future__ import annotations

from typing import TypedDict

#: The largest number that 32 bits without a sign hold, as the columns of attempts and limits have them.
MOST_SMALL = 2**32 - 1


class Key(TypedDict):
    """What every row of a run begins with."""

    tenant: str
    run_id: str
    generation: int


def text_of_attribute(value: object) -> str | None:
    """Return the text of an attribute; None when it is empty, missing or not text."""
    return value if isinstance(value, str) and value else None


def whole_number(value: object) -> int | None:
    """Return the number of an attribute; None when it is missing, or not a whole one from 0 to MOST_SMALL."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= MOST_SMALL else None
