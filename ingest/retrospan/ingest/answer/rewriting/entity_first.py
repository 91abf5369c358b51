"""Views about one entity, read only from the runs that state or use something of it.

Each of these views joins what runs stated with the current generation of each run. The engine reads the generations of
all runs, however few mention the entity, and reads them again for each join: in five million spans the overwrites of one
order took 210 to 231 ms of processor time, and take 85 to 129 ms now. If a statement restricts such a view to one entity,
the port replaces the view by its SELECT and names the runs in it. The rows are the same.

Only a condition that AND joins in the statement's own WHERE is recognised; anything else is left as it is. Pure.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import cache
from itertools import pairwise

from retrospan.ingest.answer.guard.allowlist import word_set
from retrospan.ingest.answer.guard.lexer import Token, tokens, written
from retrospan.ingest.answer.rewriting.inlining import MOST_PLACED, is_alias, shortened
from retrospan.ingest.answer.rewriting.lean_views import at_top, in_selects
from retrospan.ingest.answer.rewriting.narrowing import renames
from retrospan.queries import catalogue

_VIEWS = word_set("observations entity_timeline overwrites stale_reads")
#: Where a row says of which entity it is; of these by key.
_TABLES = ("canon_observations", "canon_uses")
_ENTITY = word_set("entity_type entity_id")
#: What a view asks for the generations that count. The runs are named behind it.
_GENERATIONS = ("from", "canon_runs", "final", "where", "not", "deleted")
#: What ends a WHERE.
_NEXT = word_set("group having order limit offset settings window qualify")
#: With these, another table has a part in the SELECT, or conditions hold for some rows alone.
_SEVERAL = word_set("join union intersect except array prewhere final sample natural global using")
_EITHER = word_set("or xor between case")


def entity_first(sql: str) -> str:
    """Return the statement as it reads what few runs said, or as it is.

    `sql` is one that the guard let through, with views named without their database.
    """
    if not any(view in sql for view in _VIEWS):
        return sql
    found = tokens(sql)
    places = [place for place, token in enumerate(found) if token.kind != "blank"]
    words = [found[place] for place in places]
    if not words or not words[0].is_word("select") or any(token.is_word("with") for token in words):
        return sql
    of_selects = in_selects(words)
    read = [
        at
        for at, token in enumerate(words)
        if of_selects[at] and words[at - 1].is_word("from") and _names(token, _VIEWS)
    ]
    instead: dict[int, list[Token]] = {}
    for at in read if len(read) <= MOST_PLACED else ():
        token = words[at]
        if at + 1 == len(words) or words[at + 1].is_mark(".") or words[at + 1].is_mark("("):
            continue
        begin, end = _brackets_around(words, at)
        entity = _entity(words[begin:end], at - begin)
        if "entity_id" in entity:
            named = "" if is_alias(words[at + 1]) else f" AS {token.value}"
            instead[places[at]] = [*_read_of_its_runs(token.value, entity), *tokens(named)]
    pieces = [one for place, token in enumerate(found) for one in instead.get(place, [token])]
    return written(pieces) if instead else sql


def _brackets_around(words: Sequence[Token], at: int) -> tuple[int, int]:
    """Return the first place, and the one behind the last, of what the brackets around a place hold."""
    begin = end = at
    depth = 0
    while begin > 0 and (depth := depth + words[begin - 1].is_mark(")") - words[begin - 1].is_mark("(")) >= 0:
        begin -= 1
    depth = 0
    while end < len(words) and (depth := depth + words[end].is_mark("(") - words[end].is_mark(")")) >= 0:
        end += 1
    return begin, end


def _entity(words: Sequence[Token], at: int) -> Mapping[str, str]:
    """Return what a SELECT that reads a view there surely holds these columns to, as it is written."""
    top = at_top(words)
    where = next((place for place in top if words[place].is_word("where")), 0)
    parts = sum(words[place].is_word("select", "from", "where") for place in top)
    if parts != 3 or where < at or any(words[place].is_word(*_SEVERAL) for place in top):
        return {}
    if any(words[place].is_mark(",") for place in top if at < place < where) or renames(words, _ENTITY):
        return {}
    last = next((place for place in top if place > where and words[place].is_word(*_NEXT)), len(words))
    joined = [place for place in top if where <= place < last]
    if any(words[place].is_word(*_EITHER) or words[place].is_mark("?") for place in joined):
        return {}
    found: dict[str, str] = {}
    for first, stop in pairwise([*(place for place in joined if words[place].is_word("where", "and")), last]):
        condition = words[first + 1 : stop]
        value = _value(condition[2:])
        if value is not None and _names(condition[0], _ENTITY) and condition[1].is_mark("="):
            found.setdefault(condition[0].value, value)
    return found


def _names(token: Token, names: Container[str]) -> bool:
    """Return whether this names one of these. A string does not, whatever is in it."""
    return token.kind in ("word", "name") and token.value in names


def _value(words: Sequence[Token]) -> str | None:
    """Return one string, or one parameter that is a string, as it is written; None for all else."""
    if len(words) == 1 and words[0].kind == "string":
        return words[0].text
    marks = len(words) == 5 and [words[place].text for place in (0, 2, 4)] == ["{", ":", "}"]
    return "".join(token.text for token in words) if marks and words[3].is_word("string") else None


def _read_of_its_runs(view: str, entity: Mapping[str, str]) -> list[Token]:
    """Return the view's SELECT in brackets, over the runs that speak of the entity."""
    pieces, tables = _pieces(view)
    condition = " AND ".join(f"{column} = {value}" for column, value in entity.items())
    runs = " UNION ALL ".join(f"SELECT run_id FROM {table} WHERE {condition}" for table in tables)
    named = tokens(f" AND run_id IN ({runs})")
    return [*pieces[0], *(token for piece in pieces[1:] for token in (*named, *piece))]


@cache
def _pieces(view: str) -> tuple[Sequence[Sequence[Token]], Sequence[str]]:
    """Return the view's SELECT in brackets, cut where runs are to be named, and the tables that tell which."""
    found = [shortened(token) for token in tokens(f"({_in_place(view)})")]
    places = [place for place, token in enumerate(found) if token.kind != "blank"]
    folded = [found[place].folded for place in places]
    size = len(_GENERATIONS)
    cuts = [
        places[at + size - 1] + 1
        for at in range(len(folded) - size)
        if tuple(folded[at : at + size]) == _GENERATIONS
    ]
    pieces = [found[begin:end] for begin, end in pairwise([0, *cuts, len(found)])]
    return pieces, [table for table in _TABLES if table in folded]


def _in_place(view: str) -> str:
    """Return the view's SELECT, and in it those of the views that it reads."""
    found = tokens(catalogue.load(view).statement)
    places = [place for place, token in enumerate(found) if token.kind != "blank"]
    read: dict[int, str] = {}
    for before, place, after in zip(places, places[1:], [*places[2:], None], strict=False):
        name = found[place].value
        if found[before].is_word("from", "join") and _names(found[place], _VIEWS):
            named = "" if is_alias(None if after is None else found[after]) else f" AS {name}"
            read[place] = f"({_in_place(name)}){named}"
    return "".join(read.get(place, token.text) for place, token in enumerate(found))
