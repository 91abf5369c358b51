"""A column that a statement names and no view has: which columns of the views that it reads may be meant."""

from __future__ import annotations

import re
from difflib import get_close_matches

from retrospan.ingest.answer.guard.lexer import tokens
from retrospan.queries import catalogue
from retrospan.schemas.errors import SqlError

UNKNOWN_IDENTIFIER = 47
_NAMED = re.compile(r"dentifier [`'](?:[^`'.]*\.)?([A-Za-z_]\w*)[`']")
_SCOPE = re.compile(r" In scope |\s*\(UNKNOWN_IDENTIFIER\)\s*$")
_MOST = 5


def hinted(error: SqlError, sql: str) -> SqlError:
    """Return the engine's error over a statement, with the names that are near to the unknown one, if it has no hint.

    A name is near if it has a word of the other in it, as `agent_name` has `agent`, or is spelt much like it. If none
    is, it is said how to see the columns.
    """
    message = str(error)
    named = _NAMED.search(message)
    place = _SCOPE.search(message)
    if error.code != UNKNOWN_IDENTIFIER or named is None or place is None or "Maybe you meant" in message:
        return error
    words = {token.value for token in tokens(sql) if token.kind in ("word", "name")}
    views = {
        view.name: [column.name for column in view.columns]
        for view in catalogue.views()
        if view.name in words
    }
    if not views:
        return error
    hints = [
        f"{view} has {', '.join(near)}"
        for view, columns in views.items()
        if (near := _near(named[1], columns))
    ]
    described = " and ".join(f"DESCRIBE {view}" for view in views)
    hint = (
        f"Maybe you meant another column: {'; '.join(hints)}."
        if hints
        else f"{described} says what there is."
    )
    return SqlError(f"{message[: place.start()]} {hint}{message[place.start() :]}", code=error.code)


def _near(name: str, columns: list[str]) -> list[str]:
    parts = name.casefold().split("_")
    shared = {
        column: sum(_alike(part, each) for part in parts for each in column.split("_")) for column in columns
    }
    found = sorted((column for column in columns if shared[column]), key=lambda column: -shared[column])
    return [*dict.fromkeys([*found, *get_close_matches(name.casefold(), columns, 3, 0.75)])][:_MOST]


def _alike(one: str, other: str) -> bool:
    """Return whether two words are the same, or one is the other with an ending: start and started."""
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) > 3 and longer.startswith(shorter))
