"""Views read without their payload, where a statement names none of it.

`steps` and `model_calls` join all values of each run, to write states and messages. The engine performs this join even
if a statement names none of these columns; in that case the port reads the view's SELECT without the join. The rows are
the same. Measured over 33,000 runs with 700,000 values, tokens by model and day took 178 ms of processor time with the
join and 41 ms without.

Where this cannot be decided with certainty the statement stays as it is: a statement with WITH, `*`, COLUMNS or names as parameters. Pure.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from retrospan.ingest.answer.guard.lexer import Token, tokens, written
from retrospan.ingest.answer.rewriting.inlining import is_alias, shortened
from retrospan.queries import catalogue

#: As what the views join the values of a run.
_VALUES = "v"


def lean(sql: str) -> str:
    """Return the statement with views in place that it reads without their payload.

    `sql` is one that the guard let through.
    """
    read = {name: view for name, view in _lean_views().items() if name in sql}
    found = tokens(sql) if read else []
    words = [place for place, token in enumerate(found) if token.kind != "blank"]
    if not words or not found[words[0]].is_word("select"):
        return sql
    if _asks_for_any_column([found[place] for place in words]):
        return sql
    named = {token.value for token in found if token.kind in ("word", "name")}
    of_selects = in_selects([found[place] for place in words])
    arrays = array_joins(found, words)
    instead: dict[int, list[Token]] = {}
    for of_select, before, place, after in zip(
        of_selects[1:], words, words[1:], [*words[2:], None], strict=False
    ):
        token, follows = found[place], found[after] if after is not None else None
        view = read.get(token.value) if token.kind in ("word", "name") else None
        if view is None or not of_select or not found[before].is_word("from", "join"):
            continue
        if place in arrays:
            continue
        if view.payload & named:
            continue
        if follows is not None and (follows.is_mark(".") or follows.is_mark("(")):
            continue
        instead[place] = [*view.pieces, *([] if is_alias(follows) else tokens(f" AS {view.name}"))]
    pieces = [one for place, token in enumerate(found) for one in instead.get(place, [token])]
    return written(pieces) if instead else sql


def payloads() -> Mapping[str, frozenset[str]]:
    """Return of each view that has a lean form the columns that this has not."""
    return {name: view.payload for name, view in _lean_views().items()}


@dataclass(frozen=True, slots=True)
class _LeanView:
    name: str
    payload: frozenset[str]
    """Columns that it does not have."""
    pieces: Sequence[Token]
    """Its SELECT in brackets."""


def array_joins(found: Sequence[Token], words: Sequence[int]) -> set[int]:
    """Return the places of what follows ARRAY JOIN: an array, and no table. `words` are the places that are not blank."""
    return {
        place
        for array, join, place in zip(words, words[1:], words[2:], strict=False)
        if found[array].is_word("array") and found[join].is_word("join")
    }


def in_selects(words: Sequence[Token]) -> list[bool]:
    """Return of each word whether the brackets around it hold a SELECT: `extract(YEAR FROM steps)` reads no table."""
    around, found = [True], list[bool]()
    for place, token in enumerate(words):
        found.append(around[-1])
        if token.is_mark("("):
            around.append(place + 1 < len(words) and words[place + 1].is_word("select"))
        elif token.is_mark(")") and len(around) > 1:
            around.pop()
    return found


def _asks_for_any_column(words: Sequence[Token]) -> bool:
    """Return whether columns may be meant that are not named. `count(*)` means none."""
    for place, token in enumerate(words):
        if token.is_word("with", "columns", "identifier", "final", "natural"):
            return True
        if token.is_mark("*"):
            around = words[max(place - 2, 0) : place + 2]
            counted = len(around) == 4 and around[0].is_word("count") and around[1].is_mark("(")
            if not (counted and around[3].is_mark(")")):
                return True
    return False


@cache
def _lean_views() -> dict[str, _LeanView]:
    found = (_without_values(view.name, view.statement) for view in catalogue.views() if not view.parameters)
    return {view.name: view for view in found if view is not None}


def _without_values(name: str, statement: str) -> _LeanView | None:
    """Return the view's SELECT of its calls or steps alone, and what it shows of their values; None without values.

    Such a view is `SELECT … FROM (values) AS v RIGHT JOIN (SELECT c.* FROM … AS c …) AS c ON …`.
    """
    found = [shortened(token) for token in tokens(statement)]
    top = at_top(found)
    source = next((place for place in top if found[place].is_word("from")), len(found))
    joins = [place for place in top if found[place].is_word("right") and place > source]
    if len(joins) != 1 or not _is_of_values(found[source : joins[0]]):
        return None
    settings = next((place for place in top if found[place].is_word("settings")), len(found))
    bracket = next(place for place in top if found[place].is_mark("(") and place > joins[0])
    closed = next(place for place in top if found[place].is_mark(")") and place > bracket)
    inner = next(place for place in range(bracket, closed) if found[place].is_word("from"))
    commas = [place for place in top if place < source and found[place].is_mark(",")]
    first = top[0] + 1
    bounds = [first - 1, *commas, source]
    columns = [found[begin + 1 : end] for begin, end in itertools.pairwise(bounds)]
    kept = [column for column in columns if not _mentions_values(column)]
    payload = frozenset(_last_word(column) for column in columns if _mentions_values(column))
    shown = [token for column in kept for token in (*tokens(","), *column)][1:]
    text = [*found[:first], *shown, *found[inner:closed], *found[settings:]]
    return _LeanView(name, payload, [*tokens("("), *text, *tokens(")")])


def at_top(found: Sequence[Token]) -> list[int]:
    """Return the places outside of all brackets."""
    depth, places = 0, list[int]()
    for place, token in enumerate(found):
        depth -= any(token.is_mark(mark) for mark in ")]}")
        if depth == 0:
            places.append(place)
        depth += any(token.is_mark(mark) for mark in "([{")
    return places


def _is_of_values(source: Sequence[Token]) -> bool:
    """Return whether this ends with the values of a run: `… AS v`."""
    words = [token for token in source if token.kind != "blank"]
    return words[-2].is_word("as") and words[-1].is_word(_VALUES)


def _mentions_values(column: Sequence[Token]) -> bool:
    pairs = itertools.pairwise(column)
    return any(token.is_word(_VALUES) and after.is_mark(".") for token, after in pairs)


def _last_word(column: Sequence[Token]) -> str:
    return next(token.value for token in reversed(column) if token.kind == "word")
