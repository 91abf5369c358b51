"""Table names with and without their database.

A request with `database=system`, or a USE, may write the names of that database without it. The engine stays in our
database: a name that the other one offers is qualified before the guard judges the statement, so a request reaches
nothing that it could not have named in full.

Conversely dashboards and drivers name our own database in full. That qualifier is removed, because the modules that
make statements cheaper find views by their plain names. Pure.
"""

from __future__ import annotations

from itertools import pairwise

from retrospan.ingest.answer.guard.allowlist import DATABASE, OPEN_DATABASES, SYSTEM_TABLES
from retrospan.ingest.answer.guard.guard import UNKNOWN_DATABASE
from retrospan.ingest.answer.guard.lexer import Token, tokens, written
from retrospan.ingest.answer.rewriting.lean_views import array_joins, in_selects
from retrospan.schemas.errors import SqlError

_STANDARD = frozenset(
    {"columns", "key_column_usage", "referential_constraints", "schemata", "statistics", "tables", "views"}
)
#: A statement whose name of a table stands elsewhere than behind FROM or JOIN.
_NAMING = ("describe", "desc", "exists")


def qualified(sql: str, database: str) -> str:
    """Return the statement with the names of `database` written out; it is as the client sent it.

    Raises:
        SqlError: there is no such database to read.
    """
    name = database.casefold()
    if name in (DATABASE, "default"):
        return sql
    if name not in OPEN_DATABASES:
        raise SqlError(f"there is no database {database[:60]}. Use {DATABASE}.", code=UNKNOWN_DATABASE)
    known = SYSTEM_TABLES if name == "system" else _STANDARD
    found = tokens(sql)
    places = [place for place, token in enumerate(found) if token.kind != "blank"]
    words = [found[place] for place in places]
    if not words:
        return sql
    if words[0].is_word("show"):
        return _shown(found, places, name)
    own = {before.folded for before, after in pairwise(words) if after.is_word("as")}
    of_selects, arrays = in_selects(words), array_joins(found, places)
    before_name = {at for at, word in enumerate(words) if word.is_word("from", "join") and of_selects[at]}
    if words[0].is_word(*_NAMING):
        before_name.add(1 if len(words) > 1 and words[1].is_word("table", "view") else 0)
    for at in before_name:
        if at + 1 >= len(words) or places[at + 1] in arrays:
            continue
        table, follows = words[at + 1], words[at + 2] if at + 2 < len(words) else None
        is_call = follows is not None and (follows.is_mark("(") or follows.is_mark("."))
        if table.folded in known and table.folded not in own and not is_call:
            found[places[at + 1]] = Token(table.kind, f"{name}.{table.text}", table.value, table.position)
    return written(tokens("".join(token.text for token in found)))


def unqualified(sql: str) -> str:
    """Return the statement with the tables of our own database named without it, where that is surely the same.

    `sql` is one that the guard let through.
    """
    if DATABASE not in sql:
        return sql
    found = tokens(sql)
    places = [place for place, token in enumerate(found) if token.kind != "blank"]
    words = [found[place] for place in places]
    # What WITH names hides the table; a column that is named with the database needs it in FROM.
    if any(word.is_word("with") for word in words):
        return sql
    of_selects, arrays = in_selects(words), array_joins(found, places)
    left_out: set[int] = set()
    for at, word in enumerate(words[:-2]):
        if word.kind not in ("word", "name") or word.value != DATABASE or not words[at + 1].is_mark("."):
            continue
        is_table = at > 0 and words[at - 1].is_word("from", "join") and of_selects[at]
        if not is_table or places[at] in arrays or words[at + 2].kind not in ("word", "name"):
            return sql
        left_out.update(range(places[at], places[at + 2]))
    return written([token for place, token in enumerate(found) if place not in left_out])


def _shown(found: list[Token], places: list[int], database: str) -> str:
    """Return SHOW TABLES of that database, where none is named."""
    words = [found[place] for place in places]
    at = next((at for at, word in enumerate(words) if word.is_word("tables")), None)
    if at is None or at > 2 or (at + 1 < len(words) and words[at + 1].is_word("from", "in")):
        return written(found)
    end = places[at] + 1
    return f"{''.join(token.text for token in found[:end])} FROM {database}{''.join(token.text for token in found[end:])}"
