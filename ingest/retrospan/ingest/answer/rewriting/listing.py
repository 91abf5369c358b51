"""What a client sees when it lists tables and columns: the views and their descriptions, not the tables behind them.

A query of the catalogue (`system.tables`, `system.columns`, their counterparts in `information_schema`, SHOW TABLES,
DESCRIBE of a view with parameters) is rewritten: it leaves out the tables that change without notice, and adds the
columns of views with parameters, which the engine knows only once it has values for them. The guard judges the result
like any statement. `internals=1` in the address leaves the query as it is, for a token with the right `admin`. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache

from retrospan.ingest.answer.guard.allowlist import DATABASE, HARMLESS, LOWERED, OF_WRITING
from retrospan.ingest.answer.guard.lexer import Token, quoted, tokens, written
from retrospan.ingest.answer.rewriting.inlining import CLAUSES
from retrospan.ingest.answer.rewriting.lean_views import in_selects
from retrospan.queries import catalogue
from retrospan.queries.catalogue import View
from retrospan.schemas.errors import SqlError
from retrospan.schemas.migrate import shipped

UNKNOWN_PARAMETER = 456
_MADE = re.compile(r"^CREATE (?:OR REPLACE )?(?:MATERIALIZED )?VIEW (?:IF NOT EXISTS )?(\w+)", re.MULTILINE)
#: Titles end in the hash of their view's statement, which tells one release from another.
_HASH = r" \\[[0-9a-f]{12}\\]$"
#: A view as the engine writes it has its whole SELECT and the meaning of each column, which stand elsewhere too.
_COMMENTS = r" COMMENT \'(?:[^\'\\\\]|\\\\.)*\'"
_TEXT = r"(?s)\\s+AS (?:SELECT|WITH)\\b.*$"


def listed(sql: str, views: Collection[str]) -> str:
    """Return the statement as a reader of the catalogue means it. `sql` is one that the guard let through.

    `views` are those that are installed: of our database only these are listed.
    """
    folded = sql.casefold()
    if not any(word in folded for word in ("system", "information_schema", "show", "desc")):
        return sql
    found = tokens(sql)
    words = [place for place, token in enumerate(found) if token.kind != "blank"]
    if not words:
        return sql
    head = found[words[0]]
    if head.is_word("show"):
        return _shown_tables(found, words, views) or sql
    if head.is_word("describe", "desc"):
        return _described([found[place] for place in words[1:]]) or sql
    if head.is_word("exists"):  # it takes the name of a table, and nothing in its place
        return sql
    return _of_catalogue(found, words, views)


def require_parameters(sql: str, views: Mapping[str, Sequence[str]]) -> None:
    """Raise SqlError where a view with parameters is read without any. `views` are those installed."""
    called = {name: given for name, given in views.items() if given and name in sql}
    words = [token for token in tokens(sql) if token.kind != "blank"] if called else []
    if not words or not words[0].is_word("select", "with", "explain"):
        return
    of_selects = in_selects(words)
    named = {
        words[at].value
        for at in range(len(words) - 2)
        if words[at + 1].is_word("as") and words[at + 2].is_mark("(")
    }
    for at in range(1, len(words)):
        token = words[at]
        before = words[at - 1]
        if before.is_mark(".") and at > 2 and words[at - 2].folded == DATABASE:
            before = words[at - 3]
        if not (before.is_word("from", "join") and of_selects[at]) or token.value not in called:
            continue
        follows = words[at + 1] if at + 1 < len(words) else None
        if token.kind in ("word", "name") and token.value not in named and not _continues(follows):
            raise SqlError(
                f"{token.value} needs parameters. Write {call(token.value, called[token.value])}.",
                code=UNKNOWN_PARAMETER,
            )


def _continues(follows: Token | None) -> bool:
    return follows is not None and (follows.is_mark("(") or follows.is_mark("."))


def call(name: str, parameters: Sequence[str]) -> str:
    """Return how to read from a view with parameters, of ours in the order of its header."""
    ours = next((view for view in catalogue.views() if view.name == name), None)
    if ours is not None:
        parameters = [parameter.name for parameter in ours.parameters]
    return f"SELECT * FROM {name}({', '.join(f'{parameter} = …' for parameter in parameters)})"


def _of_catalogue(found: Sequence[Token], words: Sequence[int], views: Collection[str]) -> str:
    """Put our catalogue in place of each table of the engine's."""
    names: dict[str, str] = {}
    places: list[tuple[int, str]] = []
    for at in range(len(words) - 2):
        database, mark, table = (found[words[at + offset]] for offset in range(3))
        key = (database.folded, table.folded)
        if mark.is_mark(".") and key in _sources() and not (at > 0 and found[words[at - 1]].is_mark(".")):
            places.append((at, table.folded))
            alias = _alias([found[place] for place in words[at + 3 : at + 5]])
            if alias is not None:
                names.setdefault(table.folded, alias)
    pieces: list[Token] = []
    end = 0
    for at, of in places:
        pieces += found[end : words[at]]
        end = words[at + 2] + 1
        follows = [found[place] for place in words[at + 3 : at + 5]]
        if follows and follows[0].is_mark("."):
            # A column, named in full: the engine takes `system.tables.name` also where the table has another name.
            pieces += tokens(names.get(of, f"`{of}`"))
            continue
        source = _sources()[found[words[at]].folded, of].replace("NAMES", _names(views))
        pieces += tokens(source if _alias(follows) is not None else f"{source} AS `{of}`")
    return written([*pieces, *found[end:]]) if end else written(found)


def _alias(follows: Sequence[Token]) -> str | None:
    """Return the name that a table is given by what follows it; None without one."""
    named = follows[1:] if follows and follows[0].is_word("as") else follows
    if named and named[0].kind in ("word", "name") and named[0].folded not in CLAUSES:
        return named[0].text
    return None


def _names(views: Collection[str]) -> str:
    return ", ".join(quoted(name) for name in sorted(set(views) - _internal_views()))


@cache
def _internal_views() -> frozenset[str]:
    """Return the views that come with the tables: they change without notice, as these do."""
    found = (_MADE.search(statement) for _, _, statement in shipped())
    return frozenset(made[1] for made in found if made)


@cache
def _told_columns() -> str:
    """Return the columns of every view with parameters as one literal: view, name, type, position, meaning.

    One, because each word of a statement is read several times before it is executed.
    """
    told = [
        (view.name, column.name, column.type, position, meaning)
        for view in catalogue.views()
        if view.parameters
        for position, (column, meaning) in enumerate(zip(view.columns, _meanings(view), strict=True), 1)
    ]
    return quoted(json.dumps(told, ensure_ascii=False))


def _meanings(view: View) -> list[str]:
    """Return what the columns mean; the first says how to call the view as well."""
    first, *rest = (column.meaning for column in view.columns)
    return [f"{first}. To read: {call(view.name, ())}", *rest]


def _shown_tables(found: Sequence[Token], places: Sequence[int], views: Collection[str]) -> str | None:
    """Return SHOW TABLES of our database with a condition; None for anything else that is shown."""
    words = [found[place] for place in places]

    def text(first: int, end: int) -> str:
        return (
            "".join(token.text for token in found[places[first] : places[end - 1] + 1]) if end > first else ""
        )

    at = 1
    while at < len(words) and words[at].is_word("full", "extended"):
        at += 1
    if at == len(words) or not words[at].is_word("tables"):
        return None
    at += 1
    if at + 1 < len(words) and words[at].is_word("from", "in"):
        if words[at + 1].value != DATABASE:
            return None
        at += 2
    end = len(words)
    limit = next((place for place in range(at, end) if words[place].is_word("limit")), end)
    condition = f"name IN ({_names(views)})"
    if limit > at and words[at].is_word("where"):
        condition += f" AND ({text(at + 1, limit)})"
    elif limit > at and words[at].is_word("like", "ilike", "not"):
        condition += f" AND name {text(at, limit)}"
    elif limit > at:
        return None
    return f"{text(0, at)} WHERE {condition} {text(limit, end)}"


def _described(words: Sequence[Token]) -> str | None:
    """Return what answers DESCRIBE of a view with parameters; None when the engine knows better."""
    rest = words[1:] if words and words[0].is_word("table") else words
    if len(rest) == 3 and rest[0].value == DATABASE and rest[1].is_mark("."):
        rest = rest[2:]
    if len(rest) != 1 or rest[0].kind not in ("word", "name"):
        return None
    view = next((one for one in catalogue.views() if one.parameters and one.name == rest[0].value), None)
    if view is None:
        return None
    told = ", ".join(
        f"({quoted(column.name)}, {quoted(column.type)}, {quoted(meaning)})"
        for column, meaning in zip(view.columns, _meanings(view), strict=True)
    )
    return (
        "SELECT column.1 AS name, column.2 AS type, '' AS default_type, '' AS default_expression, "
        "column.3 AS comment, '' AS codec_expression, '' AS ttl_expression "
        f"FROM (SELECT arrayJoin([{told}]) AS column)"
    )


def _settable() -> str:
    """Return the condition that a setting is one that a reader may set."""
    names = ", ".join(quoted(name) for name in sorted(HARMLESS | LOWERED | OF_WRITING))
    return f"name IN ({names}) OR (startsWith(name, 'output_format_') AND name != 'output_format_schema')"


@cache
def _sources() -> dict[tuple[str, str], str]:
    """Return what is read instead of a table of the engine's catalogue; NAMES stands for the views."""
    ours = f"database = '{DATABASE}'"
    tables = (
        "(SELECT * REPLACE ("
        f"replaceRegexpOne(comment, '{_HASH}', '') AS comment, "
        f"if({ours}, replaceRegexpOne(replaceRegexpAll(create_table_query, '{_COMMENTS}', ''), '{_TEXT}', ' AS SELECT …'), "
        f"create_table_query) AS create_table_query), table FROM system.tables WHERE NOT ({ours}) OR name IN (NAMES))"
    )
    # What the engine knows is read as it is, so that a condition reaches it; the rest is made of one row that is there.
    columns = (
        f"(SELECT *, column FROM system.columns WHERE NOT ({ours}) OR table IN (NAMES) UNION ALL "
        "SELECT * EXCEPT (told) REPLACE (told.1 AS table, told.2 AS name, told.3 AS type, told.4 AS position, "
        "told.5 AS comment), told.2 AS column FROM (SELECT *, arrayJoin("
        f"JSONExtract({_told_columns()}, 'Array(Tuple(String, String, String, UInt64, String))')) AS told "
        f"FROM system.columns WHERE {ours} AND table = 'runs' AND name = 'tenant'))"
    )
    of_standard = f"table_schema = '{DATABASE}'"
    return {
        ("system", "tables"): tables,
        ("system", "columns"): columns,
        (
            "system",
            "settings",
        ): f"(SELECT * REPLACE (if({_settable()}, 0, readonly) AS readonly) FROM system.settings)",
        ("information_schema", "tables"): (
            f"(SELECT * REPLACE (replaceRegexpOne(table_comment, '{_HASH}', '') AS table_comment) "
            f"FROM information_schema.tables WHERE NOT ({of_standard}) OR table_name IN (NAMES))"
        ),
        ("information_schema", "columns"): (
            f"(SELECT * FROM information_schema.columns WHERE NOT ({of_standard}) OR table_name IN (NAMES))"
        ),
        ("information_schema", "views"): (
            f"(SELECT * FROM information_schema.views WHERE NOT ({of_standard}) OR table_name IN (NAMES))"
        ),
    }
