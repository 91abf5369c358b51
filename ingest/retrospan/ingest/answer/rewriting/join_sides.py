"""Views that put the values of a run on the left of a join, where the engine keeps one copy of them for all rows.

By what it saw of earlier queries the engine may swap the sides of a join, and then keeps a copy for each row: the state of
a run with 10,000 keys took more than the memory of a query, in a collector that had answered others before. Settings
inside a view have no effect on this, so a statement that reads such a view is told to keep the sides. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from retrospan.ingest.answer.guard.lexer import Token, tokens
from retrospan.queries import catalogue
from retrospan.schemas.store import Settings

KEPT: Settings = {"query_plan_join_swap_table": "false"}


def keeping_sides(sql: str) -> Settings:
    """Return the settings under which the joins of the views that a statement reads stand as they are written."""
    return {} if _tables(tokens(sql)).isdisjoint(sided()) else KEPT


@cache
def sided() -> frozenset[str]:
    """Return the views that have such a join, and those that read one of these."""
    written = {view.name: tokens(view.statement) for view in catalogue.views()}
    found = {name for name, said in written.items() if any(token.is_word("right") for token in said)}
    while more := {name for name, said in written.items() if name not in found and _tables(said) & found}:
        found |= more
    return frozenset(found)


def _tables(found: Sequence[Token]) -> set[str]:
    """Return the names behind FROM and JOIN, with and without their database."""
    words = [token for token in found if token.kind != "blank"]
    named: set[str] = set()
    for place, token in enumerate(words[:-1]):
        if token.is_word("from", "join"):
            named.add(words[place + 1].value)
            if [each.value for each in words[place + 2 : place + 3]] == ["."]:
                named.update(each.value for each in words[place + 3 : place + 4])
    return named
